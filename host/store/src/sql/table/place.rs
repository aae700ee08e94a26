//! The queue positions of executions at their limits.

use segno_core::{
    id::PromiseId,
    limit::{LimitPosition, LimitPositionState, PartitionId},
};

use super::{
    ColumnKind::{Int, Text as Word},
    ConflictRule, OwnedTable, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{id, needed, number, small},
};

pub(super) const ROWS: OwnedTable = OwnedTable {
    table: SqlTable {
        name: "places",
        columns: "inv, partition, priority, seq, state",
        kinds: &[Int, Word, Int, Int, Int],
        key: 1,
        again: ConflictRule::Replaces,
    },
    load: "load places behind limits",
    put: "put places behind limits",
    remove: "remove places behind limits",
    wanted: |rows| &rows.places,
    read: |row, first, view| {
        let (invocation, place) = place(&row, first)?;
        view.put_place(invocation, place);
        Ok(())
    },
    written: |delta, number| {
        let places = delta.places.iter();
        places.map(|(invocation, place)| cells(number(invocation), place)).collect()
    },
};

/// The row of a queue position; `invocation` is the number of its invocation.
fn cells(invocation: i64, place: &LimitPosition) -> CellRow {
    vec![
        invocation.into(),
        place.partition.as_str().into(),
        i64::from(place.priority).into(),
        place.seq.into(),
        i64::from(place.state.number()).into(),
    ]
}

/// Decodes a queue position from these columns, starting at `first`, with the invocation's id in
/// place of its number.
pub(crate) fn place(
    row: &impl RowFields,
    first: usize,
) -> Result<(PromiseId, LimitPosition), SqlFailure> {
    let invocation = id(row, first)?;
    let partition = needed(row.text(first + 1)?, &invocation, "partition")?;
    let state = LimitPositionState::from_number(small(row, first + 4, &invocation, "state")?);
    let place = LimitPosition {
        partition: PartitionId::from(&*partition),
        priority: small(row, first + 2, &invocation, "priority")?,
        seq: number(row, first + 3, &invocation, "seq")?.cast_unsigned(),
        state: needed(state, &invocation, "state")?,
    };
    Ok((invocation, place))
}
