//! Values in rows, and how they stand in the database.
//!
//! An instant is text there, always of one length, `2026-01-31T12:00:00.000Z`: so it is ordered and compared as it
//! is, and answered as it is.

use rusqlite::{
    ToSql,
    types::{ToSqlOutput, ValueRef},
};
use segno_core::time::Timestamp;

/// The first instant of the year 1.
const FIRST: Timestamp = Timestamp(-62_135_596_800_000);

/// An instant as text of the one length; those beyond have that of the nearest that fits.
pub fn written(at: Timestamp) -> String {
    at.clamp(FIRST, Timestamp::NEVER).in_utc_millis()
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Number,
    /// Yes or no.
    Bool,
    /// An instant.
    Time,
    /// Bytes, in hexadecimal digits.
    Bytes,
}

impl Kind {
    /// Under what name the database knows it.
    pub fn declared(self) -> &'static str {
        match self {
            Self::Text | Self::Time => "TEXT",
            Self::Number => "INTEGER",
            Self::Bool => BOOLEAN,
            Self::Bytes => "BLOB",
        }
    }

    /// Under what name tools know it.
    pub fn named(self) -> &'static str {
        match self {
            Self::Text => "Utf8",
            Self::Number => "Int64",
            Self::Bool => "Boolean",
            Self::Time => "Timestamp(Millisecond, Some(\"+00:00\"))",
            Self::Bytes => "Binary",
        }
    }
}

/// What the database calls yes and no: it has them as 1 and 0.
pub const BOOLEAN: &str = "BOOLEAN";

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// None.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// An instant.
    Time(Timestamp),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// Text, or none.
    pub fn text(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.into()))
    }

    /// A count.
    pub fn count(count: impl TryInto<i64>) -> Self {
        Self::Number(count.try_into().unwrap_or(i64::MAX))
    }

    /// An instant, or none.
    pub fn time(at: Option<Timestamp>) -> Self {
        at.map_or(Self::Null, Self::Time)
    }

    /// Bytes that it takes.
    pub fn weight(&self) -> usize {
        match self {
            Self::Null => 1,
            Self::Bool(_) | Self::Number(_) => 8,
            Self::Time(_) => 24,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

impl ToSql for Value {
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

/// The instant that a text says, in UTC: a date, with a time or without one.
pub fn instant(text: &str) -> Option<Timestamp> {
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
