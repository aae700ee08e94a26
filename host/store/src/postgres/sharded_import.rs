//! Imports an archive into several databases.

use std::sync::Arc;

use segno_core::config::Config;
use segno_env::Env;

use super::{PostgresConfig, PostgresImport, ShardedStore};
use crate::{
    Hints, Store as _,
    archive::{ArchiveError, ArchiveSource},
};

/// An import into a new store of several databases. The first one has all rows until the import is
/// kept. Dropping it before [`keep`](Self::keep) rolls everything back.
pub struct ShardedImport {
    first: PostgresImport,
    configs: Vec<PostgresConfig>,
}

impl ShardedImport {
    /// Imports an archive into empty databases.
    ///
    /// # Errors
    /// [`ArchiveError`]; the databases are then unchanged.
    pub async fn from_source(
        configs: Vec<PostgresConfig>,
        env: &Env,
        from: &mut dyn ArchiveSource,
    ) -> Result<Self, ArchiveError> {
        let checked = ShardedStore::check_new(&configs, env).await;
        checked.map_err(|error| ArchiveError::Place(error.to_string()))?;
        let first = PostgresImport::from_source(&configs[0], env, from).await?;
        Ok(Self { first, configs })
    }

    /// The imported rows.
    pub fn scan(&self) -> &PostgresImport {
        &self.first
    }

    /// Commits the imported store, and deals its shards to all databases.
    ///
    /// # Errors
    /// Fails if a database refused. Everything that was committed is then in the store.
    pub async fn keep(self, env: Env, hints: Arc<dyn Hints>) -> Result<(), ArchiveError> {
        let Self { first, configs } = self;
        first.keep().await?;
        let opened = ShardedStore::open(configs, Config::default(), env, hints).await;
        let store = opened.map_err(|error| ArchiveError::NotBalanced(error.into()))?;
        let moved = store.move_shards(&store.shards().balanced(), |_, _, _| {}).await;
        store.close().await;
        moved.map_err(|error| ArchiveError::NotBalanced(error.into()))
    }
}
