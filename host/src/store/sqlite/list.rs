//! The list of invocations, newest first.

use std::collections::BTreeMap;

use segno_core::{id::PromiseId, promise::TaskStatus};
use sqlx::{Executor as _, QueryBuilder, Row as _, Sqlite, SqliteConnection};

use super::reader::{Reader, failed, promise_row};
use crate::store::{
    InvocationFilter, InvocationRow, Page, StoreError,
    listing::{self, ListedState},
    sql::{AFTER_PROMISE, promise_columns, promise_tables},
};

/// Only promises with a task are invocations, so the join on tasks is no outer one here.
const INVOCATIONS: &str = concat!(
    "SELECT ",
    promise_columns!(),
    ", (SELECT end_seq FROM journal WHERE inv = p.n ORDER BY first_seq DESC LIMIT 1)
       FROM promises p ",
    promise_tables!(),
    "WHERE t.n IS NOT NULL",
);

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
        let name = "list invocations";
        let limit = listing::page_limit(filter.limit);
        let mut query = statement(filter)?;
        query.push_bind(i64::from(limit) + 1);
        let mut transaction = self.pool.begin().await.map_err(failed(name))?;
        let found = transaction.fetch_all(query.build()).await.map_err(failed(name))?;
        let mut items = Vec::with_capacity(found.len());
        let mut last = None;
        for row in found.iter().take(limit as usize) {
            let listed = promise_row(row).map_err(failed(name))?;
            let journal_len = row.try_get::<Option<u32>, _>(AFTER_PROMISE).map_err(failed(name))?;
            last = Some(row.try_get(0).map_err(failed(name))?);
            let Some(task) = listed.task else { continue };
            let journal_len = journal_len.unwrap_or_default();
            items.push(InvocationRow { promise: listed.promise, task, journal_len });
        }
        go_on(&mut transaction, &mut items).await.map_err(failed(name))?;
        transaction.commit().await.map_err(failed(name))?;
        Ok(Page { items, next: last.filter(|_| found.len() > limit as usize) })
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

/// The statement that lists what `filter` takes, but for the limit, which comes last.
pub(super) fn statement(filter: &InvocationFilter) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let mut query = QueryBuilder::new(INVOCATIONS);
    // The same number, by the name of the table that is walked in its order.
    let order = if filter.parent.is_some() { "p.n" } else { "t.n" };
    if let Some(after) = filter.after {
        query.push(format!(" AND {order} < ")).push_bind(after);
    }
    if let Some(module) = &filter.module {
        prefixed(&mut query, "p.target", &format!("wasm://{module}/"));
    }
    if let Some(function) = &filter.function {
        let ending = format!("/{function}");
        query.push(" AND (p.target = ").push_bind(function.clone());
        query.push(" OR substr(p.target, -").push(ending.chars().count());
        query.push(") = ").push_bind(ending).push(")");
    }
    match filter.state.as_deref().map(ListedState::named).transpose()? {
        None => {}
        Some(ListedState::Open(status)) => {
            // The number is written out, as the partial indexes have it.
            query.push(format!(" AND p.state = 0 AND t.state = {}", status.number()));
            if status == TaskStatus::Acquired {
                query.push(" AND t.node > ''");
            }
        }
        Some(ListedState::Settled(verdict)) => {
            query.push(" AND p.state = ").push_bind(i64::from(verdict.number()));
        }
    }
    if let Some(holder) = &filter.holder {
        let [worker, host] = listing::holder_names(holder);
        query.push(" AND t.state = 2 AND t.node IN (").push_bind(worker);
        query.push(", ").push_bind(host).push(")");
    }
    if let Some(prefix) = &filter.prefix {
        prefixed(&mut query, "p.id", prefix);
    }
    if let Some((label, value)) = &filter.label {
        query.push(" AND EXISTS (SELECT 1 FROM json_each(p.tags) WHERE key = ");
        query.push_bind(listing::label_tag(label)).push(" AND value = ").push_bind(value.clone());
        query.push(")");
    }
    if let Some(parent) = &filter.parent {
        query.push(" AND p.made_by = (SELECT n FROM promises WHERE id = ");
        query.push_bind(parent.as_str().to_owned()).push(")");
    }
    if filter.roots {
        query.push(" AND p.made_by IS NULL");
    }
    query.push(format!(" ORDER BY {order} DESC LIMIT "));
    Ok(query)
}

fn prefixed(query: &mut QueryBuilder<Sqlite>, column: &str, prefix: &str) {
    query.push(format!(" AND substr({column}, 1, {}) = ", prefix.chars().count()));
    query.push_bind(prefix.to_owned());
}
