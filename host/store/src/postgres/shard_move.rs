//! Moves a shard from one database of a store to another, while hosts work.
//!
//! 1. The move is announced in the map: hosts find out where the shard is before they read it.
//! 2. The shard is halted: from the next epoch on, nothing writes to it. Transactions that began
//!    before may still do so, and are waited for.
//! 3. One transaction over both databases copies the rows, compares them, removes them from the
//!    first database and writes the map in both. So the shard is always in exactly one of them.
//!
//! If the mover ends in between, hosts give up the move some seconds later.

use std::{fmt, time::Duration};

use futures::TryStreamExt as _;
use segno_core::{
    id::PromiseId,
    shard::{DatabaseIndex, ShardMap, ShardMove},
    time::Millis,
};
use segno_env::Clock as _;
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _, postgres::PgRow};

use super::{
    ShardedStore,
    batch::{BatchPart, CommitFailure, ConnectionSlot, commit_parts},
    failure::FailedStatement,
    fields::unescape,
    shard_row::{self, PUT_MAP},
    transaction::SessionTransaction,
};
use crate::{error::BoxError, sql::SqlFailure};

/// Time for which a move is announced before the shard is halted: hosts read the map every second.
const ANNOUNCED: Millis = Millis(3_000);
/// Time after which hosts give up a move whose mover is gone.
const UNTIL: Millis = Millis(15_000);
/// Pause before it is looked again for older transactions.
const PAUSE: Millis = Millis(20);
/// Maximum number of such pauses.
const PAUSES: u32 = 1_500;

/// Lifts the time limits of a transaction.
const NO_TIME_LIMIT: &str = "
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '20s'";

/// Transactions of this role that began before an instant, those that are prepared included.
const OLDER: &str = "
    SELECT (SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL
               AND xact_start < $1::timestamptz)
         + (SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xid IS NULL
               AND application_name = 'segno writer' AND state <> 'idle' AND xact_start < $1::timestamptz)
         + (SELECT count(*) FROM pg_prepared_xacts
             WHERE database = current_database() AND prepared < $1::timestamptz)";

const NOW: &str = "SELECT clock_timestamp()::text";

const LOCK_MAP: &str = "SELECT epoch FROM shards WHERE one = 1 FOR UPDATE";

/// The promises of a shard. They are locked, so that nobody appends to their journals.
const PROMISES: &str = "SELECT n, id FROM promises WHERE shard_of(id) = $1 ORDER BY n FOR UPDATE";

const LOCK_TASKS: &str = "SELECT n FROM tasks WHERE n = ANY($1::bigint[]) ORDER BY n FOR UPDATE";

/// Callbacks of which one end is among these promises.
const HALF_CALLBACKS: &str = "
    SELECT awaited.id, awaiter.id, consumed FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter
     WHERE (callbacks.awaited = ANY($1::bigint[])) <> (callbacks.awaiter = ANY($1::bigint[]))";

const CROSSINGS: &str = "
    SELECT awaited, awaiter, consumed FROM crossings WHERE shard_of(awaited) = $1 OR shard_of(awaiter) = $1";

const PUT_CROSSINGS: &str = "
    INSERT INTO crossings (awaited, awaiter, consumed)
    SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[]) ON CONFLICT DO NOTHING";

const DROP_CROSSINGS: &str = "
    DELETE FROM crossings USING unnest($1::text[], $2::text[], $3::smallint[]) AS given (awaited, awaiter, consumed)
     WHERE crossings.awaited = given.awaited AND crossings.awaiter = given.awaiter";

const PUT_CALLBACKS: &str = "
    INSERT INTO callbacks (awaited, awaiter, consumed)
    SELECT awaited.n, awaiter.n, given.consumed
      FROM unnest($1::text[], $2::text[], $3::smallint[]) AS given (awaited, awaiter, consumed)
      JOIN promises awaited ON awaited.id = given.awaited JOIN promises awaiter ON awaiter.id = given.awaiter";

const MODULES: &str = "SELECT digest, n FROM modules";

