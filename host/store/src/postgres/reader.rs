//! The reading connections, and the few writes that need no batch.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    id::{Digest, PromiseId},
    time::{Millis, Timestamp},
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Postgres};

use super::{
    connection_pool::{BorrowedConnection, ConnectionPool},
    failure::FailureClass,
    fields::escape,
    large_values,
    session::NoUnmergedJournals,
    statement::query,
};
use crate::{
    ModuleRow, Modules, NewModule, StoreError,
    sql::{
        self,
        read::{self, failed},
    },
};

/// Storing a component again keeps the existing row.
const PUT_COMPONENT: &str = "
    INSERT INTO modules (digest, created_at, description, component, shared, limits, runs, runtime) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT DO NOTHING";

const SAME_AS_BEFORE: &str = "
    UPDATE hosts SET incarnation = incarnation WHERE node = (SELECT node FROM hosts ORDER BY node LIMIT 1)";

const REMOVE_COMPONENT: &str = "
    DELETE FROM modules
     WHERE digest = $1 AND created_at <= $2
       AND NOT EXISTS (SELECT 1 FROM aliases WHERE module = modules.n)
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE module = modules.n)
       AND NOT EXISTS (SELECT 1 FROM modules AS other WHERE other.runtime = modules.digest)";

pub(super) type Reader = read::Reader<Postgres>;

impl Reader {
    /// A reader that uses `pool`.
    pub(super) fn over(pool: ConnectionPool) -> Self {
        Self { pool, unmerged: NoUnmergedJournals }
    }

    /// Takes a connection; errors name the statement.
    async fn acquired(&self, name: &'static str) -> Result<BorrowedConnection, StoreError> {
        self.pool.acquire().await.map_err(failed::<Postgres, _>(name))
    }

    /// Commits a row unchanged, to test if writes succeed.
    pub(super) async fn try_writing(&self) -> Result<(), StoreError> {
        let name = "try to write";
        let failed = failed::<Postgres, sqlx::Error>(name);
        let mut waited = Millis::ZERO;
        loop {
            let mut connection = self.acquired(name).await?;
            let written = match connection.execute(SAME_AS_BEFORE).await {
                Ok(_) => connection.finish().await,
                Err(error) => Err(error),
            };
            match written.map_err(&failed) {
                Err(StoreError::Conflict) if self.pool.pause(&mut waited).await => {}
                written => return written,
            }
        }
    }

    /// Deletes everything except modules, aliases and hosts.
    pub(super) async fn wipe(&self) -> Result<(), StoreError> {
        let mut waited = Millis::ZERO;
        loop {
            match self.wipe_once().await {
                Err(StoreError::Conflict) if self.pool.pause(&mut waited).await => {}
                wiped => return wiped,
            }
        }
    }

    /// Deletes unused chunks of values among those that follow `digest`.
    pub(super) async fn sweep(&self, digest: Digest) -> Result<(), StoreError> {
        let name = "sweep chunks of values";
        let mut connection = self.acquired(name).await?;
        match large_values::sweep(&mut connection, digest).await {
            Ok(()) => connection.finish().await.map_err(failed::<Postgres, _>(name)),
            // A chunk of the page is used at this moment: another round finds the others.
            Err(statement) if statement.cause() == FailureClass::Race => Ok(()),
            Err(statement) => Err(failed::<Postgres, _>(name)(statement.source)),
        }
    }

    async fn wipe_once(&self) -> Result<(), StoreError> {
        let name = "forget everything";
        let failed = failed::<Postgres, sqlx::Error>(name);
        let mut connection = self.acquired(name).await?;
        let mut transaction = connection.begin().await.map_err(&failed)?;
        let crossings = "DELETE FROM crossings".to_owned();
        for statement in sql::wipe().chain([crossings]) {
            transaction.execute(AssertSqlSafe(statement)).await.map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)?;
        connection.finish().await.map_err(&failed)
    }

    async fn put_once(&self, module: &NewModule) -> Result<(), StoreError> {
        let name = "keep a component";
        let failed = failed::<Postgres, sqlx::Error>(name);
        let [shared, limits, runs] = sql::module_facts_cells(&module.facts);
        let mut connection = self.acquired(name).await?;
        let query = query(&connection, PUT_COMPONENT)
            .bind(module.digest.0.to_vec())
            .bind(module.created_at.0)
            .bind(escape(&module.description))
            .bind(&module.component[..])
            .bind(shared)
            .bind(limits)
            .bind(runs)
            .bind(module.runtime().map(|runtime| runtime.0.to_vec()));
        connection.execute(query).await.map_err(&failed)?;
        connection.finish().await.map_err(&failed)
    }

    async fn remove_once(&self, digest: Digest, before: Timestamp) -> Result<bool, StoreError> {
        let name = "remove a component";
        let failed = failed::<Postgres, sqlx::Error>(name);
        let mut connection = self.acquired(name).await?;
        let query = query(&connection, REMOVE_COMPONENT).bind(digest.0.to_vec()).bind(before.0);
        match connection.execute(query).await {
            Ok(done) => {
                connection.finish().await.map_err(&failed)?;
                Ok(done.rows_affected() > 0)
            }
            Err(sqlx::Error::Database(error)) if error.is_foreign_key_violation() => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }
}

#[async_trait]
impl Modules for Reader {
    async fn put(&self, module: NewModule) -> Result<(), StoreError> {
        let mut waited = Millis::ZERO;
        loop {
            match self.put_once(&module).await {
                Err(StoreError::Conflict) if self.pool.pause(&mut waited).await => {}
                put => return put,
            }
        }
    }

    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.component(digest).await
    }

    async fn named(&self, alias: &str) -> Result<Option<Digest>, StoreError> {
        self.module_named(alias).await
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

    /// A reference that is created concurrently wins: the module then stays.
    async fn remove(&self, digest: Digest, before: Timestamp) -> Result<bool, StoreError> {
        let mut waited = Millis::ZERO;
        loop {
            match self.remove_once(digest, before).await {
                Err(StoreError::Conflict) if self.pool.pause(&mut waited).await => {}
                removed => return removed,
            }
        }
    }
}
