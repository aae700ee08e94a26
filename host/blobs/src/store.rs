//! The blobs of a host.

use std::{ops::Range, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use object_store::{
    Attribute, Attributes, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _,
    path::Path, signer::Signer,
};
use segno_core::{
    id::{Digest, PromiseId},
    time::Timestamp,
};
use segno_env::Env;

use super::{
    BlobCheck, BlobError, BlobReference, BlobSettings, BlobUpload,
    key::{BlobKeys, checked_type},
    place::OpenedPlace,
    reference::blob_id,
};

/// Size of the pieces of a file, in bytes.
const FILE_PIECE: u64 = 256 << 10;

/// The blobs of a host. Cheap to clone.
#[derive(Clone)]
pub struct BlobStore(Arc<BlobStoreState>);

struct BlobStoreState {
    /// The place, as it is shown.
    place: String,
    objects: Arc<dyn ObjectStore>,
    signer: Option<Arc<dyn Signer>>,
    directory: Option<PathBuf>,
    keys: BlobKeys,
    settings: BlobSettings,
    env: Env,
}

/// A blob and the instant when it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
    pub blob: BlobReference,
    pub stored_at: Timestamp,
}

impl std::fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BlobStore").field(&self.0.place).finish()
    }
}

impl BlobStore {
    pub(crate) fn new(
        place: String,
        opened: OpenedPlace,
        settings: BlobSettings,
        env: Env,
    ) -> Self {
        let OpenedPlace { objects, signer, directory, keys } = opened;
        let state = BlobStoreState { place, objects, signer, directory, keys, settings, env };
        Self(Arc::new(state))
    }

    /// Blobs in memory, for tests.
    pub fn in_memory(bytes_max: u64, env: Env) -> Self {
        let opened = OpenedPlace {
            objects: Arc::new(object_store::memory::InMemory::new()),
            signer: None,
            directory: None,
            keys: BlobKeys::new(Path::default()),
        };
        let settings = BlobSettings { bytes_max, presign: false };
        Self::new("memory".to_owned(), opened, settings, env)
    }

    /// The place, as it is shown.
    pub fn place(&self) -> &str {
        &self.0.place
    }

    /// Maximum size of a blob, in bytes.
    pub fn bytes_max(&self) -> u64 {
        self.0.settings.bytes_max
    }

