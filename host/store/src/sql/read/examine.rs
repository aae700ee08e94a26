//! Reads a page of promises with everything that belongs to them.

use std::collections::BTreeSet;

use segno_core::{
    id::{ObjectId, PromiseId},
    view::View,
};
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use super::{
    DatabaseKind, DatabaseSession, Parameter, Select,
    large_values::{chunks_of, chunks_of_records},
    limits::{LIMITS, PARTITIONS},
    objects::LINES,
};
use crate::{
    ExaminedPage,
    sql::{
        OWNED, OwnedTable, SqlFailure, StoredPromise, module_facts_column, promise_columns,
        promise_tables, schedule_columns,
    },
};

const PAGE: Select = Select::common(concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.n > $1 ORDER BY p.n LIMIT $2",
));

const PAGE_OF: Select = Select::common(concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.made_by = (SELECT n FROM promises WHERE id = $3) AND p.n > $1 ORDER BY p.n LIMIT $2",
));

const BY_ID: Select = Select::differing(
    concat!(
        "SELECT ",
        promise_columns!(),
        "FROM json_each($1) wanted JOIN promises p ON p.id = wanted.value ",
        promise_tables!(),
    ),
    concat!(
        "SELECT ",
        promise_columns!(),
        "FROM promises p ",
        promise_tables!(),
        "WHERE p.id = ANY($1::text[])",
    ),
);

/// For each promise, its oldest pending attached child without a cancellation request, if there is
/// one.
const FIRST_CHILDREN: Select = Select::differing(
    concat!(
        "SELECT ",
        promise_columns!(),
        "FROM json_each($1) wanted JOIN promises p ON p.n =
          (SELECT min(child.n) FROM promises child LEFT JOIN tasks asked ON asked.n = child.n
            WHERE child.made_by = wanted.value AND child.state = 0 AND child.attached = 1
              AND ifnull(asked.cancel, 0) = 0) ",
        promise_tables!(),
    ),
    concat!(
        "SELECT ",
        promise_columns!(),
        "FROM unnest($1::bigint[]) wanted (n) JOIN promises p ON p.n =
          (SELECT min(child.n) FROM promises child LEFT JOIN tasks asked ON asked.n = child.n
            WHERE child.made_by = wanted.n AND child.state = 0 AND child.attached = 1
              AND coalesce(asked.cancel, 0) = 0) ",
        promise_tables!(),
    ),
);

