//! Names of nodes.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a node: 1 to 64 ASCII letters, digits, `-` and `_`. Clones share the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(Arc<str>);

/// The text is not a valid node name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name of a node: it has 1 to 64 letters, digits, `-` or `_`")]
pub struct InvalidName(
    /// The invalid text, cut to 80 characters.
    pub String,
);

impl NodeName {
    /// Maximum length of a name, in bytes.
    pub const MAX_LEN: usize = 64;

    /// Creates a name with this text.
    ///
    /// # Errors
    /// [`InvalidName`] if the text is empty, too long or has another character.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if text.is_empty() || text.len() > Self::MAX_LEN || !text.bytes().all(allowed) {
            return Err(InvalidName(text.chars().take(80).collect()));
        }
        Ok(Self(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for NodeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for NodeName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::new(text)
    }
}

impl Serialize for NodeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for NodeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_up_to_64_letters_digits_dashes_and_underscores() {
        let longest = "x".repeat(64);
        for name in ["a", "Z9", "-", "_", "fetch-prices_2", &longest] {
            assert_eq!(NodeName::new(name).expect(name).as_str(), name);
        }
        let longer = "x".repeat(65);
        for text in ["", " ", "a b", "a/b", "ä", "a.b", &longer] {
            assert!(NodeName::new(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_stored_name_is_checked_when_it_is_read() {
        let name: NodeName = serde_json::from_str("\"fetch\"").expect("a name");
        assert_eq!(serde_json::to_string(&name).expect("text"), "\"fetch\"");
        assert!(serde_json::from_str::<NodeName>("\"a b\"").is_err());
    }
}
