//! Reads unacknowledged events, in publication order.

use super::{DatabaseSession, Select};
use crate::{
    EventPosition, EventRow,
    sql::{self, SqlFailure},
};

/// The index of each database contains an event's position with exactly these casts.
const EVENTS: Select = Select::differing(
    "
    SELECT promises.id, promises.n, kind, part, next_at, outbox.created_at, attempts, message
      FROM outbox JOIN promises ON promises.n = source
     WHERE kind = 3 AND (outbox.created_at, source, CAST(part AS INTEGER)) > ($1, $2, $3)
     ORDER BY outbox.created_at, source, CAST(part AS INTEGER) LIMIT $4",
    "
    SELECT promises.id, promises.n, kind, part, next_at, outbox.created_at, attempts, message
      FROM outbox JOIN promises ON promises.n = source
     WHERE kind = 3 AND (outbox.created_at, source, part::bigint) > ($1, $2, $3)
     ORDER BY outbox.created_at, source, part::bigint LIMIT $4",
);

/// Events after a position, at most `limit`.
pub(super) async fn events(
    session: &mut impl DatabaseSession,
    after: Option<EventPosition>,
    limit: u32,
) -> Result<Vec<EventRow>, SqlFailure> {
    let (at, number, index) = after
        .map_or((i64::MIN, 0, -1), |place| (place.at.0, place.number, i64::from(place.index.0)));
    let parameters = [at.into(), number.into(), index.into(), limit.into()];
    let found = session.all(&EVENTS, &parameters).await?;
    sql::readable(found.iter().map(sql::event))
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[EVENTS];
