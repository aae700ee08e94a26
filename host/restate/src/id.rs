//! Textual ids: invocations, deployments, awakeables.
//!
//! ```text
//! inv_1 KKKKKKKKKKK UUUUUUUUUUUUUUUUUUUUUU   an invocation: 8 bytes of partition key, 16 of UUID
//! dp_1 UUUUUUUUUUUUUUUUUUUUUU                a deployment: 16 bytes
//! prom_1 BASE64URL(id ‖ u32)                 an awakeable of V1 to V3: the index of its entry
//! sign_1 BASE64URL(id ‖ u32)                 an awakeable of V5 and later: the index of its signal
//! ```
//!
//! The first two use base 62: 8 or 16 bytes are read as a little-endian number, which is written
//! with a fixed number of digits. Base64 is unpadded, and the `u32` is big-endian.

use std::{fmt, str::FromStr};

use base64::{
    Engine as _,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::{BufMut as _, Bytes, BytesMut};

const ALPHABET: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Number of base-62 digits of 8 bytes.
const SHORT: usize = 11;
/// Number of base-62 digits of 16 bytes.
const LONG: usize = 22;

const INVOCATION: &str = "inv_1";
const DEPLOYMENT: &str = "dp_1";
const ENTRY_AWAKEABLE: &str = "prom_1";
const SIGNAL_AWAKEABLE: &str = "sign_1";

/// Encodes without padding; decodes with or without it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The reason why a text is not a valid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// The text has another prefix.
    #[error("`{text}` does not begin with `{prefix}`")]
    Prefix {
        text: String,
        /// The expected prefix.
        prefix: &'static str,
    },
    /// The text is too long or too short.
    #[error("`{text}` has {actual} characters after its prefix, not {expected}")]
    Length {
        text: String,
        /// Number of characters after the prefix.
        actual: usize,
        /// Expected number of characters after the prefix.
        expected: usize,
    },
    /// The text contains an invalid digit, or the number exceeds the available bytes.
    #[error("`{text}` is not a number in base 62 of {bytes} bytes")]
    Digits {
        text: String,
        /// Length of the number in bytes.
        bytes: usize,
    },
    /// The text is not base64, or too short to contain an index.
    #[error("`{text}` is not the id and the index of an awakeable in base64")]
    Awakeable { text: String },
}

/// The id of an invocation. Invocations with the same partition key belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvocationId {
    /// The partition key.
    pub partition_key: [u8; 8],
    /// Unique part of the id.
    pub uuid: [u8; 16],
}

impl InvocationId {
    /// Returns both parts, as `Start` carries them.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.partition_key);
        bytes[8..].copy_from_slice(&self.uuid);
        bytes
    }

    /// Builds the id from the bytes in `Start`.
    pub fn from_bytes(bytes: [u8; 24]) -> Self {
        let (key, uuid) = bytes.split_at(8);
        Self {
            partition_key: key.try_into().expect("8 of 24 bytes"),
            uuid: uuid.try_into().expect("16 of 24 bytes"),
        }
    }
}

impl fmt::Display for InvocationId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = base62(u128::from(u64::from_le_bytes(self.partition_key)), SHORT);
        write!(out, "{INVOCATION}{key}{}", base62(u128::from_le_bytes(self.uuid), LONG))
    }
}

impl FromStr for InvocationId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let digits = digits_of(text, INVOCATION, SHORT + LONG)?;
        let (key, uuid) = digits.split_at(SHORT);
        let key = number(key).and_then(|number| u64::try_from(number).ok());
        let (Some(key), Some(uuid)) = (key, number(uuid)) else {
            return Err(InvalidId::Digits { text: text.to_owned(), bytes: 24 });
        };
        Ok(Self { partition_key: key.to_le_bytes(), uuid: uuid.to_le_bytes() })
    }
}

/// The id of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeploymentId(pub [u8; 16]);

impl fmt::Display for DeploymentId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{DEPLOYMENT}{}", base62(u128::from_le_bytes(self.0), LONG))
    }
}

impl FromStr for DeploymentId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let digits = digits_of(text, DEPLOYMENT, LONG)?;
        let number =
            number(digits).ok_or_else(|| InvalidId::Digits { text: text.to_owned(), bytes: 16 })?;
        Ok(Self(number.to_le_bytes()))
    }
}

/// Meaning of an awakeable's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AwakeableKind {
    /// Index of an entry in a journal of V1 to V3.
    Entry,
    /// Index of a signal of an invocation of V5 and later.
    Signal,
}

/// The id of an awakeable: the waiting invocation, and the entry or signal that it waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AwakeableId {
    /// Meaning of `index`.
    pub kind: AwakeableKind,
    /// The bytes of the invocation's id, as in `Start`.
    pub invocation: Bytes,
    pub index: u32,
}

impl fmt::Display for AwakeableId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.kind {
            AwakeableKind::Entry => ENTRY_AWAKEABLE,
            AwakeableKind::Signal => SIGNAL_AWAKEABLE,
        };
        let mut bytes = BytesMut::with_capacity(self.invocation.len() + 4);
        bytes.put_slice(&self.invocation);
        bytes.put_u32(self.index);
        write!(out, "{prefix}{}", BASE64.encode(bytes))
    }
}

