//! Bytes, text and the values of promises. The core never looks inside a payload.
//!
//! [`Text`] and [`Bytes`] are shared, so that a row, a record and a message can hold the same
//! payload without a copy.

use std::{collections::BTreeMap, fmt, ops::Deref, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, SeqAccess, Visitor},
};

/// Labels of the user and tags of the engine on a promise; see [`crate::tags`] for the reserved
/// names.
pub type Tags = BTreeMap<String, String>;

/// Shared, immutable text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<str>);

/// Shared, immutable bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(Arc<[u8]>);

/// Parameter or result of a promise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// Metadata about the data, for programs.
    pub headers: Tags,
    /// Data, opaque to the engine.
    pub data: Bytes,
}

/// A payload as passed by a guest. It preserves whether it was text, because a replay must pass the
/// same kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payload {
    Json(Text),
    /// Any other data.
    Bytes(Bytes),
}

impl Text {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Bytes {
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl Value {
    pub fn of(data: impl Into<Bytes>) -> Self {
        Self { headers: Tags::new(), data: data.into() }
    }
}

impl Payload {
    /// The bytes, for either kind.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Json(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for Text {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl<T: Into<Arc<[u8]>>> From<T> for Bytes {
    fn from(bytes: T) -> Self {
        Self(bytes.into())
    }
}

impl Default for Text {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self(Arc::from([]))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(&self.0) {
            Ok(text) => fmt::Debug::fmt(text, f),
            Err(_) => fmt::Debug::fmt(&self.0, f),
        }
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::from(text))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl<'de> Visitor<'de> for BytesVisitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes::from(bytes))
            }
            // Formats without a byte type (JSON) write a sequence of numbers.
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(4096));
                while let Some(byte) = seq.next_element::<u8>()? {
                    bytes.push(byte);
                }
                Ok(Bytes::from(bytes))
            }
        }
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

/// Serde helper for a shared struct: serialises the contents.
pub(crate) mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        shared: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        shared.as_ref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_text_round_trip() {
        let value = Value { headers: Tags::new(), data: Bytes::from(&[1, 2, 255][..]) };
        let stored = postcard::to_allocvec(&value).expect("a value encodes");
        assert_eq!(postcard::from_bytes::<Value>(&stored), Ok(value));
        let text = Text::from("é");
        let stored = postcard::to_allocvec(&text).expect("text encodes");
        assert_eq!(postcard::from_bytes::<Text>(&stored), Ok(text));
    }
}
