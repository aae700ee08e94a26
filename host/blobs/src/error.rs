//! Failures of operations on blobs.

use segno_core::id::Digest;

/// Reason why a blob was not read or written. Nothing was stored, unless the variant says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// The text is no reference of a blob.
    #[error("this is no reference of a blob: {0}")]
    BadReference(String),
    /// The content type cannot be stored.
    #[error(
        "the content type `{0}` cannot be used: write one such as image/png, of at most 200 bytes"
    )]
    ContentType(String),
    /// The key of the owner would be longer than object stores accept.
    #[error(
        "`{0}…` is too long to have blobs: a key of an object has at most 1,024 bytes; \
         characters other than small letters, digits and `-` take three"
    )]
    LongId(String),
    /// There is no such blob.
    #[error("there is no blob `{0}`")]
    Absent(String),
    /// The blob is larger than the host accepts.
    #[error("a blob has at most {limit} bytes here (`serve --blob-max-bytes`)")]
    TooLarge { limit: u64 },
    /// The digest of the received content is not the announced one.
    #[error("the content has the digest {actual}, and {announced} was announced")]
    WrongDigest { announced: Digest, actual: Digest },
    /// The stored content was changed after it was written.
    #[error("the content of the blob `{id}` is damaged: {reason}")]
    Damaged { id: String, reason: String },
    /// The place did not answer, or refused. A write may have happened.
    #[error("the place for blobs ({place}) failed: {reason}")]
    Unavailable { place: String, reason: String },
}

impl BlobError {
    /// The code of the failure that a guest is told; as in HTTP.
    pub fn code(&self) -> u32 {
        match self {
            Self::BadReference(_) | Self::ContentType(_) | Self::LongId(_) => 400,
            Self::Absent(_) => 404,
            Self::TooLarge { .. } => 413,
            Self::WrongDigest { .. } | Self::Damaged { .. } => 422,
            Self::Unavailable { .. } => 503,
        }
    }

    /// An error of the object store.
    pub(crate) fn of_place(place: &str, error: &object_store::Error) -> Self {
        Self::Unavailable { place: place.to_owned(), reason: chain(error) }
    }
}

/// An error with its sources, as far as they say something new.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}
