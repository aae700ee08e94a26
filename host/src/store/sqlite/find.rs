//! Promises by their tags and states, in the order of their ids.

use sqlx::{Executor as _, QueryBuilder, Sqlite};

use super::reader::{Reader, failed, promise_row};
use crate::store::{
    PromiseFilter, PromiseRow, Standing, StoreError, listing,
    sql::{promise_columns, promise_tables},
};

const FOUND: &str =
    concat!("SELECT ", promise_columns!(), "FROM promises p ", promise_tables!(), "WHERE 1 = 1");

impl Reader {
    pub(super) async fn find(&self, filter: &PromiseFilter) -> Result<Vec<PromiseRow>, StoreError> {
        let name = "find promises";
        let found = self.pool.fetch_all(statement(filter).build()).await.map_err(failed(name))?;
        found.iter().map(|row| promise_row(row).map_err(failed(name))).collect()
    }
}

/// The statement that finds what `filter` asks for.
pub(super) fn statement(filter: &PromiseFilter) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(FOUND);
    if let Some(branch) = &filter.branch {
        // As the index has it, letter by letter.
        query.push(" AND p.made_by IS NULL AND json_extract(p.tags, '$.branch') = ");
        query.push_bind(branch.clone());
    }
    match filter.standing {
        None => {}
        Some(Standing::Pending) => {
            query.push(" AND p.state = 0");
        }
        Some(Standing::Settled(verdict)) => {
            query.push(" AND p.state = ").push_bind(i64::from(verdict.number()));
        }
    }
    for (name, value) in &filter.tags {
        query.push(" AND EXISTS (SELECT 1 FROM json_each(p.tags) WHERE key = ");
        query.push_bind(name.clone()).push(" AND value = ").push_bind(value.clone()).push(")");
    }
    if filter.tasks {
        query.push(" AND t.n IS NOT NULL");
    }
    if let Some(status) = filter.status {
        query.push(" AND t.state = ").push_bind(i64::from(status.number()));
    }
    if let Some(prefix) = &filter.prefix {
        query.push(" AND p.id >= ").push_bind(prefix.clone());
        if let Some(end) = listing::end_of_prefix(prefix) {
            query.push(" AND p.id < ").push_bind(end);
        }
    }
    if let Some(after) = &filter.after {
        query.push(" AND p.id > ").push_bind(after.as_str().to_owned());
    }
    query.push(" ORDER BY p.id LIMIT ").push_bind(i64::from(listing::find_limit(filter)));
    query
}
