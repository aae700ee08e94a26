//! Copies the rows of a shard, and removes them where they were.

use futures::TryStreamExt as _;
use segno_core::{
    id::PromiseId,
    shard::{DatabaseIndex, ShardMap},
};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _, postgres::PgRow};

use super::{
    super::{
        ShardedStore,
        fields::unescape,
        shard_row::{self, PUT_MAP},
    },
    ShardMoveError,
    tables::{COLUMNS, RowOwner, TABLES, TableDigest, digest, list},
};

/// Lifts the time limits of a transaction.
const NO_TIME_LIMIT: &str = "
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '20s'";

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

/// A callback in a move: ids of the awaited promise and the awaiter, and the flag.
type MovedCallback = (String, String, i16);

/// A copy in progress.
pub(super) struct ShardCopy<'a> {
    pub(super) store: &'a ShardedStore,
    pub(super) halted: &'a ShardMap,
    /// The shard that follows, and its target.
    pub(super) next: Option<(u16, DatabaseIndex)>,
    pub(super) shard: i32,
    pub(super) source: &'a mut PgConnection,
    pub(super) target: &'a mut PgConnection,
    pub(super) from: DatabaseIndex,
    pub(super) to: DatabaseIndex,
}

impl ShardCopy<'_> {
    /// Returns the map after the move, and the numbers of promises and rows.
    pub(super) async fn run(mut self) -> Result<(ShardMap, u64, u64), ShardMoveError> {
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
                _ => owner.owns(self.shard, &list),
            };
            let text = format!("DELETE FROM {table} WHERE {owns}");
            let deleted = self.source.execute(AssertSqlSafe(text)).await;
            deleted.map_err(|error| self.failed_at_source("remove what was copied", error))?;
        }
        let moved = self.put_map().await?;
        Ok((moved, numbers.len() as u64, rows))
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
        let text = format!("{CHUNKS}{})", RowOwner::Value.owns(self.shard, numbers));
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
            _ => owner.owns(self.shard, numbers),
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

    async fn put_map(&mut self) -> Result<ShardMap, ShardMoveError> {
        let name = "write the map";
        let (before, epoch) = (self.halted.epoch, self.halted.epoch + 1);
        let moving = self.next.map(|(shard, to)| self.store.announcement(shard, to));
        let mut map = ShardMap { epoch, moving, ..self.halted.clone() };
        map.places[self.shard as usize] = self.to as u16;
        let text = shard_row::written(&map);
        let put = || {
            let put = sqlx::query(PUT_MAP).persistent(false).bind(before.cast_signed());
            put.bind(epoch.cast_signed()).bind(text.clone())
        };
        let done = self.source.execute(put()).await;
        done.map_err(|error| self.failed_at_source(name, error))?;
        let done = self.target.execute(put()).await;
        done.map_err(|error| self.failed_at_target(name, error))?;
        Ok(map)
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
