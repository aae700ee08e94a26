//! Lists invocations, newest first.
//!
//! The cost of a page depends on the page, not on the store. If an index finds few enough
//! invocations, they are sorted. Any other filter is tested on a bounded number of rows per page,
//! and the page returns the cursor of the next one.

use std::collections::BTreeMap;

use segno_core::promise::{TaskStatus, Verdict};
use sqlx::SqlSafeStr as _;

use super::{
    BuiltStatement, DatabaseKind, DatabaseSession, Parameter, Select, find::has_pair,
    promises::inline_row,
};
use crate::{
    InvocationFilter, InvocationRow, Page, StateCounts, StoreError, UnreadableEntity,
    invocation_filter::{self, ListedState, SearchBase},
    limits::{self, COUNTED_BY_STATE, LOOKED_AT, SORTED},
    order,
    postgres::escape,
    sql::{self, AFTER_PROMISE, RowFields as _, SqlFailure, promise_columns, promise_tables},
};

/// The columns of listed invocations. Long parameters and values are omitted, since no listing
/// shows them.
const INVOCATIONS: Select = Select::differing(
    concat!(
        "SELECT ",
        promise_columns!(
            "CASE WHEN coalesce(p.param_bytes, length(p.param)) <= 16384 THEN p.param ELSE x'' END",
            "CASE WHEN coalesce(p.value_bytes, length(p.value)) <= 16384 THEN p.value END"
        ),
        ", (SELECT end_seq FROM journal WHERE inv = p.n ORDER BY first_seq DESC LIMIT 1)
       FROM (",
    ),
    concat!(
        "SELECT ",
        promise_columns!(
            "CASE WHEN coalesce(p.param_bytes, octet_length(p.param)) <= 16384 THEN p.param ELSE ''::bytea END",
            "CASE WHEN coalesce(p.value_bytes, octet_length(p.value)) <= 16384 THEN p.value END"
        ),
        ", (SELECT end_seq FROM journal WHERE inv = p.n ORDER BY first_seq DESC LIMIT 1)
       FROM (",
    ),
);

/// For SQLite, `CROSS JOIN` fixes the join order.
const OF_THOSE: Select = Select::differing(
    concat!(") found CROSS JOIN promises p ON p.n = found.n ", promise_tables!()),
    concat!(") found JOIN promises p ON p.n = found.n ", promise_tables!()),
);

/// Journal lengths of active claims, including records outside the table `journal`. PostgreSQL has
/// no such records.
const LENGTHS: &str = "
    SELECT (SELECT id FROM promises WHERE n = inv), max(end_seq) FROM journal_recent
     WHERE inv IN (SELECT n FROM json_each($1) wanted CROSS JOIN promises ON promises.id = wanted.value)
     GROUP BY inv";

/// The state that a filter names.
pub(super) fn state(filter: &InvocationFilter) -> Result<Option<ListedState>, StoreError> {
    filter.state.as_deref().map(ListedState::named).transpose()
}

/// A page of invocations.
pub(super) async fn page<S: DatabaseSession>(
    session: &mut S,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Result<Page<InvocationRow>, SqlFailure> {
    let limit = limits::page_limit(filter.limit);
    let base = base(session, filter, state).await?;
    let bound = match bound(base, filter, state) {
        None => None,
        Some(bound) => match session.all_of(bound).await?.first() {
            Some(row) => row.int(0)?,
            None => None,
        },
    };
    let found = session.all_of(statement(S::KIND, base, filter, state, bound, limit)).await?;
    let (mut items, mut unreadable) = (Vec::with_capacity(found.len()), Vec::new());
    for row in &found {
        let number = row.int(0)?.ok_or(SqlFailure::NoRow)?;
        let listed = match inline_row(row) {
            Ok(listed) => listed,
            Err(error) => {
                unreadable.push((number, UnreadableEntity::of(row.text(1), error)?));
                continue;
            }
        };
        let journal_len = length(row.int(AFTER_PROMISE)?);
        let Some(task) = listed.task else { continue };
        items.push(InvocationRow { number, promise: listed.promise, task, journal_len });
    }
    let mut page = invocation_filter::newest_first(items, unreadable, limit, bound);
    if S::KIND == DatabaseKind::Sqlite {
        add_unmerged(session, &mut page.items).await?;
    }
    Ok(page)
}

/// Counts the newest invocations that match `filter`, by state.
pub(super) async fn counts<S: DatabaseSession>(
    session: &mut S,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Result<StateCounts, SqlFailure> {
    let filter = &InvocationFilter { after: None, ..filter.clone() };
    let base = base(session, filter, state).await?;
    let bound = match nth(base, filter, COUNTED_BY_STATE) {
        None => None,
        Some(last) => match session.all_of(last).await?.first() {
            Some(row) => row.int(0)?,
            None => None,
        },
    };
    let mut counts = StateCounts { newest_only: bound.is_some(), ..StateCounts::default() };
    for row in &session.all_of(counting(S::KIND, base, filter, state, bound)).await? {
        let listed = match row.int(0)?.unwrap_or_default() {
            0 => TaskStatus::from_number(small(row.int(1)?)).map(ListedState::Open),
            verdict => Verdict::from_number(small(Some(verdict))).map(ListedState::Settled),
        };
        // An unreadable row has no state.
        let Some(listed) = listed else { continue };
        let count = row.int(2)?.unwrap_or_default().cast_unsigned();
        *counts.states.entry(listed.name()).or_default() += count;
    }
    Ok(counts)
}

fn small(number: Option<i64>) -> u8 {
    number.and_then(|number| u8::try_from(number).ok()).unwrap_or(u8::MAX)
}

/// Counts the matches of `filter` down to the number `bound`.
pub(crate) fn counting(
    kind: DatabaseKind,
    base: SearchBase,
    filter: &InvocationFilter,
    state: Option<ListedState>,
    bound: Option<i64>,
) -> BuiltStatement {
    let (tables, order) = tables(kind, base);
    let mut query =
        BuiltStatement::new(format!("SELECT p.state, t.state, count(*) FROM {tables} WHERE 1 = 1"));
    if let Some(bound) = bound {
        query.push(format!(" AND {order} >= ")).bind(bound);
    }
    conditions(&mut query, kind, base, filter, state);
    query.push(" GROUP BY p.state, t.state");
    query
}

/// Corrects journal lengths by the records outside the table `journal`.
async fn add_unmerged(
    session: &mut impl DatabaseSession,
    items: &mut [InvocationRow],
) -> Result<(), SqlFailure> {
    let active = items.iter_mut().filter(|row| row.task.status() == TaskStatus::Acquired);
    let mut active: BTreeMap<_, _> = active.map(|row| (row.promise.id().clone(), row)).collect();
    if active.is_empty() {
        return Ok(());
    }
    let ids = [Parameter::ids(active.keys())];
    for row in &session.rows(LENGTHS.into_sql_str(), &ids).await? {
        if let Some(invocation) = active.get_mut(&sql::id(row, 0)?) {
            invocation.journal_len = invocation.journal_len.max(length(row.int(1)?));
        }
    }
    Ok(())
}

fn length(column: Option<i64>) -> u32 {
    u32::try_from(column.unwrap_or_default()).unwrap_or(u32::MAX)
}

/// Chooses the base for a page. An index that finds rows unordered is used only if it finds few,
/// except for the tasks of one holder.
async fn base<S: DatabaseSession>(
    session: &mut S,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Result<SearchBase, SqlFailure> {
    if filter.parent.is_some() {
        return Ok(SearchBase::Children);
    }
    if filter.holder.is_some() {
        return Ok(SearchBase::Held);
    }
    if state == Some(ListedState::Open(TaskStatus::Halted)) {
        return Ok(SearchBase::Halted);
    }
    for base in [SearchBase::Acquired, SearchBase::Prefix] {
        let Some(count) = count(S::KIND, base, filter, state) else { continue };
        let found = session.all_of(count).await?;
        let count = found.first().map(|row| row.int(0)).transpose()?.flatten();
        if count.is_some_and(|count| count <= i64::from(SORTED)) {
            return Ok(base);
        }
    }
    Ok(SearchBase::Tasks)
}

/// Counts the rows that an index finds, up to the bound that matters. `None` if the index does not
/// answer this filter.
pub(crate) fn count(
    kind: DatabaseKind,
    base: SearchBase,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Option<BuiltStatement> {
    let mut query = BuiltStatement::new("SELECT count(*) FROM (SELECT 1 FROM ");
    match base {
        SearchBase::Acquired if state == Some(ListedState::Open(TaskStatus::Acquired)) => {
            query.push(match kind {
                DatabaseKind::Sqlite => "tasks INDEXED BY tasks_held WHERE state = 2",
                DatabaseKind::Postgres => "tasks WHERE state = 2",
            });
        }
        SearchBase::Prefix => {
            query.push("promises p WHERE 1 = 1");
            prefixed(&mut query, kind, filter.prefix.as_ref()?);
        }
        _ => return None,
    }
    query.push(format!(" LIMIT {}) AS counted", SORTED + 1));
    Some(query)
}

/// Selects the number of the last row that a page examines. `None` if every examined row matches,
/// or if the index finds few rows.
pub(crate) fn bound(
    base: SearchBase,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Option<BuiltStatement> {
    match base {
        SearchBase::Halted if invocation_filter::takes_all(filter) => None,
        SearchBase::Tasks if invocation_filter::takes_all(filter) && state.is_none() => None,
        _ => nth(base, filter, LOOKED_AT),
    }
}

/// Selects the number of the base's row at position `place`, counted from the newest. `None` if the
/// index finds few rows.
fn nth(base: SearchBase, filter: &InvocationFilter, place: u32) -> Option<BuiltStatement> {
    let mut query = match base {
        SearchBase::Held | SearchBase::Acquired | SearchBase::Prefix => return None,
        SearchBase::Halted => BuiltStatement::new("SELECT n FROM tasks WHERE state = 4"),
        SearchBase::Tasks => BuiltStatement::new("SELECT n FROM tasks WHERE 1 = 1"),
        // Some of the children are not invocations.
        SearchBase::Children => BuiltStatement::new("SELECT n FROM promises WHERE 1 = 1"),
    };
    if let Some(parent) = &filter.parent {
        query.push(" AND made_by = (SELECT n FROM promises WHERE id = ");
        query.bind(parent.as_str().to_owned()).push(")");
    }
    if let Some(after) = filter.after {
        query.push(" AND n < ").bind(after);
    }
    query.push(format!(" ORDER BY n DESC LIMIT 1 OFFSET {}", place - 1));
    Some(query)
}

/// The query for `filter`, unordered, with one row more than `limit` to detect that there are more.
pub(crate) fn statement(
    kind: DatabaseKind,
    base: SearchBase,
    filter: &InvocationFilter,
    state: Option<ListedState>,
    bound: Option<i64>,
    limit: u32,
) -> BuiltStatement {
    let mut query = BuiltStatement::new(INVOCATIONS.text(kind));
    let (tables, order) = tables(kind, base);
    query.push(format!("SELECT {order} AS n FROM {tables} WHERE 1 = 1"));
    if let Some(after) = filter.after {
        query.push(format!(" AND {order} < ")).bind(after);
    }
    if let Some(bound) = bound {
        query.push(format!(" AND {order} >= ")).bind(bound);
    }
    conditions(&mut query, kind, base, filter, state);
    query.push(format!(" ORDER BY {order} DESC LIMIT "));
    query.bind(i64::from(limit) + 1).push(OF_THOSE.text(kind));
    query
}

/// The tables to scan, and the column that orders them. For SQLite, the scanned table comes first
/// and its index is named, so that statistics cannot change the plan.
fn tables(kind: DatabaseKind, base: SearchBase) -> (&'static str, &'static str) {
    match (kind, base) {
        (DatabaseKind::Postgres, SearchBase::Children) => {
            ("tasks t JOIN promises p ON p.n = t.n", "p.n")
        }
        (DatabaseKind::Postgres, _) => ("tasks t JOIN promises p ON p.n = t.n", "t.n"),
        (DatabaseKind::Sqlite, SearchBase::Tasks) => {
            ("tasks t CROSS JOIN promises p ON p.n = t.n", "t.n")
        }
        (DatabaseKind::Sqlite, SearchBase::Halted) => {
            ("tasks t INDEXED BY tasks_halted CROSS JOIN promises p ON p.n = t.n", "t.n")
        }
        (DatabaseKind::Sqlite, SearchBase::Held | SearchBase::Acquired) => {
            ("tasks t INDEXED BY tasks_held CROSS JOIN promises p ON p.n = t.n", "t.n")
        }
        (DatabaseKind::Sqlite, SearchBase::Children) => {
            ("promises p INDEXED BY promises_made_by CROSS JOIN tasks t ON t.n = p.n", "p.n")
        }
        (DatabaseKind::Sqlite, SearchBase::Prefix) => (
            "promises p INDEXED BY sqlite_autoindex_promises_1 CROSS JOIN tasks t ON t.n = p.n",
            "t.n",
        ),
    }
}

fn conditions(
    query: &mut BuiltStatement,
    kind: DatabaseKind,
    base: SearchBase,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) {
    if let Some(module) = &filter.module {
        begins(query, kind, "p.target", &format!("wasm://{module}/"));
    }
    if let Some(function) = &filter.function {
        let ending = format!("/{function}");
        query.push(" AND (p.target = ").bind(function.clone());
        match kind {
            DatabaseKind::Sqlite => {
                query.push(format!(" OR substr(p.target, -{}) = ", ending.chars().count()))
            }
            DatabaseKind::Postgres => {
                query.push(format!(" OR right(p.target, {}) = ", escape(&ending).chars().count()))
            }
        };
        query.bind(ending).push(")");
    }
    match state {
        None => {}
        Some(ListedState::Open(status)) => {
            // The number is a literal, to match the partial indexes.
            query.push(format!(" AND p.state = 0 AND t.state = {}", status.number()));
        }
        Some(ListedState::Settled(verdict)) => {
            query.push(" AND p.state = ").bind(i64::from(verdict.number()));
        }
    }
    if let Some(holder) = &filter.holder {
        let [worker, host] = invocation_filter::holder_names(holder);
        query.push(" AND t.state = 2 AND t.node IN (").bind(worker);
        query.push(", ").bind(host).push(")");
    }
    if let Some(prefix) = &filter.prefix {
        match (base, kind) {
            (SearchBase::Prefix, _) => prefixed(query, kind, prefix),
            // Not the bare column: an index on it would return the rows in another order.
            (_, DatabaseKind::Sqlite) => begins(query, kind, "p.id", prefix),
            (_, DatabaseKind::Postgres) => begins(query, kind, "p.id || ''", prefix),
        }
    }
    if let Some((label, value)) = &filter.label {
        match kind {
            DatabaseKind::Sqlite => {
                query.push(" AND EXISTS (SELECT 1 FROM json_each(p.tags) WHERE key = ");
                query.bind(invocation_filter::label_tag(label));
                query.push(" AND value = ").bind(value.clone()).push(")");
            }
            DatabaseKind::Postgres => has_pair(query, &invocation_filter::label_pair(label, value)),
        }
    }
    if let Some(parent) = &filter.parent {
        query.push(" AND p.made_by = (SELECT n FROM promises WHERE id = ");
        query.bind(parent.as_str().to_owned()).push(")");
    }
    if filter.roots {
        query.push(" AND p.made_by IS NULL");
    }
    if let Some(since) = filter.since {
        query.push(" AND p.created_at >= ").bind(since.0);
    }
    if let Some(until) = filter.until {
        query.push(" AND p.created_at < ").bind(until.0);
    }
}

/// Adds a prefix condition that uses no index.
fn begins(query: &mut BuiltStatement, kind: DatabaseKind, expression: &str, beginning: &str) {
    match kind {
        DatabaseKind::Sqlite => {
            let length = beginning.chars().count();
            query.push(format!(" AND substr({expression}, 1, {length}) = "));
            query.bind(beginning.to_owned());
        }
        DatabaseKind::Postgres => {
            query.push(format!(" AND starts_with({expression}, "));
            query.bind(beginning.to_owned()).push(")");
        }
    }
}

/// Adds a prefix condition on ids that uses the index of ids.
fn prefixed(query: &mut BuiltStatement, kind: DatabaseKind, prefix: &str) {
    query.push(" AND p.id >= ").bind(prefix.to_owned());
    if let Some(end) = end_of_prefix(kind, prefix) {
        query.push(" AND p.id < ").bind(end);
    }
}

/// The smallest text after all texts with this prefix, as the database stores it.
pub(super) fn end_of_prefix(kind: DatabaseKind, prefix: &str) -> Option<Parameter<'static>> {
    let end = match kind {
        DatabaseKind::Sqlite => order::end_of_prefix(prefix),
        DatabaseKind::Postgres => order::end_of_prefix(&escape(prefix)),
    };
    end.map(Parameter::Stored)
}
