//! Finishes what a host left in the middle: transactions over several databases, and moves of
//! shards.
//!
//! Every host of the store looks for them. A prepared transaction is in doubt when it is older than
//! a commit takes. The database that decides it tells its outcome. If it has none yet, a row there
//! says that the transaction does not commit, and keeps the host that began it from committing late.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, atomic::Ordering},
};

use segno_core::{
    shard::{DatabaseIndex, ShardMap},
    time::Millis,
};
use segno_env::{Clock as _, Env};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _};
use tokio_util::sync::CancellationToken;

use super::{
    databases::{StoreDatabase, StoreDatabases},
    held::PrimaryConnection,
    shard_row::{self, PUT_MAP},
    time::DatabaseTime,
    transaction::SessionTransaction,
};
use crate::sql::SqlFailure;

/// Interval between two looks.
const PERIOD: Millis = Millis(1_000);
/// Age from which a prepared transaction is in doubt, in milliseconds.
const IN_DOUBT_MS: i64 = 2_000;
/// Age from which a decision is removed. No session keeps a transaction that long.
const DECIDED: Millis = Millis(60_000);
/// Time limit of a look at one database.
const LOOK_TIMEOUT: Millis = Millis(10_000);

/// The transactions of a store that are prepared in a database, with their age.
const PREPARED: &str = "
    SELECT gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint FROM pg_prepared_xacts
     WHERE database = current_database() AND starts_with(gid, $1)";

/// Decides that a transaction does not commit, unless it is decided already.
const REFUSE: &str = "
    INSERT INTO decisions (gid, committed, at)
    VALUES ($1, 0, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) ON CONFLICT (gid) DO NOTHING";

const OUTCOME: &str = "SELECT committed FROM decisions WHERE gid = $1";

const DECISIONS: &str = "
    SELECT gid FROM decisions
     WHERE starts_with(gid, $1) AND at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $2
     ORDER BY gid LIMIT 10000";

const FORGET: &str = "DELETE FROM decisions WHERE gid = ANY($1::text[])";

/// Name of a transaction over several databases. Its parts are prepared under the name, a dot and
/// the number of their database: databases of one server share the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TransactionName {
    /// The number of the store.
    pub(super) store: u64,
    /// The database that decides.
    pub(super) decided_by: DatabaseIndex,
    /// A random number.
    pub(super) nonce: u64,
}

impl fmt::Display for TransactionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, decided_by, nonce } = self;
        write!(f, "{}{decided_by}:{nonce:016x}", prefix(*store))
    }
}

impl TransactionName {
    /// The name under which the part in a database is prepared.
    pub(super) fn of_part(&self, database: DatabaseIndex) -> String {
        format!("{self}.{database}")
    }

    /// Reads the name of a prepared part of a store's transactions.
    fn of_prepared(text: &str, store: u64) -> Option<Self> {
        let (name, _) = text.strip_prefix(&prefix(store))?.rsplit_once('.')?;
        let (decided_by, nonce) = name.split_once(':')?;
        let nonce = u64::from_str_radix(nonce, 16).ok()?;
        Some(Self { store, decided_by: decided_by.parse().ok()?, nonce })
    }
}

/// The beginning of the names of a store.
fn prefix(store: u64) -> String {
    format!("segno:{store:016x}:")
}

/// Finishes what is in doubt, until the store is closed.
pub(super) struct InDoubtFinisher {
    databases: Arc<StoreDatabases>,
    time: Arc<DatabaseTime>,
    env: Env,
    closed: CancellationToken,
}

impl InDoubtFinisher {
    pub(super) fn start(
        databases: Arc<StoreDatabases>,
        time: Arc<DatabaseTime>,
        env: Env,
        closed: CancellationToken,
    ) {
        let runtime = env.runtime.clone();
        let count = databases.len();
        let finisher = Arc::new(Self { databases, time, env, closed });
        // A database that does not answer holds up nothing in the others.
        for database in 0..count {
            runtime.spawn("store in doubt", Box::pin(finisher.clone().watch(database)));
        }
        runtime.spawn("store moves", Box::pin(finisher.watch_moves()));
    }

