//! Removal of the blobs of an owner, and what is needed to find owners that are gone.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use segno_core::{id::PromiseId, time::Timestamp};

use super::{BlobError, BlobStore, key::UPLOADS, local};

/// An owner, and the instant when its newest blob was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerAge {
    pub owner: PromiseId,
    pub newest: Timestamp,
}

impl BlobStore {
    /// Removes the blobs of an owner that were stored at `until` or earlier. Returns their number.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`]: some may be removed.
    pub async fn remove_owner(
        &self,
        owner: &PromiseId,
        until: Timestamp,
    ) -> Result<u64, BlobError> {
        let folder = match self.keys().owner(owner) {
            Ok(folder) => folder,
            // It never had any.
            Err(BlobError::LongId(_)) => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut removed = 0;
        let mut objects = self.objects_in(&folder);
        while let Some(object) = objects.next().await {
            let object = object?;
            let is_its = self.keys().parse(&object.location).is_some_and(|it| it.owner == *owner);
            if is_its && Timestamp(object.last_modified.timestamp_millis()) <= until {
                self.delete(&object.location).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// All owners.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`].
    pub async fn owners(&self) -> Result<Vec<OwnerAge>, BlobError> {
        let mut owners: BTreeMap<PromiseId, Timestamp> = BTreeMap::new();
        let mut objects = self.objects_in(self.keys().prefix());
        while let Some(object) = objects.next().await {
            let object = object?;
            let Some(blob) = self.keys().parse(&object.location) else { continue };
            let stored_at = Timestamp(object.last_modified.timestamp_millis());
            let newest = owners.entry(blob.owner).or_insert(stored_at);
            *newest = stored_at.max(*newest);
        }
        Ok(owners.into_iter().map(|(owner, newest)| OwnerAge { owner, newest }).collect())
    }

    /// Removes uploads that did not end and that were last written before `before`. Returns their
    /// number.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`].
    pub async fn remove_uploads(&self, before: Timestamp) -> Result<u64, BlobError> {
        let mut removed = 0;
        let mut objects = self.objects_in(&self.keys().prefix().clone().join(UPLOADS));
        while let Some(object) = objects.next().await {
            let object = object?;
            if Timestamp(object.last_modified.timestamp_millis()) < before {
                self.delete(&object.location).await?;
                removed += 1;
            }
        }
        if let Some(directory) = self.directory().cloned() {
            let work = move || local::remove_uploads(&directory, before);
            let files = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string());
            removed += files.and_then(|found| found.map_err(|error| error.to_string())).map_err(
                |reason| BlobError::Unavailable { place: self.place().to_owned(), reason },
            )?;
        }
        Ok(removed)
    }
}
