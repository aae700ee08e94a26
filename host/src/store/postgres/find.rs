//! Promises by their tags and states, in the order of their ids.

use sqlx::{Executor as _, Postgres, QueryBuilder};

use super::{
    fields::escape,
    reader::{Reader, failed, promise_row},
};
use crate::store::{
    PromiseFilter, PromiseRow, Standing, StoreError, listing,
    sql::{promise_columns, promise_tables},
};

const FOUND: &str =
    concat!("SELECT ", promise_columns!(), "FROM promises p ", promise_tables!(), "WHERE true");

/// The tag `branch` as it stands in the tags, letter by letter as the index has it.
const BRANCH: &str = r#" AND p.made_by IS NULL AND position('"branch":"' in p.tags) > 0
    AND md5(substring(p.tags from '"branch":("([^"\\]|\\.)*")')) = md5("#;

impl Reader {
    pub(super) async fn find(&self, filter: &PromiseFilter) -> Result<Vec<PromiseRow>, StoreError> {
        let name = "find promises";
        let found = self.pool.fetch_all(statement(filter).build()).await.map_err(failed(name))?;
        found.iter().map(|row| promise_row(row).map_err(failed(name))).collect()
    }
}

/// The statement that finds what `filter` asks for.
pub(super) fn statement(filter: &PromiseFilter) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(FOUND);
    if let Some(branch) = &filter.branch {
        let branch = serde_json::Value::from(branch.as_str()).to_string();
        query.push(BRANCH).push_bind(branch).push(")");
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
        // Tags are written in one way only, so a pair can be looked for as text.
        let pair = listing::tag_pair(name, value);
        query.push(" AND (position(").push_bind(format!("{{{pair}")).push(" in p.tags) > 0");
        query.push(" OR position(").push_bind(format!(",{pair}")).push(" in p.tags) > 0)");
    }
    if filter.tasks {
        query.push(" AND t.n IS NOT NULL");
    }
    if let Some(status) = filter.status {
        query.push(" AND t.state = ").push_bind(i64::from(status.number()));
    }
    if let Some(prefix) = &filter.prefix {
        query.push(" AND p.id >= ").push_bind(escape(prefix).into_owned());
        if let Some(end) = listing::end_of_prefix(&escape(prefix)) {
            query.push(" AND p.id < ").push_bind(end);
        }
    }
    if let Some(after) = &filter.after {
        query.push(" AND p.id > ").push_bind(escape(after.as_str()).into_owned());
    }
    query.push(" ORDER BY p.id LIMIT ").push_bind(i64::from(listing::find_limit(filter)));
    query
}
