//! Everything that is kept, read in one transaction.

use segno_core::{id::NodeName, state::State};
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};

use super::reader::{Reader, failed};
use crate::store::{
    StoreError,
    sql::{self, promise_columns, promise_tables, schedule_columns},
};

const PROMISES: &str =
    concat!("SELECT ", promise_columns!(), "FROM promises p ", promise_tables!());

const CALLBACKS: &str = "
    SELECT awaited.id, awaiter.id, consumed FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited
      JOIN promises awaiter ON awaiter.n = callbacks.awaiter";

const LISTENERS: &str =
    "SELECT promises.id, address FROM listeners JOIN promises ON promises.n = awaited";

const OUTBOX: &str = "
    SELECT promises.id, kind, part, next_at, outbox.created_at, attempts, message
      FROM outbox JOIN promises ON promises.n = source";

/// In the order of the journals, so that the last row of each is its head.
const JOURNALS: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished, records
      FROM journal JOIN promises ON promises.n = inv ORDER BY inv, first_seq";

const ALIASES: &str = "SELECT name, digest FROM aliases JOIN modules ON modules.n = aliases.module";

const MODULES: &str = "SELECT digest FROM modules";

const HOSTS: &str = "SELECT node, incarnation FROM hosts";

const SIGNAL_KEYS: &str =
    "SELECT promises.id, key, number FROM signal_keys JOIN promises ON promises.n = inv";

const SCHEDULES: &str = concat!("SELECT ", schedule_columns!(), "FROM schedules");

impl Reader {
    /// Everything, as the model holds it.
    pub(super) async fn whole(&self) -> Result<State, StoreError> {
        let failed = failed("read everything");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        let state = whole(&mut transaction).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(state)
    }
}

async fn whole(connection: &mut SqliteConnection) -> Result<State, sqlx::Error> {
    let mut state = State::whole();
    for row in &all(connection, PROMISES).await? {
        let (_, promise) = sql::promise(row)?;
        if let Some(task) = sql::task(row, promise.id())? {
            state.put_task(task);
        }
        state.put_promise(promise);
    }
    for row in &all(connection, CALLBACKS).await? {
        state.put_callback(sql::id(row, 0)?, sql::id(row, 1)?, row.try_get(2)?);
    }
    for row in &all(connection, LISTENERS).await? {
        state.put_listener(sql::id(row, 0)?, sql::text(row, 1)?);
    }
    for row in &all(connection, OUTBOX).await? {
        let (key, message) = sql::outbox(row, 1, &sql::id(row, 0)?)?;
        state.put_outbox(key, message);
    }
    for row in &all(connection, JOURNALS).await? {
        let invocation = sql::id(row, 0)?;
        let mut records = state.tail(&invocation).to_vec();
        records.extend(sql::records(row, 6, &invocation)?);
        state.put_tail(invocation.clone(), records);
        let head = sql::head(row, 1, &invocation)?;
        state.put_head(invocation, head);
    }
    for row in &all(connection, MODULES).await? {
        state.put_module(sql::digest_at(row, 0)?);
    }
    for row in &all(connection, ALIASES).await? {
        state.put_alias(sql::text(row, 0)?, sql::digest_at(row, 1)?);
    }
    for row in &all(connection, HOSTS).await? {
        let node = NodeName::new(row.try_get::<&str, _>(0)?);
        state.put_host(node, row.try_get::<i64, _>(1)?.cast_unsigned());
    }
    for row in &all(connection, SIGNAL_KEYS).await? {
        state.put_signal_key(sql::id(row, 0)?, sql::text(row, 1)?, row.try_get(2)?);
    }
    for row in &all(connection, SCHEDULES).await? {
        state.put_schedule(sql::schedule(row)?);
    }
    Ok(state)
}

async fn all(
    connection: &mut SqliteConnection,
    statement: &'static str,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    sqlx::query(statement).fetch_all(connection).await
}
