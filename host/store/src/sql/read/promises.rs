//! Promises by their ids, and who waits for whom.

use std::collections::BTreeMap;

use segno_core::id::PromiseId;

use super::{Parameter, Select, Session};
use crate::{
    PromiseRow, Waits,
    sql::{self, Failure, Fields, promise_columns, promise_tables},
};

const PROMISES: Select = Select::differing(
    concat!(
        "SELECT ",
        promise_columns!(),
        "FROM json_each($1) wanted JOIN promises p ON p.id = wanted.value ",
        promise_tables!(),
    ),
    concat!(
        "SELECT ",
        promise_columns!(),
        "FROM promises p ",
        promise_tables!(),
        "WHERE p.id = ANY($1::text[])",
    ),
);

const WAITS: Select = Select::common(
    "
    SELECT 1, other.id FROM promises p JOIN callbacks ON awaiter = p.n AND consumed = 0
      JOIN promises other ON other.n = awaited WHERE p.id = $1
     UNION ALL
    SELECT 2, other.id FROM promises p JOIN callbacks ON awaited = p.n AND consumed = 0
      JOIN promises other ON other.n = awaiter WHERE p.id = $1
     ORDER BY 1, 2",
);

/// Promises with their tasks, in the order of `ids`.
pub(super) async fn promises(
    session: &mut impl Session,
    ids: &[PromiseId],
) -> Result<Vec<Option<PromiseRow>>, Failure> {
    let mut by_id = BTreeMap::new();
    for row in &session.all(&PROMISES, &[Parameter::ids(ids)]).await? {
        let row = promise_row(row)?;
        by_id.insert(row.promise.id().clone(), row);
    }
    Ok(ids.iter().map(|id| by_id.get(id).cloned()).collect())
}

/// The promises that `id` awaits, and those that await it.
pub(super) async fn waits(session: &mut impl Session, id: &PromiseId) -> Result<Waits, Failure> {
    let mut waits = Waits::default();
    for row in &session.all(&WAITS, &[id.into()]).await? {
        let other = sql::id(row, 1)?;
        match row.int(0)? {
            Some(1) => waits.awaits.push(other),
            _ => waits.awaited_by.push(other),
        }
    }
    Ok(waits)
}

/// A promise with its task.
pub(super) fn promise_row(row: &impl Fields) -> Result<PromiseRow, Failure> {
    let (_, promise) = sql::promise(row)?;
    let task = sql::task(row, promise.id())?;
    Ok(PromiseRow { promise, task })
}

/// For the tests of plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[PROMISES, WAITS];
