//! Reads, on connections of their own: each statement sees everything that was committed when it began.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use segno_core::{
    command::Command,
    id::{Digest, PromiseId},
    invocation::Record,
    promise::{MessageKind, TaskStatus},
    time::{Millis, Timestamp},
};
use sqlx::{
    Executor as _, Row as _, Sqlite, SqliteConnection, SqlitePool,
    query::Query,
    sqlite::{SqliteArguments, SqliteConnectOptions, SqlitePoolOptions, SqliteRow},
};

use super::{connection::page_bytes, failure, journal_buffer::ActiveJournals, open::DataDirectory};
use crate::{
    COUNTED, Due, LogRow, ModuleRow, PromiseRow, Ready, StoreError, Waits, limits,
    sql::{self, promise_columns, promise_tables},
};
use segno_env::Clock;

/// Connections that read at a time.
const READERS: u32 = 4;

/// After how many steps of SQLite's machine the clock is looked at: about every tenth of a millisecond.
const LOOK_AT_CLOCK: i32 = 10_000;

const PROMISES: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM json_each(?1) wanted JOIN promises p ON p.id = wanted.value ",
    promise_tables!(),
);

const JOURNAL: &str = "
    WITH journal_of(n) AS (SELECT n FROM promises WHERE id = ?1)
    SELECT records FROM journal, journal_of
     WHERE inv = journal_of.n AND first_seq < ?2 + ?3 AND end_seq > ?2
       AND first_seq >= (SELECT max(first_seq) FROM journal WHERE inv = journal_of.n AND first_seq <= ?2)
     ORDER BY first_seq";

/// The same of a journal of which not all is in one place.
const JOURNAL_UNMERGED: &str = "
    SELECT records, first_seq FROM journal
     WHERE inv = (SELECT n FROM promises WHERE id = ?1) AND first_seq < ?2 + ?3 AND end_seq > ?2
     UNION ALL
    SELECT records, first_seq FROM journal_ahead
     WHERE inv = (SELECT n FROM promises WHERE id = ?1) AND first_seq < ?2 + ?3 AND end_seq > ?2
     ORDER BY 2";

/// The second column numbers the last line of a row, from 1.
const LOGS: &str = "
    SELECT lines, count, last FROM
           (SELECT n, count, sum(count) OVER (ORDER BY n) AS last FROM logs
             WHERE inv = (SELECT n FROM promises WHERE id = ?1)) AS numbered
      JOIN logs AS found USING (n, count)
     WHERE last > ?2 AND last - count < ?2 + ?3
     ORDER BY n";

const LOG_COUNT: &str = "
    SELECT coalesce(sum(count), 0) FROM logs WHERE inv = (SELECT n FROM promises WHERE id = ?1)";

const WAITS: &str = "
    SELECT 1, other.id FROM promises p JOIN callbacks ON awaiter = p.n AND consumed = 0
      JOIN promises other ON other.n = awaited WHERE p.id = ?1
     UNION ALL
    SELECT 2, other.id FROM promises p JOIN callbacks ON awaited = p.n AND consumed = 0
      JOIN promises other ON other.n = awaiter WHERE p.id = ?1
     ORDER BY 1, 2";

/// Deadlines, the earliest first, and of those who wait for each the first, if it is suspended and hosts run it.
/// The number is [`Timestamp::NEVER`], as the index has it.
const DEADLINES: &str = "
    SELECT p.id, p.timeout_at, waiting.id, tasks.version
      FROM promises p
      LEFT JOIN tasks ON tasks.n = (SELECT min(awaiter) FROM callbacks WHERE awaited = p.n AND consumed = 0)
                     AND tasks.state = 3 AND hosted = 1
      LEFT JOIN promises waiting ON waiting.n = tasks.n
     WHERE p.state = 0 AND p.timeout_at < 253402300799999
     ORDER BY p.timeout_at, p.n LIMIT ?1";

/// Leases and retries, the earliest first.
const TIMERS: &str = "
    SELECT promises.id, wake_at, tasks.state FROM tasks JOIN promises USING (n)
     WHERE wake_at < 253402300799999
     ORDER BY wake_at, tasks.n LIMIT ?1";

const READY: &str = "
    SELECT promises.n, promises.id, tasks.version, promises.target
      FROM tasks JOIN promises USING (n)
     WHERE tasks.state = 1 AND hosted = 1 AND offered = 1 AND tasks.n > ?1 AND timeout_at > ?2
     ORDER BY tasks.n LIMIT ?3";

