//! Frames out of a stream that comes in pieces of any size.

use bytes::{Buf as _, BytesMut};

use super::{Frame, HEADER_LENGTH, Header};

/// The longest message by default, in bytes.
pub const MESSAGE_LIMIT: usize = 32 * 1024 * 1024;

/// Why a stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of type 0x{number:04x} has {length} bytes, and {limit} are the most")]
pub struct DecodeError {
    /// The type of the message.
    pub number: u16,
    /// The length that its header claims.
    pub length: u32,
    /// The most.
    pub limit: usize,
}

/// Takes pieces of a stream and gives its frames.
///
/// It holds what has arrived and is not yet a whole frame; a header's claim alone reserves nothing.
#[derive(Debug)]
pub struct FrameDecoder {
    limit: usize,
    arrived: BytesMut,
}

impl Default for FrameDecoder {
    fn default() -> Self {
        Self::new(MESSAGE_LIMIT)
    }
}

impl FrameDecoder {
    /// A decoder for messages of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, arrived: BytesMut::new() }
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        self.arrived.extend_from_slice(piece);
    }

    /// The next whole frame, if it has arrived. A message beyond the limit is refused when its
    /// header is here, and ever after.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn next_frame(&mut self) -> Result<Option<Frame>, DecodeError> {
        let Some(header) = self.arrived.first_chunk().copied().map(Header::read) else {
            return Ok(None);
        };
        let Header { number, flags, length } = header;
        if length as usize > self.limit {
            return Err(DecodeError { number, length, limit: self.limit });
        }
        let length = length as usize;
        if self.arrived.len() - HEADER_LENGTH < length {
            return Ok(None);
        }
        self.arrived.advance(HEADER_LENGTH);
        let payload = self.arrived.split_to(length).freeze();
        Ok(Some(Frame { number, flags, payload }))
    }

    /// The bytes that arrived and are not part of a frame given out: at the end of a stream, those
    /// of a frame that was cut off.
    pub fn pending(&self) -> usize {
        self.arrived.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::Flags, *};

    fn frames() -> impl Strategy<Value = Vec<Frame>> {
        let frame = (any::<u16>(), any::<u16>(), proptest::collection::vec(any::<u8>(), 0..40));
        let frame = frame.prop_map(|(number, flags, payload)| Frame {
            number,
            flags: Flags(flags),
            payload: payload.into(),
        });
        proptest::collection::vec(frame, 0..5)
    }

    proptest! {
        /// Every place where one stream can be cut in two, and byte by byte.
        #[test]
        fn pieces_of_any_size_give_the_same_frames(frames in frames()) {
            let stream: Vec<u8> = frames.iter().flat_map(|frame| frame.to_bytes()).collect();
            let cuts = (0..=stream.len()).map(|at| {
                let (first, second) = stream.split_at(at);
                vec![first, second]
            });
            for pieces in cuts.chain([stream.chunks(1).collect()]) {
                let mut decoder = FrameDecoder::default();
                let mut read = Vec::new();
                for piece in pieces {
                    decoder.feed(piece);
                    while let Some(frame) = decoder.next_frame().unwrap() {
                        read.push(frame);
                    }
                }
                prop_assert_eq!(&read, &frames);
                prop_assert_eq!(decoder.pending(), 0);
            }
        }
    }

    #[test]
    fn a_message_beyond_the_limit_is_refused_by_its_header() {
        let mut decoder = FrameDecoder::new(2);
        decoder.feed(&Frame::new(7, &b"ab"[..]).to_bytes());
        assert!(decoder.next_frame().unwrap().is_some());
        decoder.feed(&Frame::new(7, &b"abc"[..]).to_bytes()[..HEADER_LENGTH]);
        let refused = DecodeError { number: 7, length: 3, limit: 2 };
        assert_eq!(decoder.next_frame(), Err(refused));
        decoder.feed(b"abc");
        assert_eq!(decoder.next_frame(), Err(refused));
    }

    #[test]
    fn a_claim_of_many_bytes_reserves_none_of_them() {
        let mut decoder = FrameDecoder::default();
        decoder.feed(&[0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 1]);
        assert_eq!(decoder.next_frame(), Ok(None));
        assert_eq!(decoder.pending(), 9);
        assert!(decoder.arrived.capacity() < 1024, "{}", decoder.arrived.capacity());
    }
}
