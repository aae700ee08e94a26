//! Frames: a header of eight bytes, then a message.
//!
//! ```text
//!  0       2       4               8
//!  ┌───────┬───────┬───────────────┬─────────────┐
//!  │ type  │ flags │ length (u32)  │ protobuf …  │   big-endian
//!  └───────┴───────┴───────────────┴─────────────┘
//! ```
//!
//! The meaning of a type depends on the protocol family, so this module handles type numbers only.

mod decoder;

use std::fmt;

use bytes::{BufMut as _, Bytes, BytesMut};

pub use decoder::{DecodeError, FrameDecoder, MESSAGE_LIMIT};

/// Length of a header in bytes.
pub const HEADER_LENGTH: usize = 8;

/// The 16 flags of a frame, two of which are defined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// The entry contains its result. V1 to V3.
    pub const COMPLETED: Self = Self(0x0001);
    /// The sender requests an acknowledgement once the frame is stored.
    pub const REQUIRES_ACK: Self = Self(0x8000);

    /// Returns true if all of `others` are set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns these flags and `others`.
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns these flags without `others`.
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "0x{:04x}", self.0)
    }
}

/// A message with its header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    pub number: u16,
    pub flags: Flags,
    pub payload: Bytes,
}

impl Frame {
    /// Creates a frame without flags.
    pub fn new(number: u16, payload: impl Into<Bytes>) -> Self {
        Self { number, flags: Flags::NONE, payload: payload.into() }
    }

    /// Adds `flags`.
    pub fn flagged(self, flags: Flags) -> Self {
        Self { flags: self.flags.with(flags), ..self }
    }

    /// Returns the frame without its request for an acknowledgement, as it is stored.
    pub(crate) fn without_request(self) -> Self {
        Self { flags: self.flags.without(Flags::REQUIRES_ACK), ..self }
    }

    /// Encodes the header and the message.
    ///
    /// # Panics
    /// If the message is longer than the header allows: 4 GiB.
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(HEADER_LENGTH + self.payload.len());
        self.write(&mut out);
        out.freeze()
    }

    /// Appends header and message to `out`.
    ///
    /// # Panics
    /// If the message is longer than the header allows: 4 GiB.
    pub fn write(&self, out: &mut BytesMut) {
        let length = u32::try_from(self.payload.len()).expect("messages are below 4 GiB");
        out.put_u16(self.number);
        out.put_u16(self.flags.0);
        out.put_u32(length);
        out.put_slice(&self.payload);
    }

    /// Parses `bytes` as exactly one frame; `None` if they are not.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (header, payload) = bytes.split_first_chunk()?;
        let header = FrameHeader::read(*header);
        (payload.len() == header.length as usize).then(|| Self {
            number: header.number,
            flags: header.flags,
            payload: Bytes::copy_from_slice(payload),
        })
    }
}

/// A parsed header.
#[derive(Clone, Copy)]
struct FrameHeader {
    number: u16,
    flags: Flags,
    length: u32,
}

impl FrameHeader {
    fn read(bytes: [u8; HEADER_LENGTH]) -> Self {
        let [t1, t0, f1, f0, l3, l2, l1, l0] = bytes;
        Self {
            number: u16::from_be_bytes([t1, t0]),
            flags: Flags(u16::from_be_bytes([f1, f0])),
            length: u32::from_be_bytes([l3, l2, l1, l0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_these_bytes() {
        let frame = Frame::new(0x0C05, &b"abc"[..]).flagged(Flags::REQUIRES_ACK);
        let bytes = [0x0C, 0x05, 0x80, 0x00, 0, 0, 0, 3, b'a', b'b', b'c'];
        assert_eq!(frame.to_bytes()[..], bytes);
        assert_eq!(Frame::from_bytes(&bytes), Some(frame.clone()));
        for end in 0..bytes.len() {
            assert_eq!(Frame::from_bytes(&bytes[..end]), None, "{end} bytes");
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert_eq!(Frame::from_bytes(&longer), None);
        let completed = Frame::new(0x0800, &b""[..]).flagged(Flags::COMPLETED);
        assert_eq!(completed.to_bytes()[..], [0x08, 0x00, 0x00, 0x01, 0, 0, 0, 0]);
    }

    #[test]
    fn flags_are_set_and_taken_away() {
        let both = Flags::COMPLETED.with(Flags::REQUIRES_ACK);
        assert_eq!(both, Flags(0x8001));
        assert!(both.has(Flags::COMPLETED) && !Flags::COMPLETED.has(both));
        assert_eq!(both.without(Flags::COMPLETED), Flags::REQUIRES_ACK);
    }
}
