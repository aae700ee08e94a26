//! A cell: one column of a row to be written.

use std::sync::Arc;

/// A value that both databases can store.
#[derive(Debug, Clone)]
pub(crate) enum SqlCell {
    Null,
    Int(i64),
    Text(Arc<str>),
    Blob(Vec<u8>),
}

/// A row to be written.
pub(crate) type CellRow = Vec<SqlCell>;

impl SqlCell {
    /// The integer, if it is one.
    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Null | Self::Text(_) | Self::Blob(_) => None,
        }
    }
}

impl From<i64> for SqlCell {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for SqlCell {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for SqlCell {
    /// Keeps the 64 bits: nonces use all of them, and counters never reach the sign bit.
    fn from(value: u64) -> Self {
        Self::Int(value.cast_signed())
    }
}

impl From<bool> for SqlCell {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<&str> for SqlCell {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for SqlCell {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl From<&[u8]> for SqlCell {
    fn from(value: &[u8]) -> Self {
        Self::Blob(value.to_vec())
    }
}

impl From<Vec<u8>> for SqlCell {
    fn from(value: Vec<u8>) -> Self {
        Self::Blob(value)
    }
}

impl<T: Into<SqlCell>> From<Option<T>> for SqlCell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
