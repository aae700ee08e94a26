//! The connections that read, and the few writes that need no batch.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use segno_core::{
    id::{Digest, PromiseId},
    time::Timestamp,
};
use sqlx::{
    AssertSqlSafe, Executor as _, Postgres,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::{fields::escape, session::NoneUnmerged};
use crate::{
    ModuleRow, Modules, NewModule, StoreError,
    sql::{
        self,
        read::{self, failed},
    },
};

/// The longest wait of a read for a connection: for a free one, or for a database that is away.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// A component once more is the same one.
const PUT_COMPONENT: &str = "
    INSERT INTO modules (digest, created_at, description, component, shared, limits, runs) VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT DO NOTHING";

const SAME_AS_BEFORE: &str = "
    UPDATE hosts SET incarnation = incarnation WHERE node = (SELECT node FROM hosts ORDER BY node LIMIT 1)";

const REMOVE_COMPONENT: &str = "
    DELETE FROM modules
     WHERE digest = $1 AND created_at <= $2
       AND NOT EXISTS (SELECT 1 FROM aliases WHERE module = modules.n)
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE module = modules.n)";

/// The connections that read.
pub(super) type Reader = read::Reader<Postgres>;

impl Reader {
    /// Connections are made when they are first needed.
    pub(super) fn over(options: PgConnectOptions, connections: u32) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .idle_timeout(Duration::from_secs(60))
            .connect_lazy_with(options);
        Self { pool, unmerged: NoneUnmerged }
    }

    /// Commits a row that says what it said before.
    pub(super) async fn try_writing(&self) -> Result<(), StoreError> {
        self.pool
            .execute(SAME_AS_BEFORE)
            .await
            .map(drop)
            .map_err(failed::<Postgres, _>("try to write"))
    }

    /// Forgets everything but modules, aliases and hosts.
    pub(super) async fn wipe(&self) -> Result<(), StoreError> {
        let failed = failed::<Postgres, sqlx::Error>("forget everything");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        for statement in sql::wipe() {
            transaction.execute(AssertSqlSafe(statement)).await.map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)
    }
}

#[async_trait]
impl Modules for Reader {
    async fn put(&self, module: NewModule) -> Result<(), StoreError> {
        let [shared, limits, runs] = sql::module_facts_cells(&module.facts);
        let query = sqlx::query(PUT_COMPONENT)
            .bind(module.digest.0.to_vec())
            .bind(module.created_at.0)
            .bind(escape(&module.description))
            .bind(&module.component[..])
            .bind(shared)
            .bind(limits)
            .bind(runs);
        self.pool.execute(query).await.map(drop).map_err(failed::<Postgres, _>("keep a component"))
    }

    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.component(digest).await
    }

    async fn list(&self) -> Result<Vec<ModuleRow>, StoreError> {
        self.modules().await
    }

    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        self.in_use().await
    }

    async fn unfinished(&self, digest: Digest, limit: u32) -> Result<Vec<PromiseId>, StoreError> {
        self.unfinished(digest, limit).await
    }

    /// A reference that is made at the same time wins.
    async fn remove(&self, digest: Digest, before: Timestamp) -> Result<bool, StoreError> {
        let query = sqlx::query(REMOVE_COMPONENT).bind(digest.0.to_vec()).bind(before.0);
        match self.pool.execute(query).await {
            Ok(done) => Ok(done.rows_affected() > 0),
            Err(sqlx::Error::Database(error)) if error.is_foreign_key_violation() => Ok(false),
            Err(error) => Err(failed::<Postgres, _>("remove a component")(error)),
        }
    }
}
