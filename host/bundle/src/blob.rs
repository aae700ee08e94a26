//! Blobs: the references in executions, and the content that a bundle carries.
//!
//! ```text
//! blob = format: u8 (1), then in postcard: id: text (OWNER/blob/DIGEST), bytes: u64, content_type: text, repeats: bool
//! ```

use segno_core::id::{Digest, PromiseId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::execution::decoded;

const FORMAT: u8 = 1;
/// Maximum size of a piece of content, in bytes.
pub(crate) const PIECE_BYTES_MAX: u32 = 1 << 20;
/// The field by which a reference is recognized.
const FIELD: &[u8] = b"\"segno:blob\"";
/// Maximum number of bytes of a reference before and after that field.
const REFERENCE_BYTES: usize = 2 << 10;
/// Maximum number of braces before the field at which a reference may begin: its texts may have some.
const BRACES: usize = 3;

/// The reference of a blob, in the fields of its JSON form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleBlob {
    /// `OWNER/blob/DIGEST`.
    #[serde(rename = "segno:blob")]
    pub id: String,
    pub bytes: u64,
    pub content_type: String,
}

#[derive(Serialize, Deserialize)]
struct StoredBlob {
    blob: BundleBlob,
    repeats: bool,
}

impl BundleBlob {
    /// The owner and the SHA-256 of the content. `None` if the id is not that of a blob.
    pub fn parts(&self) -> Option<(PromiseId, Digest)> {
        let (owner, digest) = self.id.rsplit_once("/blob/")?;
        Some((PromiseId::from(owner), digest.parse().ok()?)).filter(|_| !owner.is_empty())
    }

    pub(crate) fn encode(&self, repeats: bool) -> Vec<u8> {
        let stored = StoredBlob { blob: self.clone(), repeats };
        postcard::to_extend(&stored, vec![FORMAT]).expect("a blob holds nothing postcard refuses")
    }

    /// Parses a body. The flag is true if the content is that of an earlier blob.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, bool), String> {
        let StoredBlob { blob, repeats } = decoded(FORMAT, bytes)?;
        match blob.parts() {
            Some(_) => Ok((blob, repeats)),
            None => Err(format!("`{}` is not the id of a blob", blob.id.escape_debug())),
        }
    }
}

/// The references in a body: objects of JSON within other data.
pub(crate) fn references(body: &[u8]) -> impl Iterator<Item = BundleBlob> {
    let fields = (0..body.len()).filter(|at| body[*at] == b'"' && body[*at..].starts_with(FIELD));
    fields.filter_map(|at| {
        let begin = at.saturating_sub(REFERENCE_BYTES);
        let end = body.len().min(at + REFERENCE_BYTES);
        let braces = (begin..at).rev().filter(|at| body[*at] == b'{').take(BRACES);
        let mut read = braces.filter_map(|brace| {
            let json = serde_json::Deserializer::from_slice(&body[brace..end]);
            json.into_iter::<BundleBlob>().next()?.ok()
        });
        read.find(|blob| blob.parts().is_some())
    })
}

/// The content of a blob that is being read.
#[derive(Debug)]
pub(crate) struct BlobContent {
    blob: BundleBlob,
    digest: Digest,
    hasher: Sha256,
    bytes: u64,
}

impl BlobContent {
    pub(crate) fn new(blob: BundleBlob, digest: Digest) -> Self {
        Self { blob, digest, hasher: Sha256::new(), bytes: 0 }
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// The piece is empty, or there are more bytes than the blob has, as a sentence.
    pub(crate) fn add(&mut self, piece: &[u8]) -> Result<(), String> {
        if piece.is_empty() {
            return Err(format!("a piece of {} is empty", self.name()));
        }
        self.hasher.update(piece);
        self.bytes += piece.len() as u64;
        match self.bytes <= self.blob.bytes {
            true => Ok(()),
            false => Err(format!("{} has {} bytes, and more come", self.name(), self.blob.bytes)),
        }
    }

    /// Checks the content after its last piece.
    ///
    /// # Errors
    /// The content is shorter or another one, as a sentence.
    pub(crate) fn end(self) -> Result<(), String> {
        if self.bytes < self.blob.bytes {
            let (some, all) = (self.bytes, self.blob.bytes);
            return Err(format!("{} ends after {some} of {all} bytes", self.name()));
        }
        let name = self.name();
        let digest = Digest(self.hasher.finalize().into());
        match digest == self.digest {
            true => Ok(()),
            false => Err(format!("the content of {name} has the digest {digest}")),
        }
    }

    fn name(&self) -> String {
        format!("the blob `{}`", self.blob.id.escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_in_json_within_other_data() {
        let digest = Digest::of(b"x");
        let blob = |id: &str, content_type: &str| BundleBlob {
            id: format!("{id}/blob/{digest}"),
            bytes: 7,
            content_type: content_type.to_owned(),
        };
        let (first, second) = (blob("a", "text/plain"), blob("b/c{", "x/{\"{"));
        let json = serde_json::json!({ "args": [{ "document": first, "more": [second, 1] }, {}] });
        let mut body = vec![0xff, b'{', 0];
        body.extend(json.to_string().into_bytes());
        body.extend([0xfe; 9]);
        assert_eq!(references(&body).collect::<Vec<_>>(), [first.clone(), second]);
        let reordered = format!(
            r#"{{"content_type": "text/plain", "bytes": 7, "segno:blob" : "a/blob/{digest}"}}"#
        );
        assert_eq!(references(reordered.as_bytes()).collect::<Vec<_>>(), [first]);
        for other in [
            r#"{"segno:blob":"a/blob/x","bytes":7,"content_type":"a/b"}"#.to_owned(),
            format!(r#"{{"segno:blob":"a/blob/{digest}","bytes":7}}"#),
            format!(r#""segno:blob":"a/blob/{digest}","bytes":7,"content_type":"a/b""#),
            r#"{"#.repeat(9) + r#""segno:blob""#,
        ] {
            assert_eq!(references(other.as_bytes()).count(), 0, "{other}");
        }
    }
}