const OUTBOX: &str = "
    SELECT promises.id, next_at, kind, part FROM outbox JOIN promises ON promises.n = source
     WHERE kind = ?2 AND next_at < 253402300799999
     ORDER BY next_at, source, part LIMIT ?1";

const COMPONENT: &str = "SELECT component FROM modules WHERE digest = ?1";

const MODULES: &str = "
    SELECT digest, length(component), created_at, description,
           (SELECT json_group_array(name) FROM (SELECT name FROM aliases WHERE module = modules.n ORDER BY name))
      FROM modules ORDER BY digest";

/// The index is named: another one holds the finished as well, and would have every row of theirs looked at.
const IN_USE: &str = "
    SELECT digest, (SELECT count(*) FROM (
           SELECT 1 FROM tasks INDEXED BY tasks_module WHERE module = modules.n AND state <> 5 LIMIT ?1))
      FROM modules";

/// The connections that read.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) pool: SqlitePool,
    /// None: somebody else writes.
    active_journals: Option<Arc<ActiveJournals>>,
}

impl Reader {
    /// Connections are opened when they are first needed.
    pub(super) fn of(directory: &DataDirectory, active_journals: Arc<ActiveJournals>) -> Self {
        Self { active_journals: Some(active_journals), ..Self::with(directory.reader_options()) }
    }

    /// The same for clients that look around: each statement ends after this time.
    pub(super) fn for_clients(
        directory: &DataDirectory,
        active_journals: Arc<ActiveJournals>,
        clock: &Arc<dyn Clock>,
        limit: Millis,
    ) -> Self {
        let of_new = (clock.clone(), limit);
        let of_idle = of_new.clone();
        // From the moment at which a connection is taken: a statement or two, or a short transaction.
        let pool = pool()
            .after_connect(move |connection, _| {
                let (clock, limit) = of_new.clone();
                Box::pin(async move { end_after(connection, clock, limit).await })
            })
            .before_acquire(move |connection, _| {
                let (clock, limit) = of_idle.clone();
                Box::pin(async move { end_after(connection, clock, limit).await.map(|()| true) })
            })
            .connect_lazy_with(directory.reader_options());
        Self { pool, active_journals: Some(active_journals) }
    }

    /// A reader of a database that may belong to another process.
    pub(super) fn with(options: SqliteConnectOptions) -> Self {
        Self { pool: pool().connect_lazy_with(options), active_journals: None }
    }

    /// Gives back the pages of connections that nobody uses now, where they are more than `kept` bytes. How many they
    /// were.
    pub(super) async fn shrink(&self, kept: u64) -> Result<u64, StoreError> {
        let failed = failed("give pages back");
        // All of them at once, so that each is met.
        let mut idle = Vec::new();
        while let Some(connection) = self.pool.try_acquire() {
            idle.push(connection);
        }
        let mut held = 0;
        for connection in &mut idle {
            held += bytes_held(connection).await.map_err(&failed)?;
        }
        if held > kept {
            for connection in &mut idle {
                connection.execute("PRAGMA shrink_memory").await.map_err(&failed)?;
            }
        }
        Ok(held)
    }

