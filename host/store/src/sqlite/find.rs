//! Promises by their tags and states, in the order of their ids.

use futures::TryStreamExt as _;
use segno_core::id::PromiseId;
use sqlx::{Executor as _, QueryBuilder, Sqlite};

use super::reader::{Reader, failed, promise_row};
use crate::{
    Page, PromiseFilter, PromiseRow, Standing, StoreError, Unreadable,
    limits::{self, LOOKED_AT, PAGE_BYTES},
    order, promise_filter,
    sql::{self, Fields as _, promise_columns, promise_tables},
};

const FOUND: &str =
    concat!("SELECT ", promise_columns!(), "FROM promises p ", promise_tables!(), "WHERE 1 = 1");

impl Reader {
    pub(super) async fn find(
        &self,
        filter: &PromiseFilter,
    ) -> Result<Page<PromiseRow, PromiseId>, StoreError> {
        let failed = failed("find promises");
        let limit = limits::page_limit(filter.limit) as usize;
        let bound = match bound(filter) {
            None => None,
            Some(mut query) => {
                let found = self.pool.fetch_optional(query.build()).await.map_err(&failed)?;
                found.map(|row| sql::id(&row, 0)).transpose().map_err(&failed)?
            }
        };
        let mut query = statement(filter, bound.as_ref());
        let mut found = self.pool.fetch(query.build());
        let mut page = Page { items: Vec::new(), unreadable: Vec::new(), next: None };
        let mut bytes = 0;
        while let Some(row) = found.try_next().await.map_err(&failed)? {
            // What cannot be read has its place in the page all the same.
            if bytes >= PAGE_BYTES || page.items.len() + page.unreadable.len() == limit {
                return Ok(page);
            }
            page.next = Some(sql::id(&row, 1).map_err(&failed)?);
            match promise_row(&row) {
                Ok(row) => {
                    bytes += promise_filter::page_bytes(&row.promise);
                    page.items.push(row);
                }
                Err(error) => {
                    page.unreadable.push(Unreadable::of(row.text(1), error).map_err(&failed)?);
                }
            }
        }
        Ok(Page { next: bound, ..page })
    }
}

/// The id of the last row that a page looks at; none: all that it looks at is found.
pub(super) fn bound(filter: &PromiseFilter) -> Option<QueryBuilder<Sqlite>> {
    if promise_filter::finds_all(filter) {
        return None;
    }
    let mut query = QueryBuilder::new("SELECT p.id FROM promises p WHERE 1 = 1");
    walked(&mut query, filter, None);
    query.push(format!(" ORDER BY p.id LIMIT 1 OFFSET {}", LOOKED_AT - 1));
    Some(query)
}

/// The statement that finds what `filter` asks for: one more than its limit, to know whether there are more.
pub(super) fn statement(filter: &PromiseFilter, bound: Option<&PromiseId>) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(FOUND);
    walked(&mut query, filter, bound);
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
        // What cannot be read may have it, and is shown.
        query.push(" AND CASE WHEN json_valid(p.tags) THEN");
        query.push(" EXISTS (SELECT 1 FROM json_each(p.tags) WHERE key = ");
        query.push_bind(name.clone()).push(" AND value = ").push_bind(value.clone());
        query.push(") ELSE 1 END");
    }
    if filter.tasks {
        query.push(" AND t.n IS NOT NULL");
    }
    if let Some(status) = filter.status {
        query.push(" AND t.state = ").push_bind(i64::from(status.number()));
    }
    query.push(" ORDER BY p.id LIMIT ").push_bind(i64::from(limits::page_limit(filter.limit)) + 1);
    query
}

/// What an index answers, in the order of the ids, up to `bound` if there is one. There is one lower end and one upper
/// end, because an index is walked between two ends only.
fn walked(query: &mut QueryBuilder<Sqlite>, filter: &PromiseFilter, bound: Option<&PromiseId>) {
    if let Some(branch) = &filter.branch {
        // As the index has it, letter by letter.
        query.push(" AND p.made_by IS NULL AND json_extract(p.tags, '$.branch') = ");
        query.push_bind(branch.clone());
    }
    let prefix = filter.prefix.as_deref();
    match (&filter.after, prefix) {
        (Some(after), prefix) if prefix.is_none_or(|prefix| after.as_str() >= prefix) => {
            query.push(" AND p.id > ").push_bind(after.as_str().to_owned());
        }
        (_, Some(prefix)) => {
            query.push(" AND p.id >= ").push_bind(prefix.to_owned());
        }
        (_, None) => {}
    }
    if let Some(bound) = bound {
        query.push(" AND p.id <= ").push_bind(bound.as_str().to_owned());
    } else if let Some(end) = prefix.and_then(order::end_of_prefix) {
        query.push(" AND p.id < ").push_bind(end);
    }
}
