//! An upload: hashed while it passes, and visible when it is whole.

use object_store::{
    ObjectStore as _, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload,
    WriteMultipart, path::Path,
};
use segno_core::id::{Digest, PromiseId};
use sha2::{Digest as _, Sha256};

use super::{BlobError, BlobReference, BlobStore};

/// Size of a part, in bytes; the smallest that S3 accepts. A smaller blob is one request.
const PART: usize = 5 << 20;
/// Maximum number of parts in transfer.
const PARTS_SENT: usize = 1;

/// A blob that is being written. Dropped, it leaves nothing.
pub struct BlobUpload {
    store: BlobStore,
    owner: PromiseId,
    content_type: String,
    hasher: Sha256,
    bytes: u64,
    /// What has not been sent.
    gathered: Vec<u8>,
    /// Parts that were sent, under a key that no reader has.
    staged: Option<StagedUpload>,
}

struct StagedUpload {
    key: Path,
    parts: WriteMultipart,
}

impl BlobUpload {
    pub(crate) fn new(store: BlobStore, owner: PromiseId, content_type: String) -> Self {
        let (hasher, gathered, staged) = (Sha256::new(), Vec::new(), None);
        Self { store, owner, content_type, hasher, bytes: 0, gathered, staged }
    }

    /// Number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds bytes. Waits while parts are in transfer.
    ///
    /// # Errors
    /// [`BlobError::TooLarge`], [`BlobError::Unavailable`]. The writer is of no use then.
    pub async fn write(&mut self, piece: &[u8]) -> Result<(), BlobError> {
        let limit = self.store.bytes_max();
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        if self.bytes > limit {
            return Err(BlobError::TooLarge { limit });
        }
        self.hasher.update(piece);
        let mut rest = piece;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(PART - self.gathered.len()));
            self.gathered.extend_from_slice(now);
            rest = later;
            if self.gathered.len() == PART {
                self.send().await?;
            }
        }
        Ok(())
    }

    /// Stores the blob. Refuses content with another digest than `announced`.
    ///
    /// # Errors
    /// [`BlobError::WrongDigest`], [`BlobError::Unavailable`].
    pub async fn finish(mut self, announced: Option<Digest>) -> Result<BlobReference, BlobError> {
        let actual = Digest(self.hasher.clone().finalize().into());
        if let Some(announced) = announced.filter(|announced| *announced != actual) {
            return Err(BlobError::WrongDigest { announced, actual });
        }
        let blob = BlobReference {
            owner: self.owner.clone(),
            digest: actual,
            bytes: self.bytes,
            content_type: self.content_type.clone(),
        };
        let key = self.store.keys().blob(&blob)?;
        if self.staged.is_some() && !self.gathered.is_empty() {
            self.send().await?;
        }
        let store = self.store.clone();
        let failed = |error: object_store::Error| store.failed(&error);
        match self.staged.take() {
            None => {
                let payload = PutPayload::from(std::mem::take(&mut self.gathered));
                let attributes = store.attributes(&self.content_type);
                let options = PutOptions { attributes, ..PutOptions::default() };
                store.objects().put_opts(&key, payload, options).await.map_err(failed)?;
            }
            Some(staged) => {
                staged.parts.finish().await.map_err(failed)?;
                if let Err(error) = store.objects().rename(&staged.key, &key).await {
                    // The sweep removes it otherwise.
                    let _ = store.delete(&staged.key).await;
                    return Err(failed(error));
                }
            }
        }
        Ok(blob)
    }

    /// Sends what is gathered.
    async fn send(&mut self) -> Result<(), BlobError> {
        let store = self.store.clone();
        let failed = |error: object_store::Error| store.failed(&error);
        if self.staged.is_none() {
            let key = store.keys().upload(store.env().runtime.nonce());
            let attributes = store.attributes(&self.content_type);
            let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
            let upload = store.objects().put_multipart_opts(&key, options).await.map_err(failed)?;
            let parts = WriteMultipart::new_with_chunk_size(upload, PART);
            self.staged = Some(StagedUpload { key, parts });
        }
        let StagedUpload { parts, .. } = self.staged.as_mut().expect("it was begun above");
        parts.wait_for_capacity(PARTS_SENT).await.map_err(failed)?;
        let part = std::mem::replace(&mut self.gathered, Vec::with_capacity(PART));
        parts.put(part.into());
        Ok(())
    }
}

impl Drop for BlobUpload {
    fn drop(&mut self) {
        let Some(staged) = self.staged.take() else { return };
        let abort = async move {
            if let Err(error) = staged.parts.abort().await {
                tracing::warn!(%error, "an upload that ended early was not removed");
            }
        };
        self.store.env().runtime.spawn("blob abort", Box::pin(abort));
    }
}