    /// Whether records of one of these may lie in two places.
    pub(super) fn may_be_unmerged<'a>(&self, ids: impl IntoIterator<Item = &'a PromiseId>) -> bool {
        self.active_journals.as_ref().is_none_or(|active_journals| active_journals.may_have(ids))
    }

    pub(super) async fn promises(
        &self,
        ids: &[PromiseId],
    ) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        let name = "read promises";
        let wanted = serde_json::to_string(ids).expect("texts are JSON");
        let found = self.pool.fetch_all(sqlx::query(PROMISES).bind(wanted)).await;
        let mut by_id = BTreeMap::new();
        for row in &found.map_err(failed(name))? {
            let row = promise_row(row).map_err(failed(name))?;
            by_id.insert(row.promise.id().clone(), row);
        }
        Ok(ids.iter().map(|id| by_id.get(id).cloned()).collect())
    }

    pub(super) async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        let name = "read a journal";
        let statement = if self.may_be_unmerged([id]) { JOURNAL_UNMERGED } else { JOURNAL };
        let query = sqlx::query(statement).bind(id.as_str()).bind(from).bind(limit);
        let found = self.pool.fetch_all(query).await.map_err(failed(name))?;
        let mut records = Vec::new();
        for row in &found {
            records.extend(sql::records(row, 0, id).map_err(failed(name))?);
        }
        let end = from.saturating_add(limit);
        records.retain(|record| (from..end).contains(&record.seq));
        Ok(records)
    }

    pub(super) async fn logs(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<LogRow>, StoreError> {
        let name = "read logs";
        let query = sqlx::query(LOGS).bind(id.as_str()).bind(from).bind(limit);
        let found = self.pool.fetch_all(query).await.map_err(failed(name))?;
        let mut lines = Vec::new();
        for row in &found {
            lines.extend(sql::log_lines(row, 0, id).map_err(failed(name))?);
        }
        let end = from.saturating_add(limit);
        lines.retain(|line| (from..end).contains(&line.line));
        Ok(lines)
    }

    pub(super) async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError> {
        let name = "count log lines";
        let query = sqlx::query(LOG_COUNT).bind(id.as_str());
        let row = self.pool.fetch_one(query).await.map_err(failed(name))?;
        let count: i64 = row.try_get(0).map_err(failed(name))?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    pub(super) async fn waits(&self, id: &PromiseId) -> Result<Waits, StoreError> {
        let name = "read who waits";
        let found = self.pool.fetch_all(sqlx::query(WAITS).bind(id.as_str())).await;
        let mut waits = Waits::default();
        for row in &found.map_err(failed(name))? {
            let other = PromiseId::new(row.try_get::<&str, _>(1).map_err(failed(name))?);
            match row.try_get::<i64, _>(0).map_err(failed(name))? {
                1 => waits.awaits.push(other),
                _ => waits.awaited_by.push(other),
            }
        }
        Ok(waits)
    }

    pub(super) async fn due(&self, now: Timestamp, limit: u32) -> Result<Due, StoreError> {
        let deadlines = sqlx::query(DEADLINES).bind(i64::from(limit) + 1);
        let mut wakes = Vec::new();
        let deadlines = self.first_due("read deadlines", deadlines, now, limit, |row, id| {
            // Whom it wakes is only a hint.
            wakes.extend(sql::wake(row, 2, &id).ok().flatten());
            Ok(Command::PromiseDue { id })
        });
        let deadlines = deadlines.await?;
        let deadlines = Due { wakes, ..deadlines };
        let left = limit.saturating_sub(deadlines.commands.len() as u32);
        let timers = sqlx::query(TIMERS).bind(i64::from(left) + 1);
        let timers =
            self.first_due(
                "read timers",
                timers,
                now,
                left,
                |row, id| match TaskStatus::from_number(row.try_get(2)?) {
                    Some(TaskStatus::Acquired) => Ok(Command::LeaseDue { id }),
                    _ => Ok(Command::RetryDue { id }),
                },
            );
        let due = deadlines.and(timers.await?);
        let left = limit.saturating_sub(due.commands.len() as u32);
        Ok(due.and(self.schedules_due(now, left).await?))
    }

    pub(super) async fn outbox_due(
        &self,
        kind: MessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Due, StoreError> {
        let owed = sqlx::query(OUTBOX).bind(i64::from(limit) + 1).bind(kind.number());
        let due = self.first_due("read messages", owed, now, limit, |row, id| {
            Ok(Command::OutboxDue { key: sql::outbox_key(row, 2, &id)? })
        });
        due.await
    }

    pub(super) async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Ready>, StoreError> {
        let name = "read tasks that wait for a worker";
        let query = sqlx::query(READY).bind(after.unwrap_or(i64::MIN)).bind(now.0).bind(limit);
        let found = self.pool.fetch_all(query).await.map_err(failed(name))?;
        sql::readable(found.iter().map(sql::ready)).map_err(failed(name))
    }

    pub(super) async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        let query = sqlx::query(COMPONENT).bind(digest.0.to_vec());
        let name = "read a component";
        let found = self.pool.fetch_optional(query).await.map_err(failed(name))?;
        let bytes =
            |row: SqliteRow| row.try_get::<&[u8], _>(0).map(Arc::from).map_err(failed(name));
        found.map(bytes).transpose()
    }

    pub(super) async fn modules(&self) -> Result<Vec<ModuleRow>, StoreError> {
        let name = "read modules";
        let found = self.pool.fetch_all(sqlx::query(MODULES)).await.map_err(failed(name))?;
        sql::readable(found.iter().map(sql::module)).map_err(failed(name))
    }

    pub(super) async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        let name = "count what runs modules";
        let found = self.pool.fetch_all(sqlx::query(IN_USE).bind(COUNTED)).await;
        let found = found.map_err(failed(name))?;
        let mut in_use = BTreeMap::new();
        for row in &found {
            in_use.extend([sql::counted(row).map_err(failed(name))?]);
        }
        in_use.retain(|_, count| *count > 0);
        Ok(in_use)
    }

    /// The first rows of a query that lists (id, instant, …) by instant, as far as they are due. It asks for one more
    /// than `limit`, to know when to come again.
    pub(super) async fn first_due(
        &self,
        name: &'static str,
        query: Query<'_, Sqlite, SqliteArguments>,
        now: Timestamp,
        limit: u32,
        mut command: impl FnMut(&SqliteRow, PromiseId) -> Result<Command, sqlx::Error>,
    ) -> Result<Due, StoreError> {
        let found = self.pool.fetch_all(query).await.map_err(failed(name))?;
        let mut due = Due::default();
        for row in &found {
            let at = Timestamp(row.try_get(1).map_err(failed(name))?);
            if at > now || due.commands.len() == limit as usize {
                due.next = Some(at);
                break;
            }
            let found = sql::id(row, 0).and_then(|id| command(row, id));
            // What does not even say what it is must not keep the others back.
            match found {
                Ok(command) => due.commands.push(command),
                Err(error) => drop(sql::unreadable(error).map_err(failed(name))?),
            }
        }
        Ok(due)
    }
}

