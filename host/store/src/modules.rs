//! Modules: components under their digests.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    id::{Digest, PromiseId},
    object::ModuleFacts,
    time::Timestamp,
};

use super::{ModuleRow, StoreError};

/// A module to keep.
#[derive(Debug, Clone)]
pub struct NewModule {
    /// The digest of the component.
    pub digest: Digest,
    /// The component.
    pub component: Arc<[u8]>,
    /// What it says of itself, for people, as JSON.
    pub description: String,
    /// What decisions know of it.
    pub facts: ModuleFacts,
    /// When it was uploaded.
    pub created_at: Timestamp,
}

impl NewModule {
    /// A component that says nothing of itself.
    pub fn plain(digest: Digest, component: Arc<[u8]>, created_at: Timestamp) -> Self {
        let (description, facts) = ("{}".to_owned(), ModuleFacts::default());
        Self { digest, component, description, facts, created_at }
    }
}

/// The modules of a store.
#[async_trait]
pub trait Modules: Send + Sync {
    /// Keeps a component under its digest. Keeping it twice is the same as once.
    async fn put(&self, module: NewModule) -> Result<(), StoreError>;

    /// The component with this digest.
    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError>;

    /// The module for which an alias stands.
    async fn named(&self, alias: &str) -> Result<Option<Digest>, StoreError>;

    /// Every module with its aliases.
    async fn list(&self) -> Result<Vec<ModuleRow>, StoreError>;

    /// Unfinished executions of each module that has any, counted up to [`super::COUNTED`]; for
    /// display.
    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError>;

    /// Unfinished executions of a module, those that were made first before others, at most `limit`.
    async fn unfinished(&self, digest: Digest, limit: u32) -> Result<Vec<PromiseId>, StoreError>;

    /// Removes a module that was uploaded before `before`, and that no alias and no task refers to.
    /// Returns whether it was removed.
    async fn remove(&self, digest: Digest, before: Timestamp) -> Result<bool, StoreError>;
}
