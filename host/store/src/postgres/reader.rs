//! Reads, on connections of their own: each statement sees everything that was committed when it began.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use segno_core::{
    command::Command,
    id::{Digest, PromiseId},
    invocation::Record,
    promise::{MessageKind, TaskStatus},
    time::Timestamp,
};
use sqlx::{
    Executor as _, PgPool, Postgres, Row as _,
    postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgRow},
    query::Query,
};

use super::{
    failure::{self, Failed},
    fields::escape,
};
use crate::{
    COUNTED, Due, LogRow, ModuleRow, PromiseRow, Ready, StoreError, Waits, limits,
    sql::{self, Fields as _, promise_columns, promise_tables},
};

/// How long a read waits for a connection: for a free one, or for a database that is away.
const PATIENCE: Duration = Duration::from_secs(5);

const PROMISES: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.id = ANY($1::text[])",
);

const JOURNAL: &str = "
    WITH journal_of AS (SELECT n FROM promises WHERE id = $1)
    SELECT records FROM journal, journal_of
     WHERE inv = journal_of.n AND first_seq < $2::bigint + $3::bigint AND end_seq > $2
       AND first_seq >= (SELECT max(first_seq) FROM journal WHERE inv = journal_of.n AND first_seq <= $2)
     ORDER BY first_seq";

/// The last column numbers the last line of a row, from 1.
const LOGS: &str = "
    SELECT found.lines, found.count, last FROM
           (SELECT n, count, (sum(count) OVER (ORDER BY n))::bigint AS last FROM logs
             WHERE inv = (SELECT n FROM promises WHERE id = $1)) AS numbered
      JOIN logs AS found USING (n)
     WHERE last > $2 AND last - found.count < $2::bigint + $3::bigint
     ORDER BY n";

const LOG_COUNT: &str = "
    SELECT coalesce(sum(count), 0)::bigint FROM logs WHERE inv = (SELECT n FROM promises WHERE id = $1)";

const WAITS: &str = "
    SELECT 1, other.id FROM promises p JOIN callbacks ON awaiter = p.n AND consumed = 0
      JOIN promises other ON other.n = awaited WHERE p.id = $1
     UNION ALL
    SELECT 2, other.id FROM promises p JOIN callbacks ON awaited = p.n AND consumed = 0
      JOIN promises other ON other.n = awaiter WHERE p.id = $1
     ORDER BY 1, 2";

/// Deadlines that have come, the earliest first, and of those who wait for each the first, if it is suspended and hosts
/// run it. The last row of this and the like says when the next one comes: what is not due is not read.
/// The number is [`Timestamp::NEVER`], as the index has it.
const DEADLINES: &str = "
    (SELECT p.id, p.timeout_at, waiting.id, tasks.version
       FROM promises p
       LEFT JOIN tasks ON tasks.n = (SELECT min(awaiter) FROM callbacks WHERE awaited = p.n AND consumed = 0)
                      AND tasks.state = 3 AND hosted = 1
       LEFT JOIN promises waiting ON waiting.n = tasks.n
      WHERE p.state = 0 AND p.timeout_at < 253402300799999 AND p.timeout_at <= $1
      ORDER BY p.timeout_at, p.n LIMIT $2)
     UNION ALL
    SELECT NULL, min(timeout_at), NULL, NULL FROM promises
     WHERE state = 0 AND timeout_at < 253402300799999 AND timeout_at > $1";

/// Leases that ran out and retries whose time has come, the earliest first.
const TIMERS: &str = "
    (SELECT promises.id, wake_at, tasks.state FROM tasks JOIN promises USING (n)
      WHERE wake_at < 253402300799999 AND wake_at <= $1
      ORDER BY wake_at, tasks.n LIMIT $2)
     UNION ALL
    SELECT NULL, min(wake_at), NULL FROM tasks WHERE wake_at < 253402300799999 AND wake_at > $1";

const READY: &str = "
    SELECT promises.n, promises.id, tasks.version, promises.target
      FROM tasks JOIN promises USING (n)
     WHERE tasks.state = 1 AND hosted = 1 AND offered = 1 AND tasks.n > $1 AND timeout_at > $2
     ORDER BY tasks.n LIMIT $3";

const OUTBOX: &str = "
    (SELECT promises.id, next_at, kind, part FROM outbox JOIN promises ON promises.n = source
      WHERE kind = $3 AND next_at <= $1
      ORDER BY next_at, source, part LIMIT $2)
     UNION ALL
    SELECT NULL, min(next_at), NULL, NULL FROM outbox
     WHERE kind = $3 AND next_at > $1 AND next_at < 253402300799999";