impl FromStr for AwakeableId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let (kind, coded) = if let Some(coded) = text.strip_prefix(ENTRY_AWAKEABLE) {
            (AwakeableKind::Entry, coded)
        } else if let Some(coded) = text.strip_prefix(SIGNAL_AWAKEABLE) {
            (AwakeableKind::Signal, coded)
        } else {
            return Err(InvalidId::Prefix { text: text.to_owned(), prefix: SIGNAL_AWAKEABLE });
        };
        let invalid = || InvalidId::Awakeable { text: text.to_owned() };
        let mut invocation = Bytes::from(BASE64.decode(coded).map_err(|_| invalid())?);
        let at = invocation.len().checked_sub(4).ok_or_else(invalid)?;
        let index = invocation.split_off(at);
        let index = u32::from_be_bytes(index[..].try_into().expect("4 bytes were split off"));
        Ok(Self { kind, invocation, index })
    }
}

/// Encodes `number` in base 62, padded with zeros to `length` digits.
fn base62(mut number: u128, length: usize) -> String {
    let mut digits = vec![b'0'; length];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(number % 62) as usize];
        number /= 62;
    }
    digits.into_iter().map(char::from).collect()
}

/// Parses base-62 digits; `None` on an invalid digit or overflow.
fn number(digits: &str) -> Option<u128> {
    digits.bytes().try_fold(0u128, |number, digit| {
        let value = ALPHABET.iter().position(|known| *known == digit)?;
        number.checked_mul(62)?.checked_add(value as u128)
    })
}

fn digits_of<'a>(
    text: &'a str,
    prefix: &'static str,
    expected: usize,
) -> Result<&'a str, InvalidId> {
    let Some(digits) = text.strip_prefix(prefix) else {
        return Err(InvalidId::Prefix { text: text.to_owned(), prefix });
    };
    let actual = digits.chars().count();
    if actual != expected {
        return Err(InvalidId::Length { text: text.to_owned(), actual, expected });
    }
    // ASCII only, so that byte offsets are character boundaries.
    if !digits.is_ascii() {
        return Err(InvalidId::Digits { text: text.to_owned(), bytes: 24 });
    }
    Ok(digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_lowest_byte_of_a_number_is_its_first_and_zeros_pad_it() {
        let mut id = InvocationId { partition_key: [0; 8], uuid: [0; 16] };
        assert_eq!(id.to_string(), format!("inv_1{}", "0".repeat(33)));
        id.partition_key[0] = 61;
        id.uuid[1] = 1;
        // 256 is 4 times 62 plus 8.
        let expected = format!("inv_1{}Z{}48", "0".repeat(10), "0".repeat(20));
        assert_eq!(id.to_string(), expected);
        assert_eq!(id.to_string().len(), 38);
        id.partition_key[0] = 36;
        assert!(id.to_string().starts_with("inv_10000000000A"), "capitals follow small letters");
        id.partition_key[0] = 10;
        assert!(id.to_string().starts_with("inv_10000000000a"), "letters follow figures");
        assert_eq!(DeploymentId([0xff; 16]).to_string().len(), 26);
    }

    #[test]
    fn the_awakeable_of_the_published_description_is_read() {
        // The example in the public documentation of the protocol; its index is 1.
        let text = "prom_1NMyOAvDK2CcBjUH4Rmb7eGBp0DNNDnmsAAAAAQ";
        let id: AwakeableId = text.parse().unwrap();
        assert_eq!((id.kind, id.index, id.invocation.len()), (AwakeableKind::Entry, 1, 24));
        assert_eq!(id.to_string(), text);
    }

    #[test]
    fn what_is_no_id_is_refused_with_its_reason() {
        let good = InvocationId { partition_key: [0xff; 8], uuid: [0xff; 16] }.to_string();
        assert!(good.parse::<InvocationId>().is_ok());
        let short = &good[..good.len() - 1];
        assert!(matches!(short.parse::<InvocationId>(), Err(InvalidId::Length { actual: 32, .. })));
        let long = format!("{good}0");
        assert!(matches!(long.parse::<InvocationId>(), Err(InvalidId::Length { actual: 34, .. })));
        assert!(matches!("dp_1".parse::<InvocationId>(), Err(InvalidId::Prefix { .. })));
        // 2^64 in eleven digits exceeds the key by one.
        let over = format!("inv_1{}{}", base62(1 << 64, SHORT), "0".repeat(LONG));
        assert!(matches!(over.parse::<InvocationId>(), Err(InvalidId::Digits { .. })));
        let over = format!("dp_1{}", "Z".repeat(LONG));
        assert!(matches!(over.parse::<DeploymentId>(), Err(InvalidId::Digits { .. })));
        for odd in ["-", "é"] {
            let text = format!("inv_1{}{odd}", &good[5..good.len() - 1]);
            assert!(
                matches!(text.parse::<InvocationId>(), Err(InvalidId::Digits { .. })),
                "{text}"
            );
        }
        for text in ["sign_1", "sign_1AAA", "sign_1=", "sign_1A+/A", "prom_1Ä"] {
            let refused = text.parse::<AwakeableId>();
            assert!(matches!(refused, Err(InvalidId::Awakeable { .. })), "{text}");
        }
        assert!(matches!("inv_1AAAA".parse::<AwakeableId>(), Err(InvalidId::Prefix { .. })));
    }

    proptest! {
        #[test]
        fn ids_are_read_as_they_are_printed(
            key: [u8; 8], uuid: [u8; 16], index: u32, invocation: Vec<u8>, entry: bool,
        ) {
            let id = InvocationId { partition_key: key, uuid };
            prop_assert_eq!(id.to_string().len(), 38);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(InvocationId::from_bytes(id.to_bytes()), id);
            let deployment = DeploymentId(uuid);
            prop_assert_eq!(deployment.to_string().parse(), Ok(deployment));
            let kind = if entry { AwakeableKind::Entry } else { AwakeableKind::Signal };
            let awakeable = AwakeableId { kind, invocation: invocation.into(), index };
            prop_assert_eq!(awakeable.to_string().parse(), Ok(awakeable));
        }
    }
}
