//! Keys of objects.
//!
//! The key of a blob is `OWNER/DIGEST/BYTES-TYPE`. With the size and the type in the key, a list says
//! everything about a blob, every store can keep it, and a file that was cut is recognized before it
//! is read. Owner and type are written in small letters, digits, `-` and `_XX` for any other byte, so
//! that they are different also where a file system takes `A` for `a`. A long owner has several
//! segments, each of which but the last ends with `_`.

use object_store::path::Path;
use segno_core::id::{Digest, PromiseId};

use super::{BlobError, BlobReference};

/// Folder of uploads that have not ended. No owner is written like this.
pub(crate) const UPLOADS: &str = "_uploads";
/// Maximum length of one segment of an owner; file systems take 255 bytes.
const SEGMENT: usize = 200;
/// Maximum length of the written owner; the key has 1,024 bytes, and the place may have a prefix.
const OWNER_BYTES_MAX: usize = 600;
/// Maximum length of the written content type.
const TYPE_BYTES_MAX: usize = 220;

/// Writes any text so that it can be part of a key, and be read again.
fn written(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => written.push(char::from(byte)),
            other => written.push_str(&format!("_{other:02x}")),
        }
    }
    written
}

/// Reads what [`written`] wrote. `None`: it is something else.
fn read(written: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b'_' => {
                let (hex, after) = after.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok()?);
                after
            }
            plain => {
                bytes.push(*plain);
                after
            }
        };
    }
    let text = String::from_utf8(bytes).ok()?;
    (self::written(&text) == written).then_some(text)
}

/// The segments of an owner.
fn owner_segments(owner: &PromiseId) -> Result<Vec<String>, BlobError> {
    let written = written(owner.as_str());
    if written.is_empty() || written.len() > OWNER_BYTES_MAX {
        return Err(BlobError::LongId(owner.as_str().chars().take(40).collect()));
    }
    let mut segments = Vec::new();
    let mut rest = written.as_str();
    while rest.len() > SEGMENT {
        let (segment, after) = rest.split_at(SEGMENT);
        segments.push(format!("{segment}_"));
        rest = after;
    }
    segments.push(rest.to_owned());
    Ok(segments)
}

/// The keys of the objects of a place.
#[derive(Debug, Clone)]
pub(crate) struct BlobKeys {
    prefix: Path,
}

impl BlobKeys {
    pub(crate) fn new(prefix: Path) -> Self {
        Self { prefix }
    }

    pub(crate) fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The folder of an owner.
    pub(crate) fn owner(&self, owner: &PromiseId) -> Result<Path, BlobError> {
        let segments = owner_segments(owner)?;
        Ok(segments.into_iter().fold(self.prefix.clone(), |path, part| path.join(part)))
    }

    /// The folder of the blobs of an owner with this content.
    pub(crate) fn digest(&self, owner: &PromiseId, digest: Digest) -> Result<Path, BlobError> {
        Ok(self.owner(owner)?.join(digest.to_string()))
    }

    /// The key of a blob.
    pub(crate) fn blob(&self, blob: &BlobReference) -> Result<Path, BlobError> {
        let kind = written(checked_type(&blob.content_type)?);
        let folder = self.digest(&blob.owner, blob.digest)?;
        Ok(folder.join(format!("{}-{kind}", blob.bytes)))
    }

    /// The key of an upload.
    pub(crate) fn upload(&self, nonce: u64) -> Path {
        self.prefix.clone().join(UPLOADS).join(format!("{nonce:016x}"))
    }

    /// The blob with this key. `None`: the object is no blob.
    pub(crate) fn parse(&self, key: &Path) -> Option<BlobReference> {
        let parts: Vec<_> = key.prefix_match(&self.prefix)?.collect();
        let [owner @ .., digest, last] = parts.as_slice() else { return None };
        let (tail, before) = owner.split_last()?;
        let mut joined = String::new();
        for segment in before {
            joined.push_str(segment.as_ref().strip_suffix('_')?);
        }
        joined.push_str(tail.as_ref());
        let (bytes, kind) = last.as_ref().split_once('-')?;
        Some(BlobReference {
            owner: PromiseId::new(read(&joined)?),
            digest: digest.as_ref().parse().ok()?,
            bytes: bytes.parse().ok()?,
            content_type: read(kind)?,
        })
    }
}

/// Checks a content type.
///
/// # Errors
/// [`BlobError::ContentType`].
pub(crate) fn checked_type(content_type: &str) -> Result<&str, BlobError> {
    let is_media_type = content_type.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
        && content_type
            .split_once('/')
            .is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty())
        && written(content_type).len() <= TYPE_BYTES_MAX;
    match is_media_type {
        true => Ok(content_type),
        false => Err(BlobError::ContentType(
            content_type.chars().take(60).collect::<String>().escape_debug().to_string(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blob(owner: &str) -> BlobReference {
        BlobReference {
            owner: owner.into(),
            digest: Digest::of(b"x"),
            bytes: 7,
            content_type: "text/plain; charset=utf-8".into(),
        }
    }

    #[test]
    fn a_key_is_drawn_as_in_the_documents() {
        let keys = BlobKeys::new(Path::from("b"));
        let key = keys.blob(&blob("order/1-A")).expect("it is short");
        let digest = Digest::of(b"x");
        let expected = format!("b/order_2f1-_41/{digest}/7-text_2fplain_3b_20charset_3dutf-8");
        assert_eq!(key.as_ref(), expected);
        assert_eq!(keys.upload(10).as_ref(), "b/_uploads/000000000000000a");
    }

    #[test]
    fn what_no_store_can_keep_is_refused() {
        let keys = BlobKeys::new(Path::default());
        for owner in ["x".repeat(601), "Ü".repeat(101), String::new()] {
            assert!(matches!(keys.owner(&owner.as_str().into()), Err(BlobError::LongId(_))));
        }
        for kind in ["text", "/plain", "text/", "text/pl\nain", &format!("a/{}", "b".repeat(220))] {
            assert!(checked_type(kind).is_err(), "{kind}");
        }
        for foreign in ["readme", "a/b/c", "_uploads/000000000000000a", "A/b/c"] {
            assert_eq!(keys.parse(&Path::from(foreign)), None, "{foreign}");
        }
    }

    proptest! {
        #[test]
        fn keys_come_back_and_stay_in_their_owners_folder(owner in "\\PC{1,60}", other in "\\PC{1,60}") {
            let keys = BlobKeys::new(Path::from("some/place"));
            let blob = blob(&owner);
            let Ok(key) = keys.blob(&blob) else { return Ok(()) };
            prop_assert_eq!(keys.parse(&key), Some(blob));
            let lower = key.as_ref().to_lowercase();
            prop_assert_eq!(lower.as_str(), key.as_ref());
            prop_assert!(key.parts().all(|part| part.as_ref().len() <= 255));
            if let Ok(folder) = keys.owner(&other.as_str().into()) {
                prop_assert_eq!(key.prefix_matches(&folder), owner == other);
            }
        }

        #[test]
        fn keys_of_long_owners_come_back(owner in "[a-zA-Z/]{150,220}") {
            let keys = BlobKeys::new(Path::default());
            let blob = blob(&owner);
            let Ok(key) = keys.blob(&blob) else { return Ok(()) };
            prop_assert!(key.parts().all(|part| part.as_ref().len() <= 255));
            prop_assert_eq!(keys.parse(&key), Some(blob));
        }
    }
}
