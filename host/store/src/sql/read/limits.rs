//! Reads limits and their keys.

use std::collections::BTreeMap;

use segno_core::{
    id::PromiseId,
    limit::{Lane, Limit, LimitName, LimitPosition, Partition, PartitionId},
};

use super::{DatabaseSession, Parameter, Select};
use crate::{
    AdmittedFilter, LimitCount, LimitFilter, LimitRow, Page, PartitionFilter, limits,
    sql::{RowFields as _, SqlFailure, rows, table},
};

macro_rules! limit_columns {
    () => {
        "name, declared, chosen, running, waiting, full_at_us, turn, joined, sweep, due_at"
    };
}

macro_rules! partition_columns {
    () => {
        "partition, limit_name, class, turn, look_at, running, full_at_us, lanes, latest, not_before, debounced_since"
    };
}

/// Limits by name.
pub(super) const LIMITS: Select = Select::differing(
    concat!(
        "SELECT ",
        limit_columns!(),
        " FROM json_each($1) wanted JOIN limits ON limits.name = wanted.value"
    ),
    concat!("SELECT ", limit_columns!(), " FROM limits WHERE name = ANY($1::text[])"),
);

/// Keys of limits by id.
pub(super) const PARTITIONS: Select = Select::differing(
    concat!(
        "SELECT ",
        partition_columns!(),
        " FROM json_each($1) wanted JOIN partitions ON partitions.partition = wanted.value"
    ),
    concat!("SELECT ", partition_columns!(), " FROM partitions WHERE partition = ANY($1::text[])"),
);

/// A page of limits, in name order, after a given name.
const PAGE: Select = Select::common(concat!(
    "SELECT ",
    limit_columns!(),
    " FROM limits WHERE name > $1 ORDER BY name LIMIT $2"
));

/// Keys of a limit, in order, between two exclusive bounds.
const KEYS: Select = Select::common(concat!(
    "SELECT ",
    partition_columns!(),
    " FROM partitions WHERE partition > $1 AND partition < $2 ORDER BY partition LIMIT $3"
));

const PLACE: Select = Select::common(
    "
    SELECT promises.id, places.partition, places.priority, places.seq, places.state
      FROM promises JOIN places ON places.inv = promises.n WHERE promises.id = $1",
);

/// Counts the waiting executions of a lane ahead of a sequence number.
const BEFORE: Select = Select::common(
    "
    SELECT count(*) FROM (
    SELECT 1 FROM places WHERE partition = $1 AND priority = $2 AND state = 1 AND seq < $3 LIMIT $4) AS counted",
);

/// Executions admitted under a range of keys, halted ones first.
const ADMITTED: Select = Select::common(
    "
    SELECT promises.id, places.partition, places.priority, places.seq, places.state
      FROM places JOIN promises ON promises.n = places.inv JOIN tasks ON tasks.n = places.inv
     WHERE places.state = 2 AND places.partition >= $1 AND places.partition <= $2
     ORDER BY CASE tasks.state WHEN 4 THEN 0 ELSE 1 END, places.seq LIMIT $3",
);

/// The counters of each key, and the actual number of its executions: those that were admitted or
/// wait, and those that have left while the outbox still owes the decrement.
const COUNTED: Select = Select::common(
    "
    SELECT partition, running, lanes, 0 FROM partitions
     UNION ALL
    SELECT partition, NULL, NULL, count(*) FROM places
     WHERE state IN (1, 2)
        OR (state = 3 AND EXISTS (SELECT 1 FROM outbox WHERE source = places.inv AND kind = 5))
     GROUP BY partition",
);

pub(super) async fn one(
    session: &mut impl DatabaseSession,
    name: &LimitName,
) -> Result<Option<Limit>, SqlFailure> {
    let found = session.all(&LIMITS, &[Parameter::Texts(vec![name.as_str()])]).await?;
    found.first().map(|row| table::limit(row).map(|(_, limit)| limit)).transpose()
}

