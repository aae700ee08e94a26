//! Modules: components keyed by digest.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    id::{Digest, PromiseId},
    object::ModuleFacts,
    source_module::SourceModule,
    time::Timestamp,
};

use super::{ModuleRow, StoreError};

/// A module to store.
#[derive(Debug, Clone)]
pub struct NewModule {
    pub digest: Digest,
    pub component: Arc<[u8]>,
    /// The component's self-description, for people, as JSON.
    pub description: String,
    /// The facts about the module that decisions use.
    pub facts: ModuleFacts,
    /// Upload time.
    pub created_at: Timestamp,
}

impl NewModule {
    /// A component without a description.
    pub fn plain(digest: Digest, component: Arc<[u8]>, created_at: Timestamp) -> Self {
        let (description, facts) = ("{}".to_owned(), ModuleFacts::default());
        Self { digest, component, description, facts, created_at }
    }

    /// The stored component that runs it. `None` if it is a component itself.
    pub fn runtime(&self) -> Option<Digest> {
        SourceModule::runtime_of(&self.component)
    }
}

/// The modules of a store.
#[async_trait]
pub trait Modules: Send + Sync {
    /// Stores a component or a source module under its digest. Idempotent. The runtime of a source
    /// module must be stored.
    async fn put(&self, module: NewModule) -> Result<(), StoreError>;

    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError>;

    /// The digest that an alias refers to.
    async fn named(&self, alias: &str) -> Result<Option<Digest>, StoreError>;

    /// All modules with their aliases.
    async fn list(&self) -> Result<Vec<ModuleRow>, StoreError>;

    /// Number of unfinished executions of each module that has any, counted up to
    /// [`super::COUNTED`]; for display.
    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError>;

    /// Unfinished executions of a module, oldest first, at most `limit`.
    async fn unfinished(&self, digest: Digest, limit: u32) -> Result<Vec<PromiseId>, StoreError>;

    /// Removes a module that was uploaded before `before` and that no alias, no task and no source
    /// module refers to.
    /// Returns true if it was removed.
    async fn remove(&self, digest: Digest, before: Timestamp) -> Result<bool, StoreError>;
}
