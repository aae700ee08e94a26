//! Values in rows, and how they compare.

use std::cmp::Ordering;

use segno_core::time::Timestamp;
use serde_json::Value as Json;

use crate::restate::ingress_time;

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
    /// What it is called in messages.
    pub fn said(self) -> &'static str {
        match self {
            Self::Text => "text in single quotes",
            Self::Number => "a whole number",
            Self::Bool => "TRUE or FALSE",
            Self::Time => "an instant like '2026-01-31T12:00:00Z'",
            Self::Bytes => "bytes, which are not compared",
        }
    }
}

/// A value of a row. The order is that of one kind; values of a column are of its kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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

    /// The text that it is.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is nothing.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// How it stands to another; none: that is unknown, one of them is nothing.
    pub fn compared(&self, other: &Self) -> Option<Ordering> {
        (!self.is_null() && !other.is_null()).then(|| self.cmp(other))
    }

    /// A literal as a value of this kind; none: it is none.
    pub fn coerced(self, kind: Kind) -> Option<Self> {
        match (self, kind) {
            (Self::Null, _) => Some(Self::Null),
            (value @ Self::Text(_), Kind::Text)
            | (value @ Self::Number(_), Kind::Number)
            | (value @ Self::Bool(_), Kind::Bool) => Some(value),
            (Self::Text(text), Kind::Number) => text.parse().ok().map(Self::Number),
            (Self::Text(text), Kind::Bool) => match text.to_ascii_lowercase().as_str() {
                "true" => Some(Self::Bool(true)),
                "false" => Some(Self::Bool(false)),
                _ => None,
            },
            (Self::Text(text), Kind::Time) => instant(&text).map(Self::Time),
            _ => None,
        }
    }

    /// As it stands in an answer; none: it is left out.
    pub fn json(&self) -> Option<Json> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(value) => (*value).into(),
            Self::Number(value) => (*value).into(),
            Self::Time(at) => ingress_time(*at).into(),
            Self::Text(text) => text.as_str().into(),
            Self::Bytes(bytes) => {
                bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
            }
        })
    }
}

fn instant(text: &str) -> Option<Timestamp> {
    let at = humantime::parse_rfc3339_weak(text).ok()?;
    let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_values_of_their_column() {
        let text = |text: &str| Value::Text(text.to_owned());
        let noon = Value::Time(Timestamp(1_769_860_800_000));
        for (literal, kind, value) in [
            (text("a"), Kind::Text, Some(text("a"))),
            (text("7"), Kind::Number, Some(Value::Number(7))),
            (text("x"), Kind::Number, None),
            (Value::Number(7), Kind::Text, None),
            (text("TRUE"), Kind::Bool, Some(Value::Bool(true))),
            (Value::Number(1), Kind::Bool, None),
            (text("2026-01-31T12:00:00Z"), Kind::Time, Some(noon.clone())),
            (text("2026-01-31 12:00:00"), Kind::Time, Some(noon)),
            (text("noon"), Kind::Time, None),
            (text("ff"), Kind::Bytes, None),
            (Value::Null, Kind::Time, Some(Value::Null)),
        ] {
            assert_eq!(literal.clone().coerced(kind), value, "{literal:?} {kind:?}");
        }
    }

    #[test]
    fn values_are_written_as_tools_read_them() {
        assert_eq!(Value::Null.json(), None);
        assert_eq!(Value::Bytes(vec![0, 255]).json(), Some("00ff".into()));
        assert_eq!(Value::Time(Timestamp(1)).json(), Some("1970-01-01T00:00:00.001Z".into()));
    }
}
