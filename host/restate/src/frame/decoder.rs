//! Decoding of frames from a stream that arrives in pieces of any size.

use bytes::{Buf as _, BytesMut};

use super::{Frame, FrameHeader, HEADER_LENGTH};

/// Default maximum length of a message, in bytes.
pub const MESSAGE_LIMIT: usize = 32 * 1024 * 1024;

/// The reason why a stream cannot be decoded further: a message is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of type 0x{number:04x} has {length} bytes, and {limit} are the most")]
pub struct DecodeError {
    pub number: u16,
    /// The message length in the header, in bytes.
    pub length: u32,
    /// The maximum length, in bytes.
    pub limit: usize,
}

/// Assembles frames from pieces of a stream.
///
/// The decoder buffers the bytes of incomplete frames. It reserves no memory because of the length
/// in a header alone.
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
    /// Creates a decoder for messages of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, arrived: BytesMut::new() }
    }

    /// Appends the next piece of the stream.
    pub fn feed(&mut self, piece: &[u8]) {
        self.arrived.extend_from_slice(piece);
    }

    /// Returns the next frame, or `None` if it is incomplete. Once the header of a message beyond
    /// the limit has arrived, this and all later calls fail.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn next_frame(&mut self) -> Result<Option<Frame>, DecodeError> {
        let Some(header) = self.arrived.first_chunk().copied().map(FrameHeader::read) else {
            return Ok(None);
        };
        let FrameHeader { number, flags, length } = header;
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

    /// Returns the number of buffered bytes that are not part of a returned frame. At the end of a
    /// stream, these bytes belong to a truncated frame.
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
        /// Cuts the stream in two at every position, and into single bytes.
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
