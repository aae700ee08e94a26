//! Events that nobody has acknowledged, as clients read them.

use sqlx::Executor as _;

use super::reader::{Reader, failed};
use crate::{EventPlace, EventRow, StoreError, sql};

const EVENTS: &str = "
    SELECT promises.id, promises.n, kind, part, next_at, outbox.created_at, attempts, message
      FROM outbox JOIN promises ON promises.n = source
     WHERE kind = 3 AND (outbox.created_at, source, CAST(part AS INTEGER)) > (?1, ?2, ?3)
     ORDER BY outbox.created_at, source, CAST(part AS INTEGER) LIMIT ?4";

impl Reader {
    pub(super) async fn events(
        &self,
        after: Option<EventPlace>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        let name = "read events";
        let (at, number, index) = after.map_or((i64::MIN, 0, -1), |place| {
            (place.at.0, place.number, i64::from(place.index.0))
        });
        let query = sqlx::query(EVENTS).bind(at).bind(number).bind(index).bind(limit);
        let found = self.pool.fetch_all(query).await.map_err(failed(name))?;
        sql::readable(found.iter().map(sql::event)).map_err(failed(name))
    }
}

/// Every statement here, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 1] = [EVENTS];
