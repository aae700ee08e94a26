//! The list of invocations, newest first.
//!
//! What a page costs depends on the page and not on the store. Where an index finds few enough invocations, they are
//! sorted; every other filter is tried on a bounded number of rows, and the page says where to go on.

use std::collections::BTreeMap;

use segno_core::{id::PromiseId, promise::TaskStatus};
use sqlx::{Executor as _, QueryBuilder, Row as _, Sqlite, SqliteConnection};

use super::reader::{Reader, failed, promise_row};
use crate::{
    InvocationFilter, InvocationRow, Page, StoreError, Unreadable,
    invocation_filter::{self, Base, ListedState},
    limits::{self, LOOKED_AT, SORTED},
    order,
    sql::{AFTER_PROMISE, Fields as _, promise_columns, promise_tables},
};

/// What is listed of the invocations whose numbers were found. Long parameters and values are left out: no list shows
/// them.
const INVOCATIONS: &str = concat!(
    "SELECT ",
    promise_columns!(
        "CASE WHEN length(p.param) <= 16384 THEN p.param ELSE x'' END",
        "CASE WHEN length(p.value) <= 16384 THEN p.value END"
    ),
    ", (SELECT end_seq FROM journal WHERE inv = p.n ORDER BY first_seq DESC LIMIT 1)
       FROM (",
);
const OF_THOSE: &str =
    concat!(") found CROSS JOIN promises p ON p.n = found.n ", promise_tables!());

/// How long journals are with what claims under way appended, of those where they did.
const LENGTHS: &str = "
    SELECT (SELECT id FROM promises WHERE n = inv), max(end_seq) FROM journal_recent
     WHERE inv IN (SELECT n FROM json_each(?1) wanted CROSS JOIN promises ON promises.id = wanted.value)
     GROUP BY inv";

impl Reader {
    pub(super) async fn list(
        &self,
        filter: &InvocationFilter,
    ) -> Result<Page<InvocationRow>, StoreError> {
        let failed = failed("list invocations");
        let limit = limits::page_limit(filter.limit);
        // A name of a state that does not exist is refused before anything is read.
        let state = filter.state.as_deref().map(ListedState::named).transpose()?;
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        let base = base(&mut transaction, filter, state).await.map_err(&failed)?;
        let bound = match bound(base, filter, state) {
            None => None,
            Some(mut query) => {
                let found = transaction.fetch_optional(query.build()).await.map_err(&failed)?;
                found.map(|row| row.try_get(0)).transpose().map_err(&failed)?
            }
        };
        let mut query = statement(base, filter, state, bound, limit);
        let found = transaction.fetch_all(query.build()).await.map_err(&failed)?;
        let (mut items, mut unreadable) = (Vec::with_capacity(found.len()), Vec::new());
        for row in &found {
            let number: i64 = row.try_get(0).map_err(&failed)?;
            let listed = match promise_row(row) {
                Ok(listed) => listed,
                Err(error) => {
                    let row = Unreadable::of(row.text(1), error).map_err(&failed)?;
                    unreadable.push((number, row));
                    continue;
                }
            };
            let journal_len = row.try_get::<Option<u32>, _>(AFTER_PROMISE).map_err(&failed)?;
            let Some(task) = listed.task else { continue };
            let journal_len = journal_len.unwrap_or_default();
            items.push((number, InvocationRow { promise: listed.promise, task, journal_len }));
        }
        let mut page = invocation_filter::newest_first(items, unreadable, limit, bound);
        go_on(&mut transaction, &mut page.items).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(page)
    }
}

/// Adds what claims under way appended to the lengths of the journals.
async fn go_on(
    connection: &mut SqliteConnection,
    items: &mut [InvocationRow],
) -> Result<(), sqlx::Error> {
    let held = items.iter_mut().filter(|row| row.task.status() == TaskStatus::Acquired);
    let mut held: BTreeMap<_, _> = held.map(|row| (row.promise.id().clone(), row)).collect();
    if held.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = held.keys().map(PromiseId::as_str).collect();
    let ids = serde_json::to_string(&ids).expect("texts are JSON");
    for row in &connection.fetch_all(sqlx::query(LENGTHS).bind(ids)).await? {
        if let Some(held) = held.get_mut(&PromiseId::new(row.try_get::<&str, _>(0)?)) {
            held.journal_len = held.journal_len.max(row.try_get(1)?);
        }
    }
    Ok(())
}

/// Where the numbers of a page are looked for. What an index finds in no order is only taken if it is little, but for
/// what one holder has: that is asked for by the holder itself.
async fn base(
    connection: &mut SqliteConnection,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Result<Base, sqlx::Error> {
    if filter.parent.is_some() {
        return Ok(Base::Children);
    }
    if filter.holder.is_some() {
        return Ok(Base::Held);
    }
    if state == Some(ListedState::Open(TaskStatus::Halted)) {
        return Ok(Base::Halted);
    }
    for base in [Base::Acquired, Base::Prefix] {
        if let Some(mut query) = count(base, filter, state)
            && connection.fetch_one(query.build()).await?.try_get::<u32, _>(0)? <= SORTED
        {
            return Ok(base);
        }
    }
    Ok(Base::Tasks)
}

/// How many an index finds, counted as far as that matters; none: it does not answer this filter.
pub(super) fn count(
    base: Base,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Option<QueryBuilder<Sqlite>> {
    let mut query = QueryBuilder::new("SELECT count(*) FROM (SELECT 1 FROM ");
    match base {
        Base::Acquired if state == Some(ListedState::Open(TaskStatus::Acquired)) => {
            query.push("tasks INDEXED BY tasks_held WHERE state = 2");
        }
        Base::Prefix => {
            query.push("promises p WHERE 1 = 1");
            prefixed(&mut query, filter.prefix.as_ref()?);
        }
        _ => return None,
    }
    query.push(format!(" LIMIT {})", SORTED + 1));
    Some(query)
}

/// The number of the last row that a page looks at; none: it looks at no more than it lists, or the index holds little.
pub(super) fn bound(
    base: Base,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Option<QueryBuilder<Sqlite>> {
    let mut query = match base {
        Base::Held | Base::Acquired | Base::Prefix => return None,
        Base::Halted if invocation_filter::takes_all(filter) => return None,
        Base::Tasks if invocation_filter::takes_all(filter) && state.is_none() => return None,
        Base::Halted => QueryBuilder::new("SELECT n FROM tasks WHERE state = 4"),
        Base::Tasks => QueryBuilder::new("SELECT n FROM tasks WHERE 1 = 1"),
        // Not all that it made are invocations.
        Base::Children => QueryBuilder::new("SELECT n FROM promises WHERE 1 = 1"),
    };
    if let Some(parent) = &filter.parent {
        query.push(" AND made_by = (SELECT n FROM promises WHERE id = ");
        query.push_bind(parent.as_str().to_owned()).push(")");
    }
    if let Some(after) = filter.after {
        query.push(" AND n < ").push_bind(after);
    }
    query.push(format!(" ORDER BY n DESC LIMIT 1 OFFSET {}", LOOKED_AT - 1));
    Some(query)
}

/// The statement that lists what `filter` takes, in no order: one more than `limit`, to know whether there are more.
pub(super) fn statement(
    base: Base,
    filter: &InvocationFilter,
    state: Option<ListedState>,
    bound: Option<i64>,
    limit: u32,
) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(INVOCATIONS);
    // The table that is walked comes first, and the index that it is walked by is named: no statistics change that.
    let (tables, order) = match base {
        Base::Tasks => ("tasks t CROSS JOIN promises p ON p.n = t.n", "t.n"),
        Base::Halted => {
            ("tasks t INDEXED BY tasks_halted CROSS JOIN promises p ON p.n = t.n", "t.n")
        }
        Base::Held | Base::Acquired => {
            ("tasks t INDEXED BY tasks_held CROSS JOIN promises p ON p.n = t.n", "t.n")
        }
        Base::Children => {
            ("promises p INDEXED BY promises_made_by CROSS JOIN tasks t ON t.n = p.n", "p.n")
        }
        Base::Prefix => (
            "promises p INDEXED BY sqlite_autoindex_promises_1 CROSS JOIN tasks t ON t.n = p.n",
            "t.n",
        ),
    };
    query.push(format!("SELECT {order} AS n FROM {tables} WHERE 1 = 1"));
    if let Some(after) = filter.after {
        query.push(format!(" AND {order} < ")).push_bind(after);
    }
    if let Some(bound) = bound {
        query.push(format!(" AND {order} >= ")).push_bind(bound);
    }
    conditions(&mut query, base, filter, state);
    query.push(format!(" ORDER BY {order} DESC LIMIT "));
    query.push_bind(i64::from(limit) + 1).push(OF_THOSE);
    query
}

fn conditions(
    query: &mut QueryBuilder<Sqlite>,
    base: Base,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) {
    if let Some(module) = &filter.module {
        let beginning = format!("wasm://{module}/");
        query.push(format!(" AND substr(p.target, 1, {}) = ", beginning.chars().count()));
        query.push_bind(beginning);
    }
    if let Some(function) = &filter.function {
        let ending = format!("/{function}");
        query.push(" AND (p.target = ").push_bind(function.clone());
        query.push(" OR substr(p.target, -").push(ending.chars().count());
        query.push(") = ").push_bind(ending).push(")");
    }
    match state {
        None => {}
        Some(ListedState::Open(status)) => {
            // The number is written out, as the partial indexes have it.
            query.push(format!(" AND p.state = 0 AND t.state = {}", status.number()));
        }
        Some(ListedState::Settled(verdict)) => {
            query.push(" AND p.state = ").push_bind(i64::from(verdict.number()));
        }
    }
    if let Some(holder) = &filter.holder {
        let [worker, host] = invocation_filter::holder_names(holder);
        query.push(" AND t.state = 2 AND t.node IN (").push_bind(worker);
        query.push(", ").push_bind(host).push(")");
    }
    if let Some(prefix) = &filter.prefix {
        match base {
            Base::Prefix => prefixed(query, prefix),
            // Compared as it is, so that no index is used that would find them in another order.
            _ => {
                query.push(format!(" AND substr(p.id, 1, {}) = ", prefix.chars().count()));
                query.push_bind(prefix.clone());
            }
        }
    }
    if let Some((label, value)) = &filter.label {
        query.push(" AND EXISTS (SELECT 1 FROM json_each(p.tags) WHERE key = ");
        query
            .push_bind(invocation_filter::label_tag(label))
            .push(" AND value = ")
            .push_bind(value.clone());
        query.push(")");
    }
    if let Some(parent) = &filter.parent {
        query.push(" AND p.made_by = (SELECT n FROM promises WHERE id = ");
        query.push_bind(parent.as_str().to_owned()).push(")");
    }
    if filter.roots {
        query.push(" AND p.made_by IS NULL");
    }
}

/// Ids that begin so, as the index of ids finds them.
fn prefixed(query: &mut QueryBuilder<Sqlite>, prefix: &str) {
    query.push(" AND p.id >= ").push_bind(prefix.to_owned());
    if let Some(end) = order::end_of_prefix(prefix) {
        query.push(" AND p.id < ").push_bind(end);
    }
}
