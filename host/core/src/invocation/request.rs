//! The fields of a command beside its kind and name, in one canonical encoding. Two requests are
//! compared as bytes, and by field when they differ.
//!
//! ```text
//! request = field*
//! field   = name: str, then 0 and the value, or 1, its length and its SHA-256 (values longer than 256 bytes)
//! ```
//! Numbers and lengths are postcard varints. Large values, such as the input of a call, are also
//! the parameter of the command's promise, so the journal keeps only their digest.

use serde::{Deserialize, Serialize};

use crate::{
    id::Digest,
    value::{Bytes, Text},
};

/// Maximum length of an inline value, in bytes. Longer values are kept as their digest. Never
/// change it: it affects the comparison with stored journals.
const INLINE_LIMIT: usize = 256;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandRequest(Bytes);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestField {
    pub name: Text,
    pub value: FieldValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FieldValue {
    Inline(Bytes),
    /// Digest of a value that is too large for the journal.
    Digest {
        /// Length of the value, in bytes.
        len: u64,
        digest: Digest,
    },
}

impl CommandRequest {
    /// Encodes a request. The order of the fields is significant; each command kind always uses the
    /// same order.
    pub fn of(fields: &[(&str, &[u8])]) -> Self {
        let mut encoded = Vec::new();
        for (name, value) in fields {
            encoded.extend(varint(name.len() as u64));
            encoded.extend_from_slice(name.as_bytes());
            if value.len() <= INLINE_LIMIT {
                encoded.push(0);
                encoded.extend(varint(value.len() as u64));
                encoded.extend_from_slice(value);
            } else {
                encoded.push(1);
                encoded.extend(varint(value.len() as u64));
                encoded.extend_from_slice(&Digest::of(value).0);
            }
        }
        Self(Bytes::from(encoded))
    }

    /// Encodes a request with all values inline, regardless of length.
    pub fn verbatim(fields: &[(&str, &[u8])]) -> Self {
        let mut encoded = Vec::new();
        for (name, value) in fields {
            encoded.extend(varint(name.len() as u64));
            encoded.extend_from_slice(name.as_bytes());
            encoded.push(0);
            encoded.extend(varint(value.len() as u64));
            encoded.extend_from_slice(value);
        }
        Self(Bytes::from(encoded))
    }

    /// The decoded fields. `None` if the bytes are not a request.
    pub fn fields(&self) -> Option<Vec<RequestField>> {
        let mut rest = self.0.as_slice();
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let (field, after) = postcard::take_from_bytes::<RequestField>(rest).ok()?;
            fields.push(field);
            rest = after;
        }
        Some(fields)
    }

    /// The canonical encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn varint(mut number: u64) -> impl Iterator<Item = u8> {
    let mut more = true;
    std::iter::from_fn(move || {
        if !more {
            return None;
        }
        let low = (number & 0x7f) as u8;
        number >>= 7;
        more = number != 0;
        Some(if more { low | 0x80 } else { low })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_large_ones_as_digests() {
        let large = vec![7; 300];
        let request = CommandRequest::of(&[("input", b"{}"), ("blob", &large), ("empty", b"")]);
        let fields = request.fields().expect("just encoded");
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["input", "blob", "empty"]);
        assert_eq!(fields[0].value, FieldValue::Inline(Bytes::from(&b"{}"[..])));
        assert_eq!(fields[1].value, FieldValue::Digest { len: 300, digest: Digest::of(&large) });
        assert_eq!(fields[2].value, FieldValue::Inline(Bytes::default()));
        assert!(request.as_bytes().len() < 100);
    }

    #[test]
    fn what_is_kept_as_it_came_comes_back_whatever_its_length() {
        let long = vec![7; 70_000];
        for value in [&b""[..], b"abc", &long] {
            let request = CommandRequest::verbatim(&[("frame", value), ("id", b"it")]);
            let kept = |name, value| RequestField {
                name: Text::from(name),
                value: FieldValue::Inline(Bytes::from(value)),
            };
            let fields = request.fields().expect("just encoded");
            assert_eq!(fields, [kept("frame", value), kept("id", b"it")]);
        }
        let short = [("frame", &b"abc"[..])];
        assert_eq!(CommandRequest::verbatim(&short), CommandRequest::of(&short));
    }

    #[test]
    fn bytes_that_are_no_request_have_no_fields() {
        assert_eq!(CommandRequest(Bytes::from(&[5, 1][..])).fields(), None);
        assert_eq!(CommandRequest::of(&[]).fields(), Some(Vec::new()));
    }
}
