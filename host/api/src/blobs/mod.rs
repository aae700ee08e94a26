//! Blobs of an execution: upload, download by ranges, list and removal. Bodies pass through in
//! pieces and never stand in memory whole.

pub(crate) mod download;
pub(crate) mod list;
mod range;
pub(crate) mod upload;

use segno_blobs::{BlobReference, BlobStore};
use segno_core::id::{Digest, PromiseId};

use super::{
    Api, ApiError,
    model::BlobView,
    state::{new_id, promise_id},
};

impl Api {
    /// The place for blobs.
    fn blobs(&self) -> Result<&BlobStore, ApiError> {
        self.host.blobs().ok_or(ApiError::NoBlobs)
    }

    /// The owner of the blobs of an execution: the root of its tree. An execution that does not
    /// exist yet is a root, if it can exist.
    async fn blob_owner(&self, id: String) -> Result<PromiseId, ApiError> {
        let id = promise_id(id)?;
        match self.host.store.read().promise(&id).await? {
            Some(row) => Ok(row.promise.blob_owner()),
            None => {
                let id = new_id(id.as_str().to_owned())?;
                Ok(id.generation_of().map_or(id, |(first, _)| first))
            }
        }
    }
}

/// The digest in a path.
fn digest(text: &str) -> Result<Digest, ApiError> {
    text.parse().map_err(|error| ApiError::BadPath(format!("{error}")))
}

/// The wire form of a reference.
fn view(blob: &BlobReference) -> BlobView {
    BlobView { id: blob.id(), bytes: blob.bytes, content_type: blob.content_type.clone() }
}
