//! Entries and commands defined by an SDK. A runtime keeps and replays them without interpreting
//! them.

use bytes::{Buf, Bytes};
use prost::encoding::{DecodeContext, decode_key, skip_field};

/// Lowest type number of custom frames.
pub const FIRST: u16 = 0xFC00;

/// A custom entry or command. Only the name in its message is known outside the SDK.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Custom {
    /// The type, [`FIRST`] or above.
    pub number: u16,
    /// The name of the entry, from its field 12.
    pub name: String,
    /// The whole message.
    pub payload: Bytes,
}

impl Custom {
    /// Decodes a custom frame.
    ///
    /// # Errors
    /// The fault, as a clause: the message is not protobuf, or has a field that is reserved for
    /// results.
    pub(crate) fn decode(number: u16, payload: &Bytes) -> Result<Self, String> {
        let broken = |error: prost::DecodeError| format!("cannot be decoded: {error}");
        let mut rest = payload.clone();
        let mut name = String::new();
        while rest.has_remaining() {
            let (tag, kind) = decode_key(&mut rest).map_err(broken)?;
            let context = DecodeContext::default();
            match tag {
                12 => prost::encoding::string::merge(kind, &mut name, &mut rest, context),
                13..=15 => return Err(format!("has field {tag}, which is kept for results")),
                _ => skip_field(kind, tag, &mut rest, context),
            }
            .map_err(broken)?;
        }
        Ok(Self { number, name, payload: payload.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_entry_may_have_a_name_and_no_result() {
        // Field 1 is a number, field 12 is the name.
        let good = Bytes::from_static(b"\x08\x05\x62\x03abc");
        let custom = Custom::decode(0xFC02, &good).unwrap();
        assert_eq!((custom.number, custom.name.as_str()), (0xFC02, "abc"));
        assert_eq!(custom.payload, good);
        for (field, key) in [(13, 0x6a), (14, 0x72), (15, 0x7a)] {
            let refused = Custom::decode(FIRST, &Bytes::from(vec![key, 0])).unwrap_err();
            assert!(refused.contains(&format!("field {field}")), "{refused}");
        }
        let refused = Custom::decode(FIRST, &Bytes::from_static(b"\x62\x05a")).unwrap_err();
        assert!(refused.contains("decoded"), "{refused}");
    }
}