fn pool() -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
}

/// Whatever is run on this connection from now on ends after this time.
async fn end_after(
    connection: &mut SqliteConnection,
    clock: Arc<dyn Clock>,
    limit: Millis,
) -> Result<(), sqlx::Error> {
    let length = Duration::from_millis(u64::try_from(limit.0).unwrap_or_default());
    let end = clock.elapsed().saturating_add(length);
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(LOOK_AT_CLOCK, move || clock.elapsed() < end);
    Ok(())
}

/// Bytes of the pages that a connection holds.
async fn bytes_held(connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let mut handle = connection.lock_handle().await?;
    // SAFETY: the handle is locked, so the connection's own thread leaves it alone.
    Ok(unsafe { page_bytes(handle.as_raw_handle().as_ptr()) })
}

/// What a failed read is to whoever asked.
pub(super) fn failed(statement: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| match source {
        sqlx::Error::PoolClosed => StoreError::Closed,
        // Only the clients' connections have a limit.
        source if failure::primary_code(&source) == Some(failure::INTERRUPTED) => {
            StoreError::TooLong { statement, seconds: limits::CLIENT_READ.0 / 1_000 }
        }
        source => StoreError::Database { statement, source },
    }
}

/// A promise with its task.
pub(super) fn promise_row(row: &SqliteRow) -> Result<PromiseRow, sqlx::Error> {
    let (_, promise) = sql::promise(row)?;
    let task = sql::task(row, promise.id())?;
    Ok(PromiseRow { promise, task })
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 12] = [
    PROMISES,
    JOURNAL,
    JOURNAL_UNMERGED,
    LOGS,
    WAITS,
    DEADLINES,
    TIMERS,
    READY,
    OUTBOX,
    COMPONENT,
    MODULES,
    IN_USE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::SqliteConfig;
    use segno_env::SystemClock;

    const ENDLESS: &str = "
        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT count(*) FROM numbers";

    #[tokio::test]
    async fn what_a_client_asks_for_ends_in_time() {
        let dir = tempfile::tempdir().expect("a directory");
        let config = SqliteConfig::new(dir.path());
        let directory = DataDirectory::open(&config).await.expect("it opens");
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let reader = Reader::for_clients(&directory, Arc::default(), &clock, Millis(50));
        // The second time over a connection that was used before.
        for _ in 0..2 {
            let ended = reader.pool.fetch_one(ENDLESS).await.map_err(failed("count numbers"));
            let ended = ended.expect_err("it has no end");
            assert!(matches!(ended, StoreError::TooLong { .. }), "{ended:?}");
            assert!(ended.to_string().contains("narrow the filter"), "{ended}");
            assert!(reader.promises(&["a".into()]).await.expect("a read")[0].is_none());
        }
    }
}