const JOURNALS: Select = Select::differing("
    SELECT promises.id, end_seq, commands, notified, at, finished, records, inv, first_seq
      FROM json_each($1) wanted JOIN journal ON inv = wanted.value JOIN promises ON promises.n = inv
     UNION ALL
    SELECT (SELECT id FROM promises WHERE n = inv), end_seq, commands, notified, at, finished, records, inv, first_seq
      FROM journal_ahead WHERE inv IN (SELECT value FROM json_each($1))
     ORDER BY inv, first_seq", "
    SELECT promises.id, end_seq, commands, notified, at, finished, records
      FROM journal JOIN promises ON promises.n = inv
     WHERE inv = ANY($1::bigint[]) ORDER BY inv, first_seq");

const SIGNAL_KEYS: Select = Select::differing("
    SELECT promises.id, signal_keys.key, number FROM json_each($1) wanted JOIN signal_keys ON inv = wanted.value
      JOIN promises ON promises.n = inv", "
    SELECT promises.id, signal_keys.key, number FROM signal_keys JOIN promises ON promises.n = inv
     WHERE inv = ANY($1::bigint[])");

/// Selects the rows of an owned table that belong to these invocations.
fn of_invocations(kind: DatabaseKind, owned: &OwnedTable) -> String {
    let (name, first) = (owned.table.name, owned.table.first());
    match kind {
        // The list comes first, so that SQLite iterates over it instead of the table.
        DatabaseKind::Sqlite => format!(
            "SELECT promises.id, {} FROM json_each($1) wanted JOIN {name} ON {name}.{first} = wanted.value \
             JOIN promises ON promises.n = {name}.{first}",
            owned.table.of_table(1)
        ),
        DatabaseKind::Postgres => {
            format!("{} WHERE {name}.{first} = ANY($1::bigint[])", owned.select())
        }
    }
}

const LISTENERS: Select = Select::differing(
    "
    SELECT promises.id, address FROM json_each($1) wanted JOIN listeners ON awaited = wanted.value
      JOIN promises ON promises.n = awaited",
    "
    SELECT promises.id, address FROM listeners JOIN promises ON promises.n = awaited
     WHERE awaited = ANY($1::bigint[])",
);

const OUTBOX: Select = Select::differing("
    SELECT promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message
      FROM json_each($1) wanted JOIN outbox ON source = wanted.value JOIN promises ON promises.n = source", "
    SELECT promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message
      FROM outbox JOIN promises ON promises.n = source WHERE source = ANY($1::bigint[])");

const BUDGETS: Select = Select::differing(
    "SELECT account, units FROM json_each($1) wanted JOIN budgets ON account = wanted.value",
    "SELECT account, units FROM budgets WHERE account = ANY($1::text[])",
);

const MODULES: Select =
    Select::common(concat!("SELECT digest, ", module_facts_column!(), " FROM modules"));

/// Schedules are few; all of them belong to the first page.
const SCHEDULES: Select =
    Select::common(concat!("SELECT ", schedule_columns!(), " FROM schedules"));

/// Callbacks on these promises and by them: two parts for SQLite, so that each uses its index.
const CALLBACKS: Select = Select::differing(
    "
    SELECT awaited.id, awaiter.id, consumed FROM json_each($1) wanted
      JOIN callbacks ON callbacks.awaited = wanted.value
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter
     UNION ALL
    SELECT awaited.id, awaiter.id, consumed FROM json_each($1) wanted
      JOIN callbacks ON callbacks.awaiter = wanted.value
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter",
    "
    SELECT awaited.id, awaiter.id, consumed FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter
     WHERE callbacks.awaited = ANY($1::bigint[]) OR callbacks.awaiter = ANY($1::bigint[])
     UNION ALL
    SELECT awaited, awaiter, consumed FROM promises JOIN crossings ON awaited = id WHERE n = ANY($1::bigint[])
     UNION ALL
    SELECT awaited, awaiter, consumed FROM promises JOIN crossings ON awaiter = id WHERE n = ANY($1::bigint[])",
);

/// Reads the `limit` promises after `after`; with a `maker`, only those it made.
pub(crate) async fn read<S: DatabaseSession>(
    session: &mut S,
    maker: Option<&PromiseId>,
    after: i64,
    limit: u32,
) -> Result<ExaminedPage, SqlFailure> {
    let found = match maker {
        None => session.all(&PAGE, &[after.into(), limit.into()]).await?,
        Some(maker) => session.all(&PAGE_OF, &[after.into(), limit.into(), maker.into()]).await?,
    };
    let mut page = ExaminedPage { view: View::new(), ..ExaminedPage::default() };
    let (mut numbers, mut large) = (Vec::with_capacity(found.len()), Vec::new());
    for row in &found {
        numbers.push(page.put_member(row, &mut large)?);
    }
    page.next = numbers.last().copied().filter(|_| found.len() == limit as usize);
    for row in &session.all(&MODULES, &[]).await? {
        page.put_module(row);
    }
    if maker.is_none() && after == 0 {
        for row in &session.all(&SCHEDULES, &[]).await? {
            page.put_schedule(row);
        }
    }
    let numbers = [Parameter::Numbers(&numbers)];
    for row in &session.all(&CALLBACKS, &numbers).await? {
        page.put_callback(row)?;
    }
    for row in &session.all(&LISTENERS, &numbers).await? {
        page.put_listener(row)?;
    }
    for row in &session.all(&OUTBOX, &numbers).await? {
        page.put_message(row)?;
    }
    for row in &session.all(&SIGNAL_KEYS, &numbers).await? {
        page.put_signal_key(row)?;
    }
    for owned in &OWNED {
        let text = AssertSqlSafe(of_invocations(S::KIND, owned)).into_sql_str();
        for row in &session.rows(text, &numbers).await? {
            page.put_owned(owned, row);
        }
    }
    let journals = session.all(&JOURNALS, &numbers).await?;
    let chunks = chunks_of_records(session, &journals, 6).await?;
    for row in &journals {
        page.put_journal(row, &chunks)?;
    }
    for row in &session.all(&FIRST_CHILDREN, &numbers).await? {
        page.put(row, &mut large)?;
    }
    put_large(session, &mut page, &mut large).await?;
    let referenced = page.referenced();
    for row in &session.all(&BY_ID, &[Parameter::ids(&referenced)]).await? {
        page.put(row, &mut large)?;
    }
    put_large(session, &mut page, &mut large).await?;
    let objects = page.objects();
    let objects = Parameter::Texts(objects.iter().map(ObjectId::as_str).collect());
    for row in &session.all(&LINES, &[objects]).await? {
        page.put_line(row);
    }
    let accounts = page.accounts();
    for row in &session.all(&BUDGETS, &[Parameter::ids(&accounts)]).await? {
        page.put_budget(row);
    }
    let (limits, partitions) = page.limits();
    for row in &session.all(&LIMITS, &[texts(&limits)]).await? {
        page.put_limit(row);
    }
    for row in &session.all(&PARTITIONS, &[texts(&partitions)]).await? {
        page.put_partition(row);
    }
    Ok(page)
}

/// Adds the promises with large values to the page.
async fn put_large(
    session: &mut impl DatabaseSession,
    page: &mut ExaminedPage,
    large: &mut Vec<StoredPromise>,
) -> Result<(), SqlFailure> {
    let chunks = chunks_of(session, large.iter().flat_map(StoredPromise::lists)).await?;
    large.drain(..).for_each(|stored| page.put_large(stored, &chunks));
    Ok(())
}

fn texts(ids: &BTreeSet<String>) -> Parameter<'_> {
    Parameter::Texts(ids.iter().map(String::as_str).collect())
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] =
    &[PAGE_OF, BY_ID, FIRST_CHILDREN, JOURNALS, SIGNAL_KEYS, CALLBACKS, LISTENERS, OUTBOX, BUDGETS];
