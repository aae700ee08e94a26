//! The place where a host stores blobs, as the operator writes it.

use std::{path::PathBuf, str::FromStr, sync::Arc};

use object_store::{ObjectStore, path::Path, signer::Signer};
use segno_env::Env;

use super::{BlobStore, key::BlobKeys, local, s3};

/// Default maximum size of a blob, in bytes.
pub const DEFAULT_BYTES_MAX: u64 = 1 << 30;

/// A place for blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobPlace {
    /// A directory.
    Directory(PathBuf),
    /// An S3 bucket, and the prefix of all keys.
    S3 { bucket: String, prefix: String },
}

/// The settings of a place.
#[derive(Debug, Clone, Copy)]
pub struct BlobSettings {
    /// Maximum size of a blob, in bytes.
    pub bytes_max: u64,
    /// True if clients may get signed addresses of the object store.
    pub presign: bool,
}

impl Default for BlobSettings {
    fn default() -> Self {
        Self { bytes_max: DEFAULT_BYTES_MAX, presign: false }
    }
}

/// Reason why a place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BlobOpenError {
    #[error("the directory for blobs `{directory}` cannot be used: {source}")]
    Directory { directory: String, source: std::io::Error },
    #[error("the place for blobs `{place}` cannot be used: {reason}")]
    Store { place: String, reason: String },
}

/// An opened place: its object store, and the signer of addresses if it has one.
pub(crate) struct OpenedPlace {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// Signs addresses, if the store can.
    pub(crate) signer: Option<Arc<dyn Signer>>,
    /// The directory of a local place.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) keys: BlobKeys,
}

impl FromStr for BlobPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(address) = text.strip_prefix("s3://") else {
            return match text.split_once("://") {
                Some((scheme, _)) => Err(format!(
                    "`{scheme}` is no place for blobs: write a directory, or s3://BUCKET/PREFIX"
                )),
                None if text.is_empty() => Err("write a directory, or s3://BUCKET/PREFIX".into()),
                None => Ok(Self::Directory(text.into())),
            };
        };
        let (bucket, prefix) = address.split_once('/').unwrap_or((address, ""));
        if bucket.is_empty() {
            return Err("the bucket is missing: write s3://BUCKET/PREFIX".to_owned());
        }
        let prefix = prefix.trim_matches('/');
        Path::parse(prefix).map_err(|error| format!("the prefix cannot be used: {error}"))?;
        Ok(Self::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl std::fmt::Display for BlobPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory(directory) => directory.display().fmt(f),
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

impl BlobPlace {
    /// Opens the place. A directory is made if it is missing; a bucket is not asked yet, so that a
    /// host starts also while S3 is away.
    ///
    /// # Errors
    /// [`BlobOpenError`].
    pub fn open(&self, settings: BlobSettings, env: &Env) -> Result<BlobStore, BlobOpenError> {
        let opened = match self {
            Self::Directory(directory) => local::open(directory)?,
            Self::S3 { bucket, prefix } => s3::open(bucket, prefix)
                .map_err(|reason| BlobOpenError::Store { place: self.to_string(), reason })?,
        };
        Ok(BlobStore::new(self.to_string(), opened, settings, env.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_directories_and_buckets() {
        let parse = |text: &str| text.parse::<BlobPlace>();
        let s3 = |bucket: &str, prefix: &str| {
            Ok(BlobPlace::S3 { bucket: bucket.into(), prefix: prefix.into() })
        };
        assert_eq!(parse("/srv/blobs"), Ok(BlobPlace::Directory("/srv/blobs".into())));
        assert_eq!(parse("s3://bucket"), s3("bucket", ""));
        assert_eq!(parse("s3://bucket/a/b/"), s3("bucket", "a/b"));
        assert_eq!(parse("s3://bucket/a/b").expect("a place").to_string(), "s3://bucket/a/b");
        for wrong in ["", "s3://", "s3:///a", "gs://bucket", "s3://bucket/a//b"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