    /// Finishes what is in doubt in a database, and reads its map, until the store is closed.
    async fn watch(self: Arc<Self>, database: DatabaseIndex) {
        let mut sessions = DatabaseSessions::new(&self.databases, &self.env);
        while self.is_next().await {
            self.databases.renew_from(database).await;
            // What was in doubt stays so while its database does not answer.
            if let Some(oldest) = self.finish(&mut sessions, database).await {
                self.databases.at(database).in_doubt.store(oldest.0, Ordering::Relaxed);
            }
        }
    }

    /// Gives up moves, and removes old decisions, until the store is closed.
    async fn watch_moves(self: Arc<Self>) {
        let mut cleaned_at = self.env.clock.now();
        let mut sessions = DatabaseSessions::new(&self.databases, &self.env);
        while self.is_next().await {
            self.end_move(&mut sessions).await;
            let now = self.env.clock.now();
            if now.since(cleaned_at) >= DECIDED {
                cleaned_at = self.clean(&mut sessions).await.map_or(cleaned_at, |()| now);
                self.repeat_map(&mut sessions).await;
            }
        }
    }

    /// Waits for the next look. False if the store is closed.
    async fn is_next(&self) -> bool {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => false,
            () = self.env.runtime.sleep(PERIOD) => true,
        }
    }

    /// Finishes what is in doubt in a database. Returns the age of the oldest transaction that is
    /// prepared and could not be finished. `None` if the database does not answer.
    async fn finish(
        &self,
        sessions: &mut DatabaseSessions<'_>,
        database: DatabaseIndex,
    ) -> Option<Millis> {
        let mut oldest = Millis::ZERO;
        for (text, age) in sessions.prepared(database).await? {
            if age < IN_DOUBT_MS {
                continue;
            }
            match self.finish_one(sessions, database, &text).await {
                Some(committed) => tracing::warn!(
                    of = self.databases.at(database).shown,
                    milliseconds = age,
                    "a transaction over several databases was left in the middle by its host; it is {}",
                    if committed { "committed" } else { "rolled back" }
                ),
                None => oldest = oldest.max(Millis(age)),
            }
        }
        Some(oldest)
    }

    /// Finishes a prepared transaction. Returns true if it is committed; `None` if it cannot be
    /// finished now.
    async fn finish_one(
        &self,
        sessions: &mut DatabaseSessions<'_>,
        database: DatabaseIndex,
        text: &str,
    ) -> Option<bool> {
        let name = TransactionName::of_prepared(text, self.databases.store)?;
        let committed = sessions.outcome(&name).await?;
        let verb = if committed { "COMMIT" } else { "ROLLBACK" };
        sessions.run(database, format!("{verb} PREPARED '{text}'")).await?;
        Some(committed)
    }

    /// Gives up the move of a shard whose mover is gone. A mover that is not gone holds a lock on
    /// the map.
    async fn end_move(&self, sessions: &mut DatabaseSessions<'_>) {
        let map = self.databases.shards();
        let Some(moves) = map.moving.clone() else { return };
        if self.time.now() < moves.until {
            return;
        }
        let Some(source) = map.places.get(usize::from(moves.shard)).copied().map(usize::from)
        else {
            return;
        };
        let map = ShardMap { epoch: map.epoch + 1, moving: None, ..(*map).clone() };
        // The source has the outcome of a move that may have committed: it decides.
        if sessions.put_map(source, &map).await != Some(true) {
            return;
        }
        for database in (0..self.databases.len()).filter(|database| *database != source) {
            if sessions.put_map(database, &map).await.is_none() {
                return;
            }
        }
        self.databases.shards.advance(map);
        tracing::warn!(
            shard = moves.shard,
            "the move of a shard did not end; the shard is where it was"
        );
    }

    /// Writes the map to databases that do not have it: one may have been away when it changed.
    async fn repeat_map(&self, sessions: &mut DatabaseSessions<'_>) {
        let map = self.databases.shards();
        for database in (0..self.databases.len()).filter(|_| map.moving.is_none()) {
            if sessions.put_map(database, &map).await == Some(true) {
                tracing::info!(
                    of = self.databases.at(database).shown,
                    "it has the current map of the shards now"
                );
            }
        }
    }

    /// Removes old decisions on transactions that are prepared nowhere. `None` if a database does
    /// not answer.
    async fn clean(&self, sessions: &mut DatabaseSessions<'_>) -> Option<()> {
        let mut kept = BTreeSet::new();
        let mut old = Vec::new();
        // Decisions first: what is decided after that is not among them.
        for database in 0..self.databases.len() {
            old.push(sessions.decisions(database).await?);
        }
        for database in 0..self.databases.len() {
            let prepared = sessions.prepared(database).await?;
            let of = |(part, _): (String, i64)| {
                TransactionName::of_prepared(&part, self.databases.store)
            };
            kept.extend(prepared.into_iter().filter_map(of).map(|name| name.to_string()));
        }
        for (database, mut names) in old.into_iter().enumerate() {
            names.retain(|name| !kept.contains(name));
            if !names.is_empty() {
                sessions.forget(database, names).await?;
            }
        }
        Some(())
    }
}

