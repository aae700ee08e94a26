//! The list of invocations, newest first.
//!
//! What a page costs depends on the page and not on the store. Where an index finds few enough invocations, they are
//! sorted; every other filter is tried on a bounded number of rows, and the page says where to go on.

use segno_core::promise::TaskStatus;
use sqlx::{Executor as _, Postgres, QueryBuilder, Row as _};

use super::{
    fields::escape,
    reader::{Reader, failed, promise_row},
};
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
        "CASE WHEN octet_length(p.param) <= 16384 THEN p.param ELSE ''::bytea END",
        "CASE WHEN octet_length(p.value) <= 16384 THEN p.value END"
    ),
    ", (SELECT end_seq FROM journal WHERE inv = p.n ORDER BY first_seq DESC LIMIT 1)
       FROM (",
);
const OF_THOSE: &str = concat!(") found JOIN promises p ON p.n = found.n ", promise_tables!());

impl Reader {
    pub(super) async fn list(
        &self,
        filter: &InvocationFilter,
    ) -> Result<Page<InvocationRow>, StoreError> {
        let failed = failed("list invocations");
        let limit = limits::page_limit(filter.limit);
        // A name of a state that does not exist is refused before anything is read.
        let state = filter.state.as_deref().map(ListedState::named).transpose()?;
        let base = self.base(filter, state).await.map_err(&failed)?;
        let bound = match bound(base, filter, state) {
            None => None,
            Some(mut query) => {
                let found = self.pool.fetch_optional(query.build()).await.map_err(&failed)?;
                found.map(|row| row.try_get(0)).transpose().map_err(&failed)?
            }
        };
        let mut query = statement(base, filter, state, bound, limit);
        let found = self.pool.fetch_all(query.build()).await.map_err(&failed)?;
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
            let journal_len = row.int(AFTER_PROMISE).map_err(&failed)?;
            let Some(task) = listed.task else { continue };
            let journal_len = u32::try_from(journal_len.unwrap_or_default()).unwrap_or(u32::MAX);
            items.push((number, InvocationRow { promise: listed.promise, task, journal_len }));
        }
        Ok(invocation_filter::newest_first(items, unreadable, limit, bound))
    }

    /// Where the numbers of a page are looked for. What an index finds in no order is only taken if it is little, but for
    /// what one holder has: that is asked for by the holder itself.
    async fn base(
        &self,
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
                && self.pool.fetch_one(query.build()).await?.try_get::<i64, _>(0)?
                    <= i64::from(SORTED)
            {
                return Ok(base);
            }
        }
        Ok(Base::Tasks)
    }
}

/// How many an index finds, counted as far as that matters; none: it does not answer this filter.
pub(super) fn count(
    base: Base,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Option<QueryBuilder<Postgres>> {
    let mut query = QueryBuilder::new("SELECT count(*) FROM (SELECT 1 FROM ");
    match base {
        Base::Acquired if state == Some(ListedState::Open(TaskStatus::Acquired)) => {
            query.push("tasks WHERE state = 2");
        }
        Base::Prefix => {
            query.push("promises p WHERE true");
            prefixed(&mut query, filter.prefix.as_ref()?);
        }
        _ => return None,
    }
    query.push(format!(" LIMIT {}) counted", SORTED + 1));
    Some(query)
}

/// The number of the last row that a page looks at; none: it looks at no more than it lists, or the index holds little.
pub(super) fn bound(
    base: Base,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) -> Option<QueryBuilder<Postgres>> {
    let mut query = match base {
        Base::Held | Base::Acquired | Base::Prefix => return None,
        Base::Halted if invocation_filter::takes_all(filter) => return None,
        Base::Tasks if invocation_filter::takes_all(filter) && state.is_none() => return None,
        Base::Halted => QueryBuilder::new("SELECT n FROM tasks WHERE state = 4"),
        Base::Tasks => QueryBuilder::new("SELECT n FROM tasks WHERE true"),
        // Not all that it made are invocations.
        Base::Children => QueryBuilder::new("SELECT n FROM promises WHERE true"),
    };
    if let Some(parent) = &filter.parent {
        query.push(" AND made_by = (SELECT n FROM promises WHERE id = ");
        query.push_bind(stored(parent.as_str())).push(")");
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
) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(INVOCATIONS);
    // The same number, by the name of the table that is walked in its order.
    let order = if base == Base::Children { "p.n" } else { "t.n" };
    query.push(format!("SELECT {order} AS n FROM tasks t JOIN promises p ON p.n = t.n WHERE true"));
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
    query: &mut QueryBuilder<Postgres>,
    base: Base,
    filter: &InvocationFilter,
    state: Option<ListedState>,
) {
    if let Some(module) = &filter.module {
        query.push(" AND starts_with(p.target, ");
        query.push_bind(stored(&format!("wasm://{module}/"))).push(")");
    }
    if let Some(function) = &filter.function {
        let (function, ending) = (stored(function), stored(&format!("/{function}")));
        query.push(" AND (p.target = ").push_bind(function);
        query.push(format!(" OR right(p.target, {}) = ", ending.chars().count()));
        query.push_bind(ending).push(")");
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
        query.push(" AND t.state = 2 AND t.node IN (").push_bind(stored(&worker));
        query.push(", ").push_bind(stored(&host)).push(")");
    }
    if let Some(prefix) = &filter.prefix {
        match base {
            Base::Prefix => prefixed(query, prefix),
            // Compared as it is, so that no index is used that would find them in another order.
            _ => {
                query.push(" AND starts_with(p.id || '', ").push_bind(stored(prefix)).push(")");
            }
        }
    }
    if let Some((label, value)) = &filter.label {
        // Tags are written in one way only, and a label's tag does not begin like the rest of anything else: so it can
        // be looked for as text, which bears characters that PostgreSQL's own JSON does not.
        let pair = invocation_filter::label_pair(label, value);
        query.push(" AND (position(").push_bind(format!("{{{pair}")).push(" in p.tags) > 0");
        query.push(" OR position(").push_bind(format!(",{pair}")).push(" in p.tags) > 0)");
    }
    if let Some(parent) = &filter.parent {
        query.push(" AND p.made_by = (SELECT n FROM promises WHERE id = ");
        query.push_bind(stored(parent.as_str())).push(")");
    }
    if filter.roots {
        query.push(" AND p.made_by IS NULL");
    }
}

/// Ids that begin so, as the index of ids finds them.
fn prefixed(query: &mut QueryBuilder<Postgres>, prefix: &str) {
    query.push(" AND p.id >= ").push_bind(stored(prefix));
    if let Some(end) = order::end_of_prefix(&escape(prefix)) {
        query.push(" AND p.id < ").push_bind(end);
    }
}

fn stored(text: &str) -> String {
    escape(text).into_owned()
}
