//! The check of content that is read from its beginning to its end.

use segno_core::id::Digest;
use sha2::{Digest as _, Sha256};

use super::{BlobError, BlobReference};

/// Compares content with its digest while it is read in order. A reader that leaves the order is
/// not checked: it has asked for a part.
#[derive(Debug, Clone)]
pub struct BlobCheck {
    blob: BlobReference,
    hasher: Sha256,
    /// Number of bytes that were read in order.
    next: u64,
}

impl BlobCheck {
    pub fn new(blob: BlobReference) -> Self {
        Self { blob, hasher: Sha256::new(), next: 0 }
    }

    /// Adds the bytes at `offset`. A read from the beginning starts again.
    ///
    /// # Errors
    /// [`BlobError::Damaged`]: these are the last bytes, and the whole is not what was written.
    pub fn add(&mut self, offset: u64, bytes: &[u8]) -> Result<(), BlobError> {
        if offset == 0 {
            (self.hasher, self.next) = (Sha256::new(), 0);
        }
        if offset != self.next {
            return Ok(());
        }
        self.hasher.update(bytes);
        self.next += bytes.len() as u64;
        if self.next < self.blob.bytes {
            return Ok(());
        }
        let actual = Digest(self.hasher.clone().finalize().into());
        if actual == self.blob.digest && self.next == self.blob.bytes {
            return Ok(());
        }
        let reason = format!("it has the digest {actual}");
        Err(BlobError::Damaged { id: self.blob.id(), reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_checked_in_order_and_parts_are_not() {
        let blob = BlobReference {
            owner: "a".into(),
            digest: Digest::of(b"abcdef"),
            bytes: 6,
            content_type: "a/b".into(),
        };
        let mut check = BlobCheck::new(blob);
        assert_eq!(check.add(0, b"abc"), Ok(()));
        assert_eq!(check.add(3, b"def"), Ok(()));
        assert_eq!(check.add(0, b"abX"), Ok(()), "it begins again");
        assert!(check.add(3, b"def").is_err());
        assert_eq!(check.add(0, b"ab"), Ok(()));
        assert_eq!(check.add(4, b"XX"), Ok(()), "a part");
    }
}