/// A page of limits.
pub(super) async fn page(
    session: &mut impl DatabaseSession,
    filter: &LimitFilter,
) -> Result<Page<LimitRow, LimitName>, SqlFailure> {
    let limit = limits::page_limit(filter.limit) as usize;
    let after = filter.after.as_ref().map_or("", LimitName::as_str);
    let found = session.all(&PAGE, &[after.into(), ((limit + 1) as i64).into()]).await?;
    let row = |row| table::limit(row).map(|(name, limit)| LimitRow { name, limit });
    let rows = found.iter().map(row).collect::<Result<_, _>>()?;
    Ok(Page::of_limits(rows, limit))
}

/// A page of the keys of a limit.
pub(super) async fn keys(
    session: &mut impl DatabaseSession,
    filter: &PartitionFilter,
) -> Result<Page<(PartitionId, Partition), PartitionId>, SqlFailure> {
    let limit = limits::page_limit(filter.limit) as usize;
    let (after, before) = filter.bounds();
    let parameters = [(&*after).into(), (&*before).into(), ((limit + 1) as i64).into()];
    let found = session.all(&KEYS, &parameters).await?;
    let rows = found.iter().map(table::partition).collect::<Result<_, _>>()?;
    Ok(Page::of_partitions(rows, limit))
}

pub(super) async fn key(
    session: &mut impl DatabaseSession,
    id: &PartitionId,
) -> Result<Option<Partition>, SqlFailure> {
    let found = session.all(&PARTITIONS, &[Parameter::Texts(vec![id.as_str()])]).await?;
    found.first().map(|row| table::partition(row).map(|(_, partition)| partition)).transpose()
}

/// The queue position of an execution, and the number of executions of its lane ahead of it,
/// counted up to `most`.
pub(super) async fn place(
    session: &mut impl DatabaseSession,
    id: &PromiseId,
    most: u32,
) -> Result<Option<(LimitPosition, u64)>, SqlFailure> {
    let found = session.all(&PLACE, &[id.into()]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let (_, place) = table::place(row, 0)?;
    let before = ahead_of(session, &place, most).await?;
    Ok(Some((place, before)))
}

/// The number of executions that wait in the lane of a place ahead of it, counted up to `most`.
pub(super) async fn ahead_of(
    session: &mut impl DatabaseSession,
    place: &LimitPosition,
    most: u32,
) -> Result<u64, SqlFailure> {
    let priority = i64::from(place.priority);
    let seq = place.seq.cast_signed();
    let parameters =
        [place.partition.as_str().into(), priority.into(), seq.into(), i64::from(most).into()];
    let counted = session.one(&BEFORE, &parameters).await?;
    Ok(rows::number(&counted, 0, &place.partition, "count")?.cast_unsigned())
}

/// Admitted executions.
pub(super) async fn admitted(
    session: &mut impl DatabaseSession,
    filter: &AdmittedFilter,
) -> Result<Vec<(PromiseId, LimitPosition)>, SqlFailure> {
    let (first, last) = filter.bounds();
    let most = i64::from(limits::page_limit(filter.limit));
    let found = session.all(&ADMITTED, &[(&*first).into(), (&*last).into(), most.into()]).await?;
    found.iter().map(|row| table::place(row, 0)).collect()
}

/// The executions of each key, counted in two ways.
pub(super) async fn counts(
    session: &mut impl DatabaseSession,
) -> Result<Vec<LimitCount>, SqlFailure> {
    let mut counts: BTreeMap<PartitionId, LimitCount> = BTreeMap::new();
    for row in &session.all(&COUNTED, &[]).await? {
        let key = PartitionId::from(rows::text(row, 0)?.as_str());
        let count = LimitCount { key: key.clone(), counted: 0, there: 0 };
        let count = counts.entry(key.clone()).or_insert(count);
        count.there += rows::number(row, 3, &key, "count")?.cast_unsigned();
        if let Some(running) = row.int(1)? {
            let lanes = row.text(2)?.and_then(|json| serde_json::from_str(&json).ok());
            let lanes: BTreeMap<u8, Lane> = rows::needed(lanes, &key, "lanes")?;
            let waiting: u64 = lanes.values().map(|lane| lane.waiting).sum();
            count.counted += running.cast_unsigned() + waiting;
        }
    }
    Ok(counts.into_values().collect())
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] =
    &[LIMITS, PARTITIONS, PAGE, KEYS, PLACE, BEFORE, ADMITTED];
