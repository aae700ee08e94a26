//! The statements that read a page of promises with everything that belongs to them.

use segno_core::{id::PromiseId, state::State};
use sqlx::{PgConnection, postgres::PgRow};

use super::fields::escape;
use crate::{
    Examined,
    sql::{promise_columns, promise_tables, schedule_columns},
};

const PAGE: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.n > $1 ORDER BY p.n LIMIT $2",
);

const PAGE_OF: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.made_by = (SELECT n FROM promises WHERE id = $3) AND p.n > $1 ORDER BY p.n LIMIT $2",
);

const BY_ID: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.id = ANY($1::text[])",
);

/// One pending attached promise of each of these that was not asked to stop, if there is one.
const FIRST_CHILDREN: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM unnest($1::bigint[]) wanted (n) JOIN promises p ON p.n =
          (SELECT min(child.n) FROM promises child LEFT JOIN tasks asked ON asked.n = child.n
            WHERE child.made_by = wanted.n AND child.state = 0 AND child.attached = 1
              AND coalesce(asked.cancel, 0) = 0) ",
    promise_tables!(),
);

const JOURNALS: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished, records
      FROM journal JOIN promises ON promises.n = inv
     WHERE inv = ANY($1::bigint[]) ORDER BY inv, first_seq";

const SIGNAL_KEYS: &str = "
    SELECT promises.id, signal_keys.key, number FROM signal_keys JOIN promises ON promises.n = inv
     WHERE inv = ANY($1::bigint[])";

const FACTS: &str = "
    SELECT promises.id, saga, seq, fact, promise, compensate, unknown, at
      FROM compensations JOIN promises ON promises.n = inv WHERE inv = ANY($1::bigint[])";

const MODULES: &str = "SELECT digest FROM modules";

/// Few, and all of them belong to the first page.
const SCHEDULES: &str = concat!("SELECT ", schedule_columns!(), "FROM schedules");

const CALLBACKS: &str = "
    SELECT awaited.id, awaiter.id, consumed FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter
     WHERE callbacks.awaited = ANY($1::bigint[]) OR callbacks.awaiter = ANY($1::bigint[])";

const LISTENERS: &str = "
    SELECT promises.id, address FROM listeners JOIN promises ON promises.n = awaited
     WHERE awaited = ANY($1::bigint[])";

const OUTBOX: &str = "
    SELECT promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message
      FROM outbox JOIN promises ON promises.n = source WHERE source = ANY($1::bigint[])";

/// Reads the `limit` promises after `after`, of those that `maker` made if one is given.
pub(super) async fn read(
    connection: &mut PgConnection,
    maker: Option<&PromiseId>,
    after: i64,
    limit: u32,
) -> Result<Examined, sqlx::Error> {
    let query = match maker {
        None => sqlx::query(PAGE).bind(after).bind(i64::from(limit)),
        Some(maker) => {
            sqlx::query(PAGE_OF).bind(after).bind(i64::from(limit)).bind(escape(maker.as_str()))
        }
    };
    let found = query.fetch_all(&mut *connection).await?;
    let mut page = Examined { state: State::whole(), ..Examined::default() };
    let mut numbers = Vec::with_capacity(found.len());
    for row in &found {
        numbers.push(page.put_member(row)?);
    }
    page.next = numbers.last().copied().filter(|_| found.len() == limit as usize);
    for row in &sqlx::query(MODULES).fetch_all(&mut *connection).await? {
        page.put_module(row);
    }
    if maker.is_none() && after == 0 {
        for row in &sqlx::query(SCHEDULES).fetch_all(&mut *connection).await? {
            page.put_schedule(row);
        }
    }
    for row in &all(connection, CALLBACKS, &numbers).await? {
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
    let wanted = page.referenced();
    let wanted: Vec<String> = wanted.iter().map(|id| escape(id.as_str()).into_owned()).collect();
    for row in &sqlx::query(BY_ID).bind(wanted).fetch_all(&mut *connection).await? {
        page.put(row)?;
    }
    Ok(page)
}

async fn all(
    connection: &mut PgConnection,
    statement: &'static str,
    numbers: &[i64],
) -> Result<Vec<PgRow>, sqlx::Error> {
    sqlx::query(statement).bind(numbers).fetch_all(connection).await
}
