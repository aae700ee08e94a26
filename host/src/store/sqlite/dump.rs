//! Everything that is kept, read in one transaction.

use segno_core::{
    id::{NodeName, PromiseId},
    state::State,
    value::Text,
};
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};

use super::{
    load,
    reader::{Reader, failed},
    rows::{self, promise_columns, promise_tables},
};
use crate::store::StoreError;

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
        let (_, promise) = rows::promise(row)?;
        if let Some(task) = rows::task(row, promise.id())? {
            state.put_task(task);
        }
        state.put_promise(promise);
    }
    for row in &all(connection, CALLBACKS).await? {
        state.put_callback(id(row, 0)?, id(row, 1)?, row.try_get(2)?);
    }
    for row in &all(connection, LISTENERS).await? {
        state.put_listener(id(row, 0)?, text(row, 1)?);
    }
    for row in &all(connection, OUTBOX).await? {
        let (key, message) = rows::outbox(row, 1, &id(row, 0)?)?;
        state.put_outbox(key, message);
    }
    for row in &all(connection, JOURNALS).await? {
        let invocation = id(row, 0)?;
        let mut records = state.tail(&invocation).to_vec();
        records.extend(load::records(row, 6, &invocation)?);
        state.put_tail(invocation.clone(), records);
        state.put_head(invocation, rows::head(row, 1)?);
    }
    for row in &all(connection, MODULES).await? {
        state.put_module(rows::digest(row.try_get(0)?, &"modules")?);
    }
    for row in &all(connection, ALIASES).await? {
        let name = text(row, 0)?;
        let digest = rows::digest(row.try_get(1)?, &name)?;
        state.put_alias(name, digest);
    }
    for row in &all(connection, HOSTS).await? {
        let node = NodeName::new(row.try_get::<&str, _>(0)?);
        state.put_host(node, row.try_get::<i64, _>(1)?.cast_unsigned());
    }
    for row in &all(connection, SIGNAL_KEYS).await? {
        state.put_signal_key(id(row, 0)?, text(row, 1)?, row.try_get(2)?);
    }
    Ok(state)
}

async fn all(
    connection: &mut SqliteConnection,
    statement: &'static str,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    sqlx::query(statement).fetch_all(connection).await
}

fn id(row: &SqliteRow, column: usize) -> Result<PromiseId, sqlx::Error> {
    row.try_get::<&str, _>(column).map(PromiseId::new)
}

fn text(row: &SqliteRow, column: usize) -> Result<Text, sqlx::Error> {
    row.try_get::<&str, _>(column).map(Text::from)
}