/// A connection to each database, opened when it is used.
pub(super) struct DatabaseSessions<'a> {
    databases: &'a StoreDatabases,
    env: &'a Env,
    open: Vec<Option<PrimaryConnection>>,
}

impl<'a> DatabaseSessions<'a> {
    pub(super) fn new(databases: &'a StoreDatabases, env: &'a Env) -> Self {
        Self { databases, env, open: databases.iter().map(|_| None).collect() }
    }

    async fn prepared(&mut self, database: DatabaseIndex) -> Option<Vec<(String, i64)>> {
        let names = prefix(self.databases.store);
        let rows = self
            .ask(database, async |connection| {
                let query = sqlx::query(PREPARED).persistent(false).bind(names);
                connection.fetch_all(query).await
            })
            .await?;
        rows.iter().map(|row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?))).collect()
    }

    /// True if a transaction is decided and still prepared somewhere. `None` if a database does not
    /// answer.
    pub(super) async fn has_decided(&mut self) -> Option<bool> {
        for database in 0..self.databases.len() {
            for (text, _) in self.prepared(database).await? {
                let name = TransactionName::of_prepared(&text, self.databases.store);
                let Some(name) = name.filter(|name| name.decided_by < self.databases.len()) else {
                    continue;
                };
                let outcome = self.ask(name.decided_by, async |connection| {
                    let outcome = sqlx::query(OUTCOME).persistent(false).bind(name.to_string());
                    let row = connection.fetch_optional(outcome).await?;
                    row.map(|row| row.try_get::<i16, _>(0)).transpose()
                });
                if outcome.await? == Some(1) {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// The names of the limits that have rows in a database.
    pub(super) async fn limits(&mut self, database: DatabaseIndex) -> Option<Vec<String>> {
        let rows = self
            .ask(database, async |connection| connection.fetch_all("SELECT name FROM limits").await)
            .await?;
        rows.iter().map(|row| row.try_get(0).ok()).collect()
    }

    async fn decisions(&mut self, database: DatabaseIndex) -> Option<Vec<String>> {
        let names = prefix(self.databases.store);
        let rows = self
            .ask(database, async |connection| {
                let query = sqlx::query(DECISIONS).persistent(false).bind(names).bind(DECIDED.0);
                connection.fetch_all(query).await
            })
            .await?;
        rows.iter().map(|row| row.try_get(0).ok()).collect()
    }

    async fn forget(&mut self, database: DatabaseIndex, names: Vec<String>) -> Option<()> {
        self.ask(database, async |connection| {
            let query = sqlx::query(FORGET).persistent(false).bind(names);
            connection.execute(query).await.map(drop)
        })
        .await
    }

    /// The outcome of a transaction, which is decided now if it was not. `None` if the database that
    /// decides does not answer, or if the host that began the transaction may still commit it.
    async fn outcome(&mut self, name: &TransactionName) -> Option<bool> {
        if name.decided_by >= self.databases.len() {
            return None;
        }
        let gid = name.to_string();
        self.ask(name.decided_by, async |connection| {
            // It waits for a transaction that decides at this moment.
            let refuse = sqlx::query(REFUSE).persistent(false).bind(&gid);
            connection.execute(refuse).await?;
            let outcome = sqlx::query(OUTCOME).persistent(false).bind(&gid);
            connection.fetch_one(outcome).await?.try_get::<i16, _>(0)
        })
        .await
        .map(|committed| committed == 1)
    }

    /// Writes a map, unless the database has one of its epoch or later. Returns true if it was
    /// written.
    pub(super) async fn put_map(
        &mut self,
        database: DatabaseIndex,
        map: &ShardMap,
    ) -> Option<bool> {
        let (before, text) = (map.epoch - 1, shard_row::written(map));
        self.ask(database, async |connection| {
            connection.execute("SET LOCAL lock_timeout = '1s'").await?;
            let put = sqlx::query(PUT_MAP).persistent(false).bind(before.cast_signed());
            let done = connection.execute(put.bind(map.epoch.cast_signed()).bind(text)).await?;
            Ok(done.rows_affected() > 0)
        })
        .await
    }

    async fn run(&mut self, database: DatabaseIndex, statement: String) -> Option<()> {
        // It ends a transaction, and is none.
        self.ask_alone(database, async |connection| {
            connection.execute(AssertSqlSafe(statement)).await.map(drop)
        })
        .await
    }

    /// Asks in a transaction, which has the settings that a pooler does not keep.
    async fn ask<T>(
        &mut self,
        database: DatabaseIndex,
        ask: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Option<T> {
        let settings = &self.databases.at(database).settings.writer;
        self.ask_alone(database, async |connection| {
            let mut transaction = SessionTransaction::begin(connection, settings).await?;
            match ask(&mut transaction).await {
                Ok(answer) => transaction.commit().await.map(|()| answer),
                Err(error) => {
                    // The connection is dropped with the error.
                    let _ = transaction.rollback().await;
                    Err(error)
                }
            }
        })
        .await
    }

    async fn ask_alone<T>(
        &mut self,
        database: DatabaseIndex,
        ask: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Option<T> {
        let of: &StoreDatabase = self.databases.at(database);
        let slot = &mut self.open[database];
        if slot.as_ref().is_some_and(|held| !held.is_current(&of.primary)) {
            *slot = None;
        }
        let asking = async {
            let held = match slot {
                Some(open) => open,
                None => slot.insert(of.connect().await.map_err(|failed| failed.source)?),
            };
            ask(&mut held.connection).await.map_err(SqlFailure::from)
        };
        match self.env.within(LOOK_TIMEOUT, asking).await {
            Some(Ok(answer)) => Some(answer),
            failed => {
                if let Some(Err(error)) = failed {
                    tracing::debug!(of = of.shown, %error, "what is in doubt stays so for now");
                }
                self.open[database] = None;
                None
            }
        }
    }
}

/// The age of the oldest transaction of a store that is prepared in one of its databases.
pub(super) async fn oldest(databases: &StoreDatabases, env: &Env) -> Option<Millis> {
    let mut sessions = DatabaseSessions::new(databases, env);
    let mut oldest = None;
    for database in 0..databases.len() {
        let prepared = sessions.prepared(database).await.unwrap_or_default();
        oldest = oldest.max(prepared.into_iter().map(|(_, age)| Millis(age)).max());
    }
    oldest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_transaction_tells_who_decides() {
        let name = TransactionName { store: 0xabc, decided_by: 2, nonce: u64::MAX };
        let text = name.to_string();
        assert!(text.len() < 200, "PostgreSQL takes names of at most 199 bytes");
        let part = name.of_part(3);
        assert_eq!(TransactionName::of_prepared(&part, 0xabc), Some(name));
        assert_eq!(TransactionName::of_prepared(&part, 0xabd), None, "another store");
        assert_eq!(TransactionName::of_prepared("segno:x", 0xabc), None);
    }
}
