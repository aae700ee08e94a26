//! Finds promises by tags and states, in id order.

use std::ops::ControlFlow;

use segno_core::id::PromiseId;

use super::{
    BuiltStatement, DatabaseKind, DatabaseSession, large_values::chunks_of, list::end_of_prefix,
    promises::StoredRow,
};
use crate::{
    Page, PromiseFilter, PromiseRow, PromiseStateFilter, UnreadableEntity,
    limits::{self, LOOKED_AT, PAGE_BYTES},
    promise_filter,
    sql::{self, RowFields as _, SqlFailure, promise_columns, promise_tables},
};

const FOUND: &str =
    concat!("SELECT ", promise_columns!(), "FROM promises p ", promise_tables!(), "WHERE 1 = 1");

/// The condition on the tag `branch`, written exactly as in the index of each database.
const BRANCH_OF_SQLITE: &str = " AND p.made_by IS NULL AND json_extract(p.tags, '$.branch') = ";
const BRANCH_OF_POSTGRES: &str = r#" AND p.made_by IS NULL AND position('"branch":"' in p.tags) > 0
    AND md5(substring(p.tags from '"branch":("([^"\\]|\\.)*")')) = md5("#;

/// A page of promises.
pub(super) async fn page<S: DatabaseSession>(
    session: &mut S,
    filter: &PromiseFilter,
) -> Result<Page<PromiseRow, PromiseId>, SqlFailure> {
    let limit = limits::page_limit(filter.limit) as usize;
    let bound = match bound(S::KIND, filter) {
        None => None,
        Some(bound) => {
            session.all_of(bound).await?.first().map(|row| sql::id(row, 0)).transpose()?
        }
    };
    let mut page = Page { items: Vec::new(), unreadable: Vec::new(), next: None };
    let (mut bytes, mut is_full, mut stored) = (0, false, Vec::new());
    let found = statement(S::KIND, filter, bound.as_ref());
    let found = session.each_of(found, |row| {
        // A row that cannot be read still takes up an item of the page.
        if bytes >= PAGE_BYTES || stored.len() + page.unreadable.len() == limit {
            is_full = true;
            return Ok(ControlFlow::Break(()));
        }
        page.next = Some(sql::id(&row, 1)?);
        match StoredRow::of(&row) {
            Ok(row) => {
                let large = usize::try_from(row.promise.large_bytes()).unwrap_or(usize::MAX);
                bytes += promise_filter::page_bytes(&row.promise.promise).saturating_add(large);
                stored.push(row);
            }
            Err(error) => page.unreadable.push(UnreadableEntity::of(row.text(1), error)?),
        }
        Ok(ControlFlow::Continue(()))
    });
    found.await?;
    let chunks = chunks_of(session, stored.iter().flat_map(StoredRow::lists)).await?;
    for row in stored {
        let id = row.promise.promise.id().clone();
        match row.whole(&chunks) {
            Ok(row) => page.items.push(row),
            Err(error) => {
                let id = Ok(Some(id.as_str().into()));
                page.unreadable.push(UnreadableEntity::of(id, error)?);
            }
        }
    }
    if !is_full {
        page.next = bound;
    }
    Ok(page)
}

/// Selects the id of the last row that a page examines. `None` if every examined row matches.
pub(crate) fn bound(kind: DatabaseKind, filter: &PromiseFilter) -> Option<BuiltStatement> {
    if promise_filter::finds_all(filter) {
        return None;
    }
    let mut query = BuiltStatement::new("SELECT p.id FROM promises p WHERE 1 = 1");
    walked(&mut query, kind, filter, None);
    query.push(format!(" ORDER BY p.id LIMIT 1 OFFSET {}", LOOKED_AT - 1));
    Some(query)
}

/// The query for `filter`, with one row more than its limit to detect that there are more.
pub(crate) fn statement(
    kind: DatabaseKind,
    filter: &PromiseFilter,
    bound: Option<&PromiseId>,
) -> BuiltStatement {
    let mut query = BuiltStatement::new(FOUND);
    walked(&mut query, kind, filter, bound);
    match filter.standing {
        None => {}
        Some(PromiseStateFilter::Pending) => {
            query.push(" AND p.state = 0");
        }
        Some(PromiseStateFilter::Settled(verdict)) => {
            query.push(" AND p.state = ").bind(i64::from(verdict.number()));
        }
    }
    for (name, value) in &filter.tags {
        match kind {
            DatabaseKind::Sqlite => {
                // Unreadable tags may contain the pair, so their rows are included.
                query.push(" AND CASE WHEN json_valid(p.tags) THEN");
                query.push(" EXISTS (SELECT 1 FROM json_each(p.tags) WHERE key = ");
                query.bind(name.clone()).push(" AND value = ").bind(value.clone());
                query.push(") ELSE 1 END");
            }
            DatabaseKind::Postgres => has_pair(&mut query, &promise_filter::tag_pair(name, value)),
        }
    }
    if filter.tasks {
        query.push(" AND t.n IS NOT NULL");
    }
    if let Some(status) = filter.status {
        query.push(" AND t.state = ").bind(i64::from(status.number()));
    }
    query.push(" ORDER BY p.id LIMIT ").bind(i64::from(limits::page_limit(filter.limit)) + 1);
    query
}

/// Adds a condition on a tag. Tags are serialised canonically, so PostgreSQL searches for the pair
/// as text: its JSON types do not support every character.
pub(super) fn has_pair(query: &mut BuiltStatement, pair: &str) {
    query.push(" AND (position(").bind(format!("{{{pair}")).push(" in p.tags) > 0");
    query.push(" OR position(").bind(format!(",{pair}")).push(" in p.tags) > 0)");
}

/// Adds the conditions that an index answers, in id order, up to `bound` if given. There is at most
/// one lower and one upper bound, because an index scan takes only one of each.
fn walked(
    query: &mut BuiltStatement,
    kind: DatabaseKind,
    filter: &PromiseFilter,
    bound: Option<&PromiseId>,
) {
    match (&filter.branch, kind) {
        (None, _) => {}
        (Some(branch), DatabaseKind::Sqlite) => {
            query.push(BRANCH_OF_SQLITE).bind(branch.clone());
        }
        (Some(branch), DatabaseKind::Postgres) => {
            let branch = serde_json::Value::from(branch.as_str()).to_string();
            query.push(BRANCH_OF_POSTGRES).bind(branch).push(")");
        }
    }
    let prefix = filter.prefix.as_deref();
    match (&filter.after, prefix) {
        (Some(after), prefix) if prefix.is_none_or(|prefix| after.as_str() >= prefix) => {
            query.push(" AND p.id > ").bind(after.as_str().to_owned());
        }
        (_, Some(prefix)) => {
            query.push(" AND p.id >= ").bind(prefix.to_owned());
        }
        (_, None) => {}
    }
    if let Some(bound) = bound {
        query.push(" AND p.id <= ").bind(bound.as_str().to_owned());
    } else if let Some(end) = prefix.and_then(|prefix| end_of_prefix(kind, prefix)) {
        query.push(" AND p.id < ").bind(end);
    }
}
