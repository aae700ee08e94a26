//! Values in rows, and their representation in the database.
//!
//! An instant is text of fixed length, `2026-01-31T12:00:00.000Z`, so that it is ordered, compared
//! and returned as text.

use rusqlite::{
    ToSql,
    types::{ToSqlOutput, ValueRef},
};
use segno_core::time::Timestamp;

/// The first instant of the year 1.
const FIRST: Timestamp = Timestamp(-62_135_596_800_000);

/// Formats an instant with fixed length. Instants out of range become the nearest in range.
pub(super) fn written(at: Timestamp) -> String {
    at.clamp(FIRST, Timestamp::NEVER).in_utc_millis()
}

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// Text.
    Text,
    /// Integer.
    Number,
    /// Boolean.
    Bool,
    /// An instant.
    Time,
    /// Bytes, written as hexadecimal digits.
    Bytes,
}

impl ColumnType {
    /// Name of the type in the database.
    pub(super) fn declared(self) -> &'static str {
        match self {
            Self::Text | Self::Time => "TEXT",
            Self::Number => "INTEGER",
            Self::Bool => BOOLEAN,
            Self::Bytes => "BLOB",
        }
    }

    /// Name of the type in `information_schema`.
    pub(super) fn named(self) -> &'static str {
        match self {
            Self::Text => "Utf8",
            Self::Number => "Int64",
            Self::Bool => "Boolean",
            Self::Time => "Timestamp(Millisecond, Some(\"+00:00\"))",
            Self::Bytes => "Binary",
        }
    }
}

/// Declared type of boolean columns; the database stores them as 1 and 0.
pub(super) const BOOLEAN: &str = "BOOLEAN";

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum RowValue {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Number(i64),
    /// An instant.
    Time(Timestamp),
    /// Text.
    Text(String),
    Bytes(Vec<u8>),
}

impl RowValue {
    /// Creates a count; too large counts become `i64::MAX`.
    pub(super) fn count(count: impl TryInto<i64>) -> Self {
        Self::Number(count.try_into().unwrap_or(i64::MAX))
    }

    /// Approximate size in bytes.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Null => 1,
            Self::Bool(_) | Self::Number(_) => 8,
            Self::Time(_) => 24,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

macro_rules! values {
    ($($type:ty => $kind:ident),+) => {$(
        impl From<$type> for RowValue {
            fn from(value: $type) -> Self {
                Self::$kind(value.into())
            }
        }
    )+};
}
values!(bool => Bool, Timestamp => Time, &str => Text, String => Text, Vec<u8> => Bytes);

impl<T: Into<Self>> From<Option<T>> for RowValue {
    /// Null for `None`.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl ToSql for RowValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Bool(value) => i64::from(*value).into(),
            Self::Number(value) => (*value).into(),
            Self::Time(at) => written(*at).into(),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

/// Parses a text as an instant in UTC: a date, with or without a time.
pub(super) fn instant(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let text = text.strip_suffix("+00:00").or_else(|| text.strip_suffix("+00")).unwrap_or(text);
    let at = match text.len() {
        10 => humantime::parse_rfc3339_weak(&format!("{text}T00:00:00Z")),
        _ => humantime::parse_rfc3339_weak(text),
    };
    let since = at.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_as_tools_write_them() {
        let noon = Some(Timestamp(1_769_860_800_000));
        for (text, at) in [
            ("2026-01-31T12:00:00Z", noon),
            ("2026-01-31T12:00:00.000Z", noon),
            ("2026-01-31 12:00:00", noon),
            (" 2026-01-31T12:00:00+00:00", noon),
            ("2026-01-31 12:00:00+00", noon),
            ("2026-01-31", Some(Timestamp(1_769_817_600_000))),
            ("2026-01-31T12:00:00+01:00", None),
            ("noon", None),
            ("", None),
        ] {
            assert_eq!(instant(text), at, "{text}");
        }
    }
}