const CHUNKS: &str = "
    SELECT digest, bytes, data FROM value_chunks
     WHERE digest IN (SELECT digest FROM value_uses WHERE ";

const PUT_CHUNK: &str =
    "INSERT INTO value_chunks (digest, bytes, data) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

/// Columns of a table in their order.
const COLUMNS: &str = "
    SELECT attname::text FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attidentity = '' ORDER BY attnum";

/// How the rows of a table are found that belong to a shard.
#[derive(Clone, Copy)]
enum RowOwner {
    /// By the number of a promise in this column.
    Number(&'static str),
    /// By the id of a promise or a stream in this column.
    Id(&'static str),
    /// By the object in this column.
    Object(&'static str),
    /// By the name in this expression.
    Name(&'static str),
    /// By the owner of a value.
    Value,
}

/// All tables whose rows belong to shards, each behind those that it refers to. Callbacks are moved
/// by themselves.
const TABLES: [(&str, RowOwner); 23] = [
    ("promises", RowOwner::Number("n")),
    ("tasks", RowOwner::Number("n")),
    ("callbacks", RowOwner::Number("awaited")),
    ("listeners", RowOwner::Number("awaited")),
    ("outbox", RowOwner::Number("source")),
    ("journal", RowOwner::Number("inv")),
    ("logs", RowOwner::Number("inv")),
    ("signal_keys", RowOwner::Number("inv")),
    ("compensations", RowOwner::Number("inv")),
    ("graph_facts", RowOwner::Number("run")),
    ("graph_nodes", RowOwner::Number("run")),
    ("places", RowOwner::Number("inv")),
    ("streams", RowOwner::Id("id")),
    ("stream_chunks", RowOwner::Id("stream")),
    ("tree_counts", RowOwner::Id("root")),
    ("budgets", RowOwner::Id("account")),
    ("lines", RowOwner::Object("object")),
    ("object_state", RowOwner::Object("object")),
    ("schedules", RowOwner::Name("id")),
    ("resources", RowOwner::Name("name")),
    ("resource_leases", RowOwner::Name("name")),
    ("limits", RowOwner::Name("name")),
    ("partitions", RowOwner::Name("limit_name")),
];

/// Reason why a shard was not moved. It is where it was.
#[derive(Debug, thiserror::Error)]
pub enum ShardMoveError {
    /// There is no such shard or database.
    #[error("{0}")]
    Unknown(String),
    /// Another shard is being moved.
    #[error("shard {0} is being moved: wait for its end, then move this one")]
    Busy(u16),
    /// The map changed in the meantime.
    #[error("the move was given up by the hosts, because it took too long to begin: try again")]
    GivenUp,
    /// Transactions of hosts did not end.
    #[error("{0} transactions that began before the move have not ended: try again")]
    Older(i64),
    /// The copy differs from the rows that were copied.
    #[error("the copy of table `{table}` differs: nothing was moved")]
    Differs {
        /// The table.
        table: &'static str,
    },
    /// A database did not do what the move needs.
    #[error("{database} failed ({statement})")]
    Database {
        /// The address without its password.
        database: String,
        /// What was tried.
        statement: &'static str,
        /// The error of the database.
        #[source]
        source: BoxError,
    },
}

/// A shard that was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedShard {
    /// Number of promises.
    pub promises: u64,
    /// Number of rows, those of promises included.
    pub rows: u64,
    /// Time for which nothing could write to the shard.
    pub halted: Duration,
}

/// A callback in a move: ids of the awaited promise and the awaiter, and the flag.
type MovedCallback = (String, String, i16);

impl ShardedStore {
    /// The map of the shards.
    pub fn shards(&self) -> ShardMap {
        (*self.databases.shards()).clone()
    }

    /// Moves a shard to another database.
    ///
    /// # Errors
    /// [`ShardMoveError`]; the shard is then where it was.
    pub async fn move_shard(
        &self,
        shard: u16,
        to: DatabaseIndex,
    ) -> Result<MovedShard, ShardMoveError> {
        let map = self.newest_map().await?;
        let Some(&from) = map.places.get(usize::from(shard)) else {
            let shards = map.places.len();
            return Err(ShardMoveError::Unknown(format!(
                "there is no shard {shard}: they are numbered from 0 to {}",
                shards - 1
            )));
        };
        if to >= self.databases.len() {
            let count = self.databases.len();
            return Err(ShardMoveError::Unknown(format!(
                "there is no database {}: they are numbered from 1 to {count}",
                to + 1
            )));
        }
        if usize::from(from) == to {
            return Err(ShardMoveError::Unknown(format!(
                "shard {shard} is in database {} already",
                to + 1
            )));
        }
        let until = self.time.now() + Millis(UNTIL.0 + ANNOUNCED.0);
        let moving = ShardMove { shard, to: to as u16, is_halted: false, until };
        let announced = self.put_map(ShardMap { moving: Some(moving.clone()), ..map }).await?;
        self.env.runtime.sleep(ANNOUNCED).await;
        let began = self.env.clock.elapsed();
        let moving = ShardMove { is_halted: true, ..moving };
        let halted = self.put_map(ShardMap { moving: Some(moving), ..announced }).await?;
        let moved = self.copy(&halted, shard, usize::from(from), to).await;
        let mut map = ShardMap { moving: None, ..halted };
        if moved.is_ok() {
            map.places[usize::from(shard)] = to as u16;
        }
        // Both databases of the move have it already; hosts find it in any.
        if let Err(error) = self.put_map(map).await {
            tracing::warn!(%error, "a database does not have the new map of the shards yet");
        }
        let (promises, rows) = moved?;
        let halted = self.env.clock.elapsed().saturating_sub(began);
        Ok(MovedShard { promises, rows, halted })
    }

    /// The newest map, while no shard is moved.
    pub(super) async fn newest_map(&self) -> Result<ShardMap, ShardMoveError> {
        for database in 0..self.databases.len() {
            self.databases.renew_from(database).await;
        }
        let map = self.shards();
        match &map.moving {
            Some(moves) => Err(ShardMoveError::Busy(moves.shard)),
            None => Ok(map),
        }
    }

    /// Writes the next map to all databases.
    pub(super) async fn put_map(&self, map: ShardMap) -> Result<ShardMap, ShardMoveError> {
        let (before, map) = (map.epoch, ShardMap { epoch: map.epoch + 1, ..map });
        for database in 0..self.databases.len() {
            let of = self.databases.at(database);
            let failed = |source: SqlFailure| self.failed(database, "write the map", source);
            let mut held = of.connect().await.map_err(|it| failed(it.source))?;
            let put = sqlx::query(PUT_MAP)
                .persistent(false)
                .bind(before.cast_signed())
                .bind(map.epoch.cast_signed())
                .bind(shard_row::written(&map));
            let done = async {
                let begun = SessionTransaction::begin(&mut held.connection, &of.settings).await;
                let mut transaction = begun?;
                transaction.execute(put).await?;
                transaction.commit().await
            };
            done.await.map_err(|error: sqlx::Error| failed(error.into()))?;
        }
        self.databases.shards.advance(map.clone());
        Ok(map)
    }

    fn failed(
        &self,
        database: DatabaseIndex,
        statement: &'static str,
        source: SqlFailure,
    ) -> ShardMoveError {
        let database = self.databases.at(database).shown.clone();
        ShardMoveError::Database { database, statement, source: source.into() }
    }

    /// Waits until the transactions have ended that may not know that the shard is halted.
    async fn wait_for_older(&self) -> Result<(), ShardMoveError> {
        for database in 0..self.databases.len() {
            let of = self.databases.at(database);
            let name = "wait for older transactions";
            let failed = |error: sqlx::Error| self.failed(database, name, error.into());
            let connected = of.connect().await;
            let mut held = connected.map_err(|it| self.failed(database, name, it.source))?;
            let now = held.connection.fetch_one(NOW).await.map_err(failed)?;
            let now: String = now.try_get(0).map_err(failed)?;
            let mut left = 1;
            for _ in 0..PAUSES {
                let older = sqlx::query(OLDER).persistent(false).bind(&now);
                let row = held.connection.fetch_one(older).await.map_err(failed)?;
                left = row.try_get::<i64, _>(0).map_err(failed)?;
                if left == 0 {
                    break;
                }
                self.env.runtime.sleep(PAUSE).await;
            }
            if left > 0 {
                return Err(ShardMoveError::Older(left));
            }
        }
        Ok(())
    }

    /// Copies, compares, removes and writes the map in one transaction over both databases. Returns
    /// the numbers of promises and rows.
    async fn copy(
        &self,
        halted: &ShardMap,
        shard: u16,
        from: DatabaseIndex,
        to: DatabaseIndex,
    ) -> Result<(u64, u64), ShardMoveError> {
        self.wait_for_older().await?;
        let mut slots: [ConnectionSlot; 2] = [None, None];
        let [source_slot, target_slot] = &mut slots;
        let begin = async |slot, database: DatabaseIndex| {
            let begun =
                BatchPart::begin(self.databases.at(database), slot, database, true, true, true);
            begun.await.map_err(|it| self.failed(database, it.statement, it.source))
        };
        let mut source = begin(source_slot, from).await?;
        let mut target = begin(target_slot, to).await?;
        let copied = ShardCopy {
            store: self,
            halted,
            shard: i32::from(shard),
            source: &mut source.transaction,
            target: &mut target.transaction,
            from,
            to,
        };
        let counts = match copied.run().await {
            Ok(counts) => counts,
            Err(error) => {
                // What is not rolled back here ends with its connection.
                let _ = source.rollback().await;
                let _ = target.rollback().await;
                return Err(error);
            }
        };
        (source.wrote, target.wrote) = (true, true);
        // The target decides: whoever sees the new map there finds the rows.
        let nonce = self.env.runtime.nonce();
        let committed = commit_parts(vec![target, source], self.databases.store, nonce).await;
        committed.map_err(|failure| match failure {
            CommitFailure::Failed(failure) | CommitFailure::Unknown(failure) => {
                let FailedStatement { statement, source } = failure.failed;
                self.failed(failure.database, statement, source)
            }
            CommitFailure::LockFirst(_)
            | CommitFailure::Overtaken
            | CommitFailure::NewMap(_)
            | CommitFailure::Halted => ShardMoveError::GivenUp,
        })?;
        Ok(counts)
    }
}

/// A copy in progress.
struct ShardCopy<'a> {
    store: &'a ShardedStore,
    halted: &'a ShardMap,
    shard: i32,
    source: &'a mut PgConnection,
    target: &'a mut PgConnection,
    from: DatabaseIndex,
    to: DatabaseIndex,
}

impl ShardCopy<'_> {
    async fn run(mut self) -> Result<(u64, u64), ShardMoveError> {
        self.lock_map().await?;
        let promises = self.lock_promises().await?;
        let numbers: Vec<i64> = promises.iter().map(|(n, _)| *n).collect();
        let callbacks = self.callbacks(&numbers).await?;
        let list = list(&numbers);
        let modules = self.modules().await?;
        let mut rows = self.copy_chunks(&list).await?;
        let tables = TABLES.iter().chain([&("value_uses", RowOwner::Value)]);
        for (table, owner) in tables.clone() {
            rows += self.copy_table(table, *owner, &list, &modules).await?;
        }
        self.move_callbacks(callbacks).await?;
        let tables: Vec<_> = tables.collect();
        for (table, owner) in tables.into_iter().rev() {
            let owns = match *table {
                // Either end.
                "callbacks" => format!("awaited = ANY({list}) OR awaiter = ANY({list})"),
                _ => self.owns(*owner, &list),
            };
            let text = format!("DELETE FROM {table} WHERE {owns}");
            let deleted = self.source.execute(AssertSqlSafe(text)).await;
            deleted.map_err(|error| self.failed_at_source("remove what was copied", error))?;
        }
        self.put_map().await?;
        Ok((numbers.len() as u64, rows))
    }

    /// Keeps everyone from giving up the move, and notices if somebody has.
    async fn lock_map(&mut self) -> Result<(), ShardMoveError> {
        for is_source in [true, false] {
            let connection = if is_source { &mut *self.source } else { &mut *self.target };
            let name = "lock the map";
            let limits = connection.execute(NO_TIME_LIMIT).await.map(drop);
            let locked = match limits {
                Ok(()) => connection.fetch_one(LOCK_MAP).await,
                Err(error) => Err(error),
            };
            let epoch = locked.and_then(|row| row.try_get::<i64, _>(0));
            let database = if is_source { self.from } else { self.to };
            let epoch = epoch.map_err(|error| self.store.failed(database, name, error.into()))?;
            if epoch != self.halted.epoch.cast_signed() {
                return Err(ShardMoveError::GivenUp);
            }
        }
        Ok(())
    }

    async fn lock_promises(&mut self) -> Result<Vec<(i64, String)>, ShardMoveError> {
        let name = "lock the promises of the shard";
        let query = sqlx::query(PROMISES).persistent(false).bind(self.shard);
        let found = self.source.fetch_all(query).await;
        let rows = found.map_err(|error| self.failed_at_source(name, error))?;
        let promise = |row: &PgRow| Ok((row.try_get(0)?, row.try_get(1)?));
        let promises: Result<Vec<(i64, String)>, sqlx::Error> = rows.iter().map(promise).collect();
        let promises = promises.map_err(|error| self.failed_at_source(name, error))?;
        let numbers: Vec<i64> = promises.iter().map(|(n, _)| *n).collect();
        let query = sqlx::query(LOCK_TASKS).persistent(false).bind(numbers);
        let locked = self.source.execute(query).await;
        locked.map_err(|error| self.failed_at_source("lock the tasks of the shard", error))?;
        Ok(promises)
    }

    /// The callbacks of which one end lies in the shard.
    async fn callbacks(&mut self, numbers: &[i64]) -> Result<Vec<MovedCallback>, ShardMoveError> {
        let name = "read callbacks";
        let half = sqlx::query(HALF_CALLBACKS).persistent(false).bind(numbers.to_vec());
        let half = self.source.fetch_all(half).await;
        let mut rows = half.map_err(|error| self.failed_at_source(name, error))?;
        let crossings = sqlx::query(CROSSINGS).persistent(false).bind(self.shard);
        let crossings = self.source.fetch_all(crossings).await;
        rows.extend(crossings.map_err(|error| self.failed_at_source(name, error))?);
        let callback = |row: &PgRow| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
        let callbacks: Result<_, sqlx::Error> = rows.iter().map(callback).collect();
        callbacks.map_err(|error| self.failed_at_source(name, error))
    }

    /// The numbers of modules in the source, as a `CASE` that yields those in the target.
    async fn modules(&mut self) -> Result<String, ShardMoveError> {
        let name = "read modules";
        let read = |rows: Vec<PgRow>| -> Result<Vec<(Vec<u8>, i64)>, sqlx::Error> {
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
        };
        let here = self.source.fetch_all(sqlx::query(MODULES).persistent(false)).await;
        let here = here.and_then(read).map_err(|error| self.failed_at_source(name, error))?;
        let there = self.target.fetch_all(sqlx::query(MODULES).persistent(false)).await;
        let there = there.and_then(read).map_err(|error| self.failed_at_target(name, error))?;
        let mut text = "CASE module".to_owned();
        for (digest, n) in &here {
            if let Some((_, other)) = there.iter().find(|(known, _)| known == digest) {
                text.push_str(&format!(" WHEN {n} THEN {other}"));
            }
        }
        Ok(match text.ends_with("module") {
            true => "module".to_owned(),
            false => text + " ELSE module END",
        })
    }

    /// Copies the chunks of large values, of which the target may have some.
    async fn copy_chunks(&mut self, numbers: &str) -> Result<u64, ShardMoveError> {
        let name = "copy chunks of values";
        let text = format!("{CHUNKS}{})", self.owns(RowOwner::Value, numbers));
        let (source, target) = (&mut *self.source, &mut *self.target);
        let mut chunks = source.fetch(AssertSqlSafe(text));
        let mut count = 0;
        loop {
            let chunk = match chunks.try_next().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(count),
                Err(error) => return Err(self.store.failed(self.from, name, error.into())),
            };
            let put = async {
                let put = sqlx::query(PUT_CHUNK)
                    .persistent(false)
                    .bind(chunk.try_get::<Vec<u8>, _>(0)?)
                    .bind(chunk.try_get::<i64, _>(1)?)
                    .bind(chunk.try_get::<Vec<u8>, _>(2)?);
                target.execute(put).await
            };
            put.await.map_err(|error| self.store.failed(self.to, name, error.into()))?;
            count += 1;
        }
    }

    async fn copy_table(
        &mut self,
        table: &'static str,
        owner: RowOwner,
        numbers: &str,
        modules: &str,
    ) -> Result<u64, ShardMoveError> {
        let columns = sqlx::query(COLUMNS).persistent(false).bind(table);
        let columns = self.source.fetch_all(columns).await;
        let columns = columns
            .and_then(|rows| {
                rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()
            })
            .map_err(|error| self.failed_at_source("read columns", error))?;
        let quoted = |column: &String| format!("\"{column}\"");
        let selected = |column: &String| match (table, column.as_str()) {
            ("tasks", "module") => modules.to_owned(),
            _ => quoted(column),
        };
        let join = |columns: Vec<String>| columns.join(", ");
        let (plain, chosen) = (
            join(columns.iter().map(quoted).collect()),
            join(columns.iter().map(selected).collect()),
        );
        let owns = match (table, owner) {
            // Both ends: the others cross from now on.
            ("callbacks", _) => {
                format!("awaited = ANY({numbers}) AND awaiter = ANY({numbers})")
            }
            _ => self.owns(owner, numbers),
        };
        let before = self.digest_of_source(table, &chosen, &owns).await?;
        let out = format!("COPY (SELECT {chosen} FROM {table} WHERE {owns}) TO STDOUT");
        let into = format!("COPY {table} ({plain}) FROM STDIN");
        let copied = copy_between(self.source, self.target, &out, &into).await;
        copied.map_err(|error| self.failed_at_target("copy a table", error))?;
        let after = digest(self.target, table, &plain, &owns).await;
        let after = after.map_err(|error| self.failed_at_target("compare a table", error))?;
        match before == after {
            true => Ok(before.rows),
            false => Err(ShardMoveError::Differs { table }),
        }
    }

    /// Moves the callbacks of which one end lies in the shard: some cross from now on, and some no
    /// longer do.
    async fn move_callbacks(
        &mut self,
        callbacks: Vec<MovedCallback>,
    ) -> Result<(), ShardMoveError> {
        let name = "move callbacks";
        let database = |id: &str| {
            let promise = PromiseId::from(&*unescape(id));
            match self.halted.moves_promise(&promise) {
                true => self.to,
                false => self.halted.promise(&promise),
            }
        };
        let (mut here, mut there, mut joined, mut left) =
            <(Vec<_>, Vec<_>, Vec<_>, Vec<_>)>::default();
        for callback in callbacks {
            let [awaited, awaiter] = [database(&callback.0), database(&callback.1)];
            match [awaited, awaiter].iter().find(|database| **database != self.to) {
                // Both ends are in the target.
                None => joined.push(callback.clone()),
                Some(_) => there.push(callback.clone()),
            }
            match [awaited, awaiter].contains(&self.from) {
                true => here.push(callback),
                false => left.push(callback),
            }
        }
        for (statement, callbacks) in [(PUT_CROSSINGS, here), (DROP_CROSSINGS, left)] {
            let done = bound(self.source, statement, callbacks).await;
            done.map_err(|error| self.failed_at_source(name, error))?;
        }
        for (statement, callbacks) in
            [(DROP_CROSSINGS, joined.clone()), (PUT_CALLBACKS, joined), (PUT_CROSSINGS, there)]
        {
            let done = bound(self.target, statement, callbacks).await;
            done.map_err(|error| self.failed_at_target(name, error))?;
        }
        Ok(())
    }

    async fn put_map(&mut self) -> Result<(), ShardMoveError> {
        let name = "write the map";
        let (before, epoch) = (self.halted.epoch.cast_signed(), self.halted.epoch + 1);
        let mut map = ShardMap { epoch, moving: None, ..self.halted.clone() };
        map.places[self.shard as usize] = self.to as u16;
        let text = shard_row::written(&map);
        let put = || {
            let put = sqlx::query(PUT_MAP).persistent(false).bind(before);
            put.bind(epoch.cast_signed()).bind(text.clone())
        };
        let done = self.source.execute(put()).await;
        done.map_err(|error| self.failed_at_source(name, error))?;
        let done = self.target.execute(put()).await;
        done.map_err(|error| self.failed_at_target(name, error))?;
        Ok(())
    }

    /// The condition for rows of the shard.
    fn owns(&self, owner: RowOwner, numbers: &str) -> String {
        let shard = self.shard;
        match owner {
            RowOwner::Number(column) => format!("{column} = ANY({numbers})"),
            RowOwner::Id(column) => format!("shard_of({column}) = {shard}"),
            RowOwner::Object(column) => format!("shard_of_object({column}) = {shard}"),
            RowOwner::Name(column) => format!("shard_of_name({column}) = {shard}"),
            RowOwner::Value => format!(
                "owner IN (SELECT letter || n FROM unnest({numbers}) AS n, unnest('{{p,j}}'::text[]) AS letter
                            UNION ALL
                           SELECT 's' || octet_length(object) || ':' || object || name FROM object_state
                            WHERE shard_of_object(object) = {shard})"
            ),
        }
    }

    async fn digest_of_source(
        &mut self,
        table: &'static str,
        columns: &str,
        owns: &str,
    ) -> Result<TableDigest, ShardMoveError> {
        let digest = digest(self.source, table, columns, owns).await;
        digest.map_err(|error| self.failed_at_source("compare a table", error))
    }

    fn failed_at_source(&self, statement: &'static str, error: sqlx::Error) -> ShardMoveError {
        self.store.failed(self.from, statement, error.into())
    }

    fn failed_at_target(&self, statement: &'static str, error: sqlx::Error) -> ShardMoveError {
        self.store.failed(self.to, statement, error.into())
    }
}

