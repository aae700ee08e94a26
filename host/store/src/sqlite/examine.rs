//! The statements that read a page of promises with everything that belongs to them.

use segno_core::{id::PromiseId, state::State};
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use crate::{
    Examined,
    sql::{promise_columns, promise_tables, schedule_columns},
};

const PAGE: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.n > ?1 ORDER BY p.n LIMIT ?2",
);

const PAGE_OF: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.made_by = (SELECT n FROM promises WHERE id = ?3) AND p.n > ?1 ORDER BY p.n LIMIT ?2",
);

const BY_ID: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM json_each(?1) wanted JOIN promises p ON p.id = wanted.value ",
    promise_tables!(),
);

/// One pending attached promise of each of these that was not asked to stop, if there is one.
const FIRST_CHILDREN: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM json_each(?1) wanted JOIN promises p ON p.n =
          (SELECT min(child.n) FROM promises child LEFT JOIN tasks asked ON asked.n = child.n
            WHERE child.made_by = wanted.value AND child.state = 0 AND child.attached = 1
              AND ifnull(asked.cancel, 0) = 0) ",
    promise_tables!(),
);

const JOURNALS: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished, records, inv, first_seq
      FROM json_each(?1) wanted JOIN journal ON inv = wanted.value JOIN promises ON promises.n = inv
     UNION ALL
    SELECT (SELECT id FROM promises WHERE n = inv), end_seq, commands, notified, at, finished, records, inv, first_seq
      FROM journal_ahead WHERE inv IN (SELECT value FROM json_each(?1))
     ORDER BY inv, first_seq";

const SIGNAL_KEYS: &str = "
    SELECT promises.id, signal_keys.key, number FROM json_each(?1) wanted JOIN signal_keys ON inv = wanted.value
      JOIN promises ON promises.n = inv";

const FACTS: &str = "
    SELECT promises.id, saga, seq, fact, promise, compensate, unknown, at
      FROM json_each(?1) wanted JOIN compensations ON inv = wanted.value JOIN promises ON promises.n = inv";

const MODULES: &str = "SELECT digest FROM modules";

/// Few, and all of them belong to the first page.
const SCHEDULES: &str = concat!("SELECT ", schedule_columns!(), "FROM schedules");

const CALLBACKS_ON: &str = "
    SELECT awaited.id, awaiter.id, consumed FROM json_each(?1) wanted
      JOIN callbacks ON callbacks.awaited = wanted.value
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter";

const CALLBACKS_BY: &str = "
    SELECT awaited.id, awaiter.id, consumed FROM json_each(?1) wanted
      JOIN callbacks ON callbacks.awaiter = wanted.value
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter";

const LISTENERS: &str = "
    SELECT promises.id, address FROM json_each(?1) wanted JOIN listeners ON awaited = wanted.value
      JOIN promises ON promises.n = awaited";

const OUTBOX: &str = "
    SELECT promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message
      FROM json_each(?1) wanted JOIN outbox ON source = wanted.value JOIN promises ON promises.n = source";

/// Reads the `limit` promises after `after`, of those that `maker` made if one is given.
pub(super) async fn read(
    connection: &mut SqliteConnection,
    maker: Option<&PromiseId>,
    after: i64,
    limit: u32,
) -> Result<Examined, sqlx::Error> {
    let query = match maker {
        None => sqlx::query(PAGE).bind(after).bind(limit),
        Some(maker) => sqlx::query(PAGE_OF).bind(after).bind(limit).bind(maker.as_str()),
    };
    let found = query.fetch_all(&mut *connection).await?;
    let mut page = Examined { state: State::whole(), ..Examined::default() };
    let mut numbers = Vec::with_capacity(found.len());
    for row in &found {
        numbers.push(page.put_member(row)?);
    }
    page.next = numbers.last().copied().filter(|_| found.len() == limit as usize);
    let numbers = serde_json::to_string(&numbers).expect("numbers are JSON");
    for row in &sqlx::query(MODULES).fetch_all(&mut *connection).await? {
        page.put_module(row);
    }
    if maker.is_none() && after == 0 {
        for row in &sqlx::query(SCHEDULES).fetch_all(&mut *connection).await? {
            page.put_schedule(row);
        }
    }
    for row in &all(connection, CALLBACKS_ON, &numbers).await? {
        page.put_callback(row)?;
    }
    for row in &all(connection, CALLBACKS_BY, &numbers).await? {
        page.put_callback(row)?;
    }
    for row in &all(connection, LISTENERS, &numbers).await? {
        page.put_listener(row)?;
    }
    for row in &all(connection, OUTBOX, &numbers).await? {
        page.put_message(row)?;
    }
    for row in &all(connection, SIGNAL_KEYS, &numbers).await? {
        page.put_signal_key(row)?;
    }
    for row in &all(connection, FACTS, &numbers).await? {
        page.put_fact(row);
    }
    for row in &all(connection, JOURNALS, &numbers).await? {
        page.put_journal(row)?;
    }
    for row in &all(connection, FIRST_CHILDREN, &numbers).await? {
        page.put(row)?;
    }
    let wanted = serde_json::to_string(&page.referenced()).expect("texts are JSON");
    for row in &all(connection, BY_ID, &wanted).await? {
        page.put(row)?;
    }
    Ok(page)
}

async fn all(
    connection: &mut SqliteConnection,
    statement: &'static str,
    wanted: &str,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    sqlx::query(statement).bind(wanted).fetch_all(connection).await
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 10] = [
    FACTS,
    PAGE_OF,
    BY_ID,
    FIRST_CHILDREN,
    JOURNALS,
    SIGNAL_KEYS,
    CALLBACKS_ON,
    CALLBACKS_BY,
    LISTENERS,
    OUTBOX,
];