    pub(crate) fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.0.objects
    }

    pub(crate) fn keys(&self) -> &BlobKeys {
        &self.0.keys
    }

    pub(crate) fn env(&self) -> &Env {
        &self.0.env
    }

    pub(crate) fn directory(&self) -> Option<&PathBuf> {
        self.0.directory.as_ref()
    }

    pub(crate) fn failed(&self, error: &object_store::Error) -> BlobError {
        BlobError::of_place(&self.0.place, error)
    }

    /// Attributes that the store keeps beside the content: the type, which readers of a signed
    /// address receive. Empty for a directory.
    pub(crate) fn attributes(&self, content_type: &str) -> Attributes {
        match self.0.directory {
            Some(_) => Attributes::new(),
            None => Attributes::from_iter([(Attribute::ContentType, content_type.to_owned())]),
        }
    }

    /// Begins a blob.
    ///
    /// # Errors
    /// [`BlobError::ContentType`], [`BlobError::LongId`].
    pub fn create(&self, owner: PromiseId, content_type: &str) -> Result<BlobUpload, BlobError> {
        checked_type(content_type)?;
        self.0.keys.owner(&owner)?;
        Ok(BlobUpload::new(self.clone(), owner, content_type.to_owned()))
    }

    /// Finds a blob by its content.
    ///
    /// # Errors
    /// [`BlobError::Absent`], [`BlobError::Damaged`], [`BlobError::Unavailable`].
    pub async fn find(&self, owner: &PromiseId, digest: Digest) -> Result<StoredBlob, BlobError> {
        let folder = self.0.keys.digest(owner, digest)?;
        let absent = || BlobError::Absent(blob_id(owner, digest));
        let found = self.listed(&folder).next().await.ok_or_else(absent)??;
        let (stored, size) = found;
        checked_size(&stored.blob, size)?;
        Ok(stored)
    }

    /// The blobs of an owner, at most `limit`, by digest.
    ///
    /// # Errors
    /// [`BlobError::LongId`], [`BlobError::Unavailable`].
    pub async fn list(
        &self,
        owner: &PromiseId,
        limit: usize,
    ) -> Result<Vec<StoredBlob>, BlobError> {
        let folder = self.0.keys.owner(owner)?;
        let listed = self.listed(&folder).map_ok(|(stored, _)| stored);
        // A longer id has its folder inside of this one if both are long.
        let of_owner =
            listed.try_filter(|stored| futures::future::ready(stored.blob.owner == *owner));
        let mut found: Vec<_> = of_owner.take(limit).try_collect().await?;
        found.sort_by_key(|stored| stored.blob.digest);
        Ok(found)
    }

    /// Reads a range of a blob, in pieces. The range ends within the blob.
    ///
    /// # Errors
    /// [`BlobError::Absent`], [`BlobError::Damaged`] if the size is wrong,
    /// [`BlobError::Unavailable`].
    pub async fn read(
        &self,
        blob: &BlobReference,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        let key = self.0.keys.blob(blob)?;
        let is_part = !range.is_empty() && range != (0..blob.bytes);
        let options = GetOptions::new()
            .with_range(is_part.then(|| GetRange::Bounded(range.clone())))
            .with_head(range.is_empty());
        let got = match self.0.objects.get_opts(&key, options).await {
            Ok(got) => got,
            Err(object_store::Error::NotFound { .. }) => return Err(BlobError::Absent(blob.id())),
            Err(error) => {
                // A file that was cut may end before the range.
                let size = self.0.objects.head(&key).await.map(|found| found.size);
                if let Ok(size) = size {
                    checked_size(blob, size)?;
                }
                return Err(self.failed(&error));
            }
        };
        checked_size(blob, got.meta.size)?;
        if range.is_empty() {
            return Ok(futures::stream::empty().boxed());
        }
        let store = self.clone();
        match self.0.directory {
            // The library reads a file by 8 KiB, each on another thread.
            Some(_) => Ok(store.file_pieces(key, range)),
            None => Ok(got.into_stream().map_err(move |error| store.failed(&error)).boxed()),
        }
    }

    /// A range of a file, in pieces.
    fn file_pieces(
        self,
        key: Path,
        range: Range<u64>,
    ) -> BoxStream<'static, Result<Bytes, BlobError>> {
        let pieces = futures::stream::try_unfold(range.start, move |at| {
            let (store, key) = (self.clone(), key.clone());
            let next = range.end.min(at + FILE_PIECE);
            async move {
                if at == next {
                    return Ok(None);
                }
                let piece = store.0.objects.get_range(&key, at..next).await;
                let piece = piece.map_err(|error| store.failed(&error))?;
                Ok(Some((piece, next)))
            }
        });
        pieces.boxed()
    }

    /// Reads a range into memory.
    ///
    /// # Errors
    /// As [`BlobStore::read`].
    pub async fn read_bytes(
        &self,
        blob: &BlobReference,
        range: Range<u64>,
    ) -> Result<Vec<u8>, BlobError> {
        let mut pieces = self.read(blob, range).await?;
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.next().await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(bytes)
    }

    /// Reads a whole blob, in pieces. Damage is told in place of the last piece, so a reader that
    /// has everything has what was written.
    ///
    /// # Errors
    /// As [`BlobStore::read`].
    pub async fn read_whole(
        &self,
        blob: &BlobReference,
    ) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        let pieces = self.read(blob, 0..blob.bytes).await?;
        let state = (pieces, BlobCheck::new(blob.clone()), 0_u64, false);
        let checked =
            futures::stream::unfold(state, |(mut pieces, mut check, at, ended)| async move {
                if ended {
                    return None;
                }
                let piece = match pieces.next().await? {
                    Ok(piece) => piece,
                    Err(error) => return Some((Err(error), (pieces, check, at, true))),
                };
                let checked = check.add(at, &piece);
                let next = at + piece.len() as u64;
                let failed = checked.is_err();
                Some((checked.map(|()| piece), (pieces, check, next, failed)))
            });
        Ok(checked.boxed())
    }

    /// Removes a blob. Returns false if there is none.
    ///
    /// # Errors
    /// [`BlobError::LongId`], [`BlobError::Unavailable`].
    pub async fn remove(&self, owner: &PromiseId, digest: Digest) -> Result<bool, BlobError> {
        let folder = self.0.keys.digest(owner, digest)?;
        let listed: Vec<ObjectMeta> = self.objects_in(&folder).try_collect().await?;
        for object in &listed {
            self.delete(&object.location).await?;
        }
        Ok(!listed.is_empty())
    }

    /// A signed address of a blob. `None` if this place gives none out.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`].
    pub async fn presign(
        &self,
        blob: &BlobReference,
        lasts: Duration,
    ) -> Result<Option<String>, BlobError> {
        let Some(signer) = self.0.signer.as_ref().filter(|_| self.0.settings.presign) else {
            return Ok(None);
        };
        let key = self.0.keys.blob(blob)?;
        let signed = signer.signed_url("GET".parse().expect("a method"), &key, lasts).await;
        signed.map(|url| Some(url.to_string())).map_err(|error| self.failed(&error))
    }

    /// Deletes an object, which may be gone already.
    pub(crate) async fn delete(&self, key: &Path) -> Result<(), BlobError> {
        match self.0.objects.delete(key).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// The objects in a folder.
    pub(crate) fn objects_in(
        &self,
        folder: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta, BlobError>> {
        let store = self.clone();
        let folder = Some(folder).filter(|folder| !folder.as_ref().is_empty());
        self.0.objects.list(folder).map_err(move |error| store.failed(&error)).boxed()
    }

    /// The blobs in a folder, with the sizes that they have.
    fn listed(&self, folder: &Path) -> BoxStream<'static, Result<(StoredBlob, u64), BlobError>> {
        let keys = self.0.keys.clone();
        let stored = move |object: ObjectMeta| {
            let blob = keys.parse(&object.location)?;
            let stored_at = Timestamp(object.last_modified.timestamp_millis());
            Some((StoredBlob { blob, stored_at }, object.size))
        };
        self.objects_in(folder)
            .try_filter_map(move |object| futures::future::ready(Ok(stored(object))))
            .boxed()
    }
}

/// Compares the size of an object with that of its blob.
fn checked_size(blob: &BlobReference, size: u64) -> Result<(), BlobError> {
    if size == blob.bytes {
        return Ok(());
    }
    let reason = format!("it has {size} of {} bytes", blob.bytes);
    Err(BlobError::Damaged { id: blob.id(), reason })
}