const COMPONENT: &str = "SELECT component FROM modules WHERE digest = $1";

/// A component once more is the same one.
const PUT_COMPONENT: &str = "
    INSERT INTO modules (digest, created_at, description, component) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING";

const SAME_AS_BEFORE: &str = "
    UPDATE hosts SET incarnation = incarnation WHERE node = (SELECT node FROM hosts ORDER BY node LIMIT 1)";

const REMOVE_COMPONENT: &str = "
    DELETE FROM modules
     WHERE digest = $1 AND created_at <= $2
       AND NOT EXISTS (SELECT 1 FROM aliases WHERE module = modules.n)
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE module = modules.n)";

const MODULES: &str = "
    SELECT digest, octet_length(component)::bigint, created_at, description,
           (SELECT coalesce(json_agg(name ORDER BY name), '[]')::text FROM aliases WHERE module = modules.n)
      FROM modules ORDER BY digest";

const IN_USE: &str = "
    SELECT digest, (SELECT count(*) FROM (
           SELECT 1 FROM tasks WHERE module = modules.n AND module IS NOT NULL AND state <> 5 LIMIT $1) counted)
      FROM modules";

/// The connections that read.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) pool: PgPool,
}

impl Reader {
    /// Connections are made when they are first needed.
    pub(super) fn new(options: PgConnectOptions, connections: u32) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(PATIENCE)
            .idle_timeout(Duration::from_secs(60))
            .connect_lazy_with(options);
        Self { pool }
    }

    pub(super) async fn promises(
        &self,
        ids: &[PromiseId],
    ) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        let name = "read promises";
        let wanted: Vec<_> = ids.iter().map(|id| escape(id.as_str()).into_owned()).collect();
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
        let query = sqlx::query(JOURNAL)
            .bind(escape(id.as_str()))
            .bind(i64::from(from))
            .bind(i64::from(limit));
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
        let query = sqlx::query(LOGS)
            .bind(escape(id.as_str()))
            .bind(i64::from(from))
            .bind(i64::from(limit));
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
        let query = sqlx::query(LOG_COUNT).bind(escape(id.as_str()));
        let row = self.pool.fetch_one(query).await.map_err(failed(name))?;
        let count: i64 = row.try_get(0).map_err(failed(name))?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    pub(super) async fn waits(&self, id: &PromiseId) -> Result<Waits, StoreError> {
        let name = "read who waits";
        let found = self.pool.fetch_all(sqlx::query(WAITS).bind(escape(id.as_str()))).await;
        let mut waits = Waits::default();
        for row in &found.map_err(failed(name))? {
            let other = sql::id(row, 1).map_err(failed(name))?;
            match row.int(0).map_err(failed(name))? {
                Some(1) => waits.awaits.push(other),
                _ => waits.awaited_by.push(other),
            }
        }
        Ok(waits)
    }

    /// Deadlines, and unless `leases_rest` leases; and retries.
    pub(super) async fn due(
        &self,
        now: Timestamp,
        limit: u32,
        leases_rest: bool,
    ) -> Result<Due, StoreError> {
        let mut wakes = Vec::new();
        let deadlines = first(DEADLINES, now, limit);
        let deadlines = self.first_due("read deadlines", deadlines, limit, |row, id| {
            // Whom it wakes is only a hint.
            wakes.extend(sql::wake(row, 2, &id).ok().flatten());
            Ok(Command::PromiseDue { id })
        });
        let deadlines = deadlines.await?;
        let deadlines = Due { wakes, ..deadlines };
        let left = limit.saturating_sub(deadlines.commands.len() as u32);
        let timers = first(TIMERS, now, left);
        let timers = self.first_due("read timers", timers, left, |row, id| {
            match TaskStatus::from_number(sql::small(row, 2, &id, "state")?) {
                Some(TaskStatus::Acquired) => Ok(Command::LeaseDue { id }),
                _ => Ok(Command::RetryDue { id }),
            }
        });
        let mut timers = timers.await?;
        if leases_rest {
            timers.commands.retain(|command| !matches!(command, Command::LeaseDue { .. }));
        }
        let due = deadlines.and(timers);
        let left = limit.saturating_sub(due.commands.len() as u32);
        Ok(due.and(self.schedules_due(now, left).await?))
    }

    pub(super) async fn outbox_due(
        &self,
        kind: MessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Due, StoreError> {
        let owed = first(OUTBOX, now, limit).bind(i64::from(kind.number()));
        let due = self.first_due("read messages", owed, limit, |row, id| {
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
        let query =
            sqlx::query(READY).bind(after.unwrap_or(i64::MIN)).bind(now.0).bind(i64::from(limit));
        let found = self.pool.fetch_all(query).await.map_err(failed(name))?;
        sql::readable(found.iter().map(sql::ready)).map_err(failed(name))
    }

    pub(super) async fn put_component(
        &self,
        digest: Digest,
        component: &[u8],
        description: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(PUT_COMPONENT)
            .bind(digest.0.to_vec())
            .bind(now.0)
            .bind(escape(description))
            .bind(component);
        self.pool.execute(query).await.map(drop).map_err(failed("keep a component"))
    }

    /// Commits a row that says what it said before.
    pub(super) async fn try_writing(&self) -> Result<(), StoreError> {
        self.pool.execute(SAME_AS_BEFORE).await.map(drop).map_err(failed("try to write"))
    }

    /// Forgets everything but modules, aliases and hosts.
    pub(super) async fn wipe(&self) -> Result<(), StoreError> {
        let failed = failed("forget everything");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        for statement in sql::WIPE {
            transaction.execute(statement).await.map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)
    }

    /// Removes a module that nobody refers to. A reference that is made at the same time wins.
    pub(super) async fn remove_component(
        &self,
        digest: Digest,
        before: Timestamp,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(REMOVE_COMPONENT).bind(digest.0.to_vec()).bind(before.0);
        match self.pool.execute(query).await {
            Ok(done) => Ok(done.rows_affected() > 0),
            Err(sqlx::Error::Database(error)) if error.is_foreign_key_violation() => Ok(false),
            Err(error) => Err(failed("remove a component")(error)),
        }
    }

    pub(super) async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        let query = sqlx::query(COMPONENT).bind(digest.0.to_vec());
        let name = "read a component";
        let found = self.pool.fetch_optional(query).await.map_err(failed(name))?;
        let bytes = |row: PgRow| row.try_get::<&[u8], _>(0).map(Arc::from).map_err(failed(name));
        found.map(bytes).transpose()
    }

    pub(super) async fn modules(&self) -> Result<Vec<ModuleRow>, StoreError> {
        let name = "read modules";
        let found = self.pool.fetch_all(sqlx::query(MODULES)).await.map_err(failed(name))?;
        sql::readable(found.iter().map(sql::module)).map_err(failed(name))
    }

    pub(super) async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        let name = "count what runs modules";
        let found = self.pool.fetch_all(sqlx::query(IN_USE).bind(i64::from(COUNTED))).await;
        let found = found.map_err(failed(name))?;
        let mut in_use = BTreeMap::new();
        for row in &found {
            in_use.extend([sql::counted(row).map_err(failed(name))?]);
        }
        in_use.retain(|_, count| *count > 0);
        Ok(in_use)
    }

    /// What a query of [`first`] found: (id, instant, …) by instant, and at the end the instant of the next without id.
    pub(super) async fn first_due(
        &self,
        name: &'static str,
        query: Query<'_, Postgres, PgArguments>,
        limit: u32,
        mut command: impl FnMut(&PgRow, PromiseId) -> Result<Command, sqlx::Error>,
    ) -> Result<Due, StoreError> {
        let found = self.pool.fetch_all(query).await.map_err(failed(name))?;
        let mut due = Due::default();
        for row in &found {
            let at = row.int(1).map_err(failed(name))?.map(Timestamp);
            let is_due = row.text(0).map_err(failed(name))?.is_some();
            if !is_due || due.commands.len() == limit as usize {
                due.next = at;
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

/// Asks for what is due, one more than `limit`, to know whether there is more.
pub(super) fn first(
    statement: &'static str,
    now: Timestamp,
    limit: u32,
) -> Query<'static, Postgres, PgArguments> {
    sqlx::query(statement).bind(now.0).bind(i64::from(limit) + 1)
}

/// What a failed read is to whoever asked.
pub(super) fn failed(statement: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| match source {
        sqlx::Error::PoolClosed => StoreError::Closed,
        source if failure::code(&source).is_some_and(|code| code == failure::TOO_LONG) => {
            StoreError::TooLong { statement, seconds: limits::CLIENT_READ.0 / 1_000 }
        }
        source => Failed { statement, source }.explain(),
    }
}

/// A promise with its task.
pub(super) fn promise_row(row: &PgRow) -> Result<PromiseRow, sqlx::Error> {
    let (_, promise) = sql::promise(row)?;
    let task = sql::task(row, promise.id())?;
    Ok(PromiseRow { promise, task })
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 10] =
    [PROMISES, JOURNAL, LOGS, LOG_COUNT, WAITS, DEADLINES, TIMERS, READY, OUTBOX, COMPONENT];