/// The number of some rows, and a sum over the digests of their texts.
#[derive(Debug, PartialEq, Eq)]
struct TableDigest {
    rows: u64,
    sum: String,
}

async fn digest(
    connection: &mut PgConnection,
    table: &str,
    columns: &str,
    owns: &str,
) -> Result<TableDigest, sqlx::Error> {
    let text = format!(
        "SELECT count(*), coalesce(sum(('x' || left(md5(row_of::text), 15))::bit(60)::bigint::numeric), 0)::text \
           FROM (SELECT ROW({columns}) AS row_of FROM {table} WHERE {owns}) AS rows"
    );
    let row = connection.fetch_one(AssertSqlSafe(text)).await?;
    let rows = row.try_get::<i64, _>(0)?.cast_unsigned();
    Ok(TableDigest { rows, sum: row.try_get(1)? })
}

async fn copy_between(
    source: &mut PgConnection,
    target: &mut PgConnection,
    out: &str,
    into: &str,
) -> Result<u64, sqlx::Error> {
    let mut rows = source.copy_out_raw(out).await?;
    let mut sink = target.copy_in_raw(into).await?;
    while let Some(bytes) = rows.try_next().await? {
        sink.send(bytes).await?;
    }
    sink.finish().await
}

async fn bound(
    connection: &mut PgConnection,
    statement: &'static str,
    callbacks: Vec<MovedCallback>,
) -> Result<(), sqlx::Error> {
    if callbacks.is_empty() {
        return Ok(());
    }
    let (mut awaited, mut awaiters, mut consumed) = <(Vec<_>, Vec<_>, Vec<_>)>::default();
    for (on, by, flag) in callbacks {
        awaited.push(on);
        awaiters.push(by);
        consumed.push(flag);
    }
    let query = sqlx::query(statement).persistent(false);
    connection.execute(query.bind(awaited).bind(awaiters).bind(consumed)).await.map(drop)
}

/// Numbers as a list in SQL.
fn list(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("'{{{}}}'::bigint[]", numbers.join(","))
}

impl fmt::Display for MovedShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { promises, rows, halted } = self;
        write!(f, "{promises} promises, {rows} rows, halted for {} ms", halted.as_millis())
    }
}
