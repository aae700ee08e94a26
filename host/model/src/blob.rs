//! Blobs: large values that are passed by reference.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The reference of a blob. It is passed as any value, or as a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlobView {
    /// `INVOCATION/blob/DIGEST`: the execution that owns the blob, and the SHA-256 of the content.
    #[serde(rename = "segno:blob")]
    pub id: String,
    /// Size of the content.
    pub bytes: u64,
    /// Content type.
    pub content_type: String,
}

/// A blob of an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedBlob {
    /// Its reference.
    #[serde(flatten)]
    pub blob: BlobView,
    /// Instant when it was stored.
    pub stored_at_ms: i64,
}

/// The blobs of an invocation, by digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlobList {
    /// The blobs, at most 10,000.
    pub blobs: Vec<ListedBlob>,
    /// True if there are more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// Options of reading a blob.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BlobQuery {
    /// Answers with an address of the object store that is valid for this number of seconds, in place
    /// of the content. Only for hosts that were started with `--presign`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 604_800)]
    pub presign: Option<u32>,
}

/// A signed address of a blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlobAddress {
    /// The address, which needs no token.
    pub url: String,
    /// Instant until which it is valid.
    pub expires_at_ms: i64,
}
