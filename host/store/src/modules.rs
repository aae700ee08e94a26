//! Modules: components under their digests.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{id::Digest, time::Timestamp};

use super::{ModuleRow, StoreError};

/// The modules of a store.
#[async_trait]
pub trait Modules: Send + Sync {
    /// Keeps a component under its digest. Keeping it twice is the same as once.
    async fn put(
        &self,
        digest: Digest,
        component: Arc<[u8]>,
        description: String,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The component with this digest.
    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError>;

    /// Every module with its aliases.
    async fn list(&self) -> Result<Vec<ModuleRow>, StoreError>;

    /// Unfinished executions of each module that has any, counted up to [`super::COUNTED`]; for
    /// display.
    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError>;

    /// Removes a module that was uploaded before `before`, and that no alias and no task refers to.
    /// Returns whether it was removed.
    async fn remove(&self, digest: Digest, before: Timestamp) -> Result<bool, StoreError>;
}
