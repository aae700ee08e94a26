//! The reference of a blob, which passes for its content.

use std::fmt;

use segno_core::id::{Digest, PromiseId};
use serde::{Deserialize, Serialize};

use super::BlobError;

/// The content type of a blob that was stored without one.
pub const DEFAULT_CONTENT_TYPE: &str = "application/octet-stream";
/// Separates the owner from the digest.
const BLOB: &str = "/blob/";

/// The reference of a blob. As JSON:
/// `{"segno:blob": "OWNER/blob/DIGEST", "bytes": N, "content_type": TYPE}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobReference {
    /// The root of the tree of executions that the blob belongs to.
    pub owner: PromiseId,
    /// SHA-256 of the content.
    pub digest: Digest,
    /// Size of the content.
    pub bytes: u64,
    pub content_type: String,
}

/// The JSON form of a reference.
#[derive(Serialize, Deserialize)]
struct ReferenceFields {
    #[serde(rename = "segno:blob")]
    id: String,
    bytes: u64,
    content_type: String,
}

impl BlobReference {
    /// Parses the JSON form.
    ///
    /// # Errors
    /// [`BlobError::BadReference`].
    pub fn from_json(json: &str) -> Result<Self, BlobError> {
        let fields: ReferenceFields = serde_json::from_str(json)
            .map_err(|error| BlobError::BadReference(error.to_string()))?;
        let (owner, digest) = Self::parse_id(&fields.id)?;
        Ok(Self { owner, digest, bytes: fields.bytes, content_type: fields.content_type })
    }

    /// Writes the JSON form.
    pub fn to_json(&self) -> String {
        let content_type = self.content_type.clone();
        let fields = ReferenceFields { id: self.id(), bytes: self.bytes, content_type };
        serde_json::to_string(&fields).expect("texts and a number have a JSON form")
    }

    /// The id, `OWNER/blob/DIGEST`.
    pub fn id(&self) -> String {
        blob_id(&self.owner, self.digest)
    }

    /// Parses an id, `OWNER/blob/DIGEST`.
    ///
    /// # Errors
    /// [`BlobError::BadReference`].
    pub fn parse_id(id: &str) -> Result<(PromiseId, Digest), BlobError> {
        let refuse = |reason: &str| BlobError::BadReference(format!("`{id}` {reason}"));
        let (owner, digest) =
            id.rsplit_once(BLOB).ok_or_else(|| refuse("is not OWNER/blob/DIGEST"))?;
        if owner.is_empty() {
            return Err(refuse("names no execution"));
        }
        let digest = digest.parse().map_err(|_| refuse("ends with no SHA-256 in hexadecimal"))?;
        Ok((PromiseId::from(owner), digest))
    }
}

impl fmt::Display for BlobReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id())
    }
}

/// The id of a blob.
pub(crate) fn blob_id(owner: &PromiseId, digest: Digest) -> String {
    format!("{owner}{BLOB}{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_reads_what_it_writes() {
        let reference = BlobReference {
            owner: "a/blob/b".into(),
            digest: Digest::of(b"x"),
            bytes: 1,
            content_type: "text/plain".into(),
        };
        let json = reference.to_json();
        assert_eq!(
            json,
            format!(
                r#"{{"segno:blob":"a/blob/b/blob/{}","bytes":1,"content_type":"text/plain"}}"#,
                Digest::of(b"x")
            )
        );
        assert_eq!(BlobReference::from_json(&json), Ok(reference));
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        let digest = Digest::of(b"x");
        for json in [
            "7".to_owned(),
            r#"{"segno:blob":"a"}"#.to_owned(),
            format!(r#"{{"segno:blob":"a/{digest}","bytes":1,"content_type":"a/b"}}"#),
            format!(r#"{{"segno:blob":"/blob/{digest}","bytes":1,"content_type":"a/b"}}"#),
            r#"{"segno:blob":"a/blob/xyz","bytes":1,"content_type":"a/b"}"#.to_owned(),
        ] {
            let refused = BlobReference::from_json(&json).expect_err(&json);
            assert_eq!(refused.code(), 400, "{json}");
        }
    }
}
