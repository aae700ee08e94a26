//! Reads promises by id, and their wait edges.

use std::collections::BTreeMap;

use segno_core::{budget::Costs, id::PromiseId, promise::Task};

use super::{DatabaseSession, Parameter, Select, large_values::chunks_of};
use crate::{
    PromiseRow, PromiseSize, WaitEdges,
    sql::{
        self, RowFields, SqlFailure, StoredPromise,
        large_value::{ChunkList, ChunkSet},
        promise_columns, promise_tables, rows,
    },
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

const SIZES: Select = Select::differing(
    "SELECT p.id, ifnull(p.param_bytes, length(p.param)), ifnull(p.value_bytes, ifnull(length(p.value), 0))
       FROM json_each($1) wanted JOIN promises p ON p.id = wanted.value",
    "SELECT p.id, coalesce(p.param_bytes, octet_length(p.param)), coalesce(p.value_bytes, octet_length(p.value), 0)
       FROM promises p WHERE p.id = ANY($1::text[])",
);

const COSTS: Select = Select::differing(
    "SELECT p.id, p.value_headers FROM json_each($1) wanted JOIN promises p ON p.id = wanted.value
      WHERE p.value_headers IS NOT NULL",
    "SELECT p.id, p.value_headers FROM promises p
      WHERE p.id = ANY($1::text[]) AND p.value_headers IS NOT NULL",
);

/// The waits within a database.
macro_rules! waits {
    () => {
        "
    SELECT 1, other.id FROM promises p JOIN callbacks ON awaiter = p.n AND consumed = 0
      JOIN promises other ON other.n = awaited WHERE p.id = $1
     UNION ALL
    SELECT 2, other.id FROM promises p JOIN callbacks ON awaited = p.n AND consumed = 0
      JOIN promises other ON other.n = awaiter WHERE p.id = $1"
    };
}

const WAITS: Select = Select::differing(
    concat!(waits!(), " ORDER BY 1, 2"),
    concat!(
        waits!(),
        "
     UNION ALL SELECT 1, awaited FROM crossings WHERE awaiter = $1 AND consumed = 0
     UNION ALL SELECT 2, awaiter FROM crossings WHERE awaited = $1 AND consumed = 0
     ORDER BY 1, 2"
    ),
);

/// Promises with their tasks, in the order of `ids`.
pub(super) async fn promises(
    session: &mut impl DatabaseSession,
    ids: &[PromiseId],
) -> Result<Vec<Option<PromiseRow>>, SqlFailure> {
    let found = session.all(&PROMISES, &[Parameter::ids(ids)]).await?;
    let stored = found.iter().map(StoredRow::of).collect::<Result<Vec<_>, _>>()?;
    let chunks = chunks_of(session, stored.iter().flat_map(StoredRow::lists)).await?;
    let mut by_id = BTreeMap::new();
    for row in stored {
        let row = row.whole(&chunks)?;
        by_id.insert(row.promise.id().clone(), row);
    }
    Ok(ids.iter().map(|id| by_id.get(id).cloned()).collect())
}

/// The sizes of these promises, in the order of `ids`.
pub(super) async fn sizes(
    session: &mut impl DatabaseSession,
    ids: &[PromiseId],
) -> Result<Vec<PromiseSize>, SqlFailure> {
    let mut by_id = BTreeMap::new();
    for row in &session.all(&SIZES, &[Parameter::ids(ids)]).await? {
        let id = sql::id(row, 0)?;
        let bytes =
            |column| Ok::<_, SqlFailure>(row.int(column)?.unwrap_or_default().cast_unsigned());
        let size = PromiseSize { param: bytes(1)?, value: bytes(2)? };
        by_id.insert(id, size);
    }
    Ok(ids.iter().map(|id| by_id.get(id).copied().unwrap_or_default()).collect())
}

/// The costs that the outcomes of these promises report, in the order of `ids`.
pub(super) async fn costs(
    session: &mut impl DatabaseSession,
    ids: &[PromiseId],
) -> Result<Vec<Costs>, SqlFailure> {
    let mut by_id = BTreeMap::new();
    for row in &session.all(&COSTS, &[Parameter::ids(ids)]).await? {
        let id = sql::id(row, 0)?;
        let headers = row.text(1)?.map(|json| rows::tags(&json, &id)).transpose()?;
        by_id.insert(id, headers.as_ref().map(Costs::of).unwrap_or_default());
    }
    Ok(ids.iter().map(|id| by_id.remove(id).unwrap_or_default()).collect())
}

/// The promises that `id` awaits, and those that await it.
pub(super) async fn waits(
    session: &mut impl DatabaseSession,
    id: &PromiseId,
) -> Result<WaitEdges, SqlFailure> {
    let mut waits = WaitEdges::default();
    for row in &session.all(&WAITS, &[id.into()]).await? {
        let other = sql::id(row, 1)?;
        match row.int(0)? {
            Some(1) => waits.awaits.push(other),
            _ => waits.awaited_by.push(other),
        }
    }
    Ok(waits)
}

/// A promise with its task, as they are stored.
pub(super) struct StoredRow {
    pub(super) promise: StoredPromise,
    task: Option<Task>,
}

impl StoredRow {
    /// Decodes a row of `promise_columns`.
    pub(super) fn of(row: &impl RowFields) -> Result<Self, SqlFailure> {
        let (_, promise) = sql::stored_promise(row)?;
        let task = sql::task(row, promise.promise.id())?;
        Ok(Self { promise, task })
    }

    /// The lists of the chunks of large values.
    pub(super) fn lists(&self) -> impl Iterator<Item = &ChunkList> {
        self.promise.lists()
    }

    /// The row with its large values, whose chunks were read.
    pub(super) fn whole(self, chunks: &ChunkSet) -> Result<PromiseRow, SqlFailure> {
        Ok(PromiseRow { promise: self.promise.whole(chunks)?, task: self.task })
    }
}

/// Decodes a promise with its task, if its values are inline.
pub(super) fn inline_row(row: &impl RowFields) -> Result<PromiseRow, SqlFailure> {
    StoredRow::of(row)?.whole(&ChunkSet::default())
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[PROMISES, SIZES, WAITS];
