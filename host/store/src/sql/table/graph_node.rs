//! The nodes of graph runs. A row with more progress on a node replaces one with less.

use std::collections::BTreeSet;

use segno_core::{
    footprint::Footprint,
    graph::{NodeRow, NodeState},
    id::PromiseId,
    value::Text,
};

use super::{
    ColumnKind::{Int, Text as Word},
    ConflictRule, OwnedTable, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{id, needed, small, text},
};

pub(super) const ROWS: OwnedTable = OwnedTable {
    table: SqlTable {
        name: "graph_nodes",
        columns: "run, node, state, attempt",
        kinds: &[Int, Word, Int, Int],
        key: 2,
        again: ConflictRule::ReplacesEarlier(["attempt", "state"]),
    },
    load: "load nodes of graph runs",
    put: "put nodes of graph runs",
    remove: "remove nodes of graph runs",
    wanted: never,
    read: |row, first, view| {
        let (run, node, row) = graph_node(&row, first)?;
        view.put_graph_node(run, node, row);
        Ok(())
    },
    written: |delta, number| {
        let nodes = delta.graph_nodes.iter();
        nodes.map(|((run, node), row)| cells(number(run), node, *row)).collect()
    },
};

/// The wanted rows: none, since no decision reads them. The claim of the run controls who may write
/// them.
pub(super) fn never(_: &Footprint) -> &BTreeSet<PromiseId> {
    static NONE: BTreeSet<PromiseId> = BTreeSet::new();
    &NONE
}

/// The row of a node; `run` is the number of its run.
fn cells(run: i64, node: &Text, row: NodeRow) -> CellRow {
    vec![run.into(), node.as_str().into(), i64::from(row.state.number()).into(), row.attempt.into()]
}

/// Decodes a node from these columns, starting at `first`, with the run's id in place of its
/// number.
pub(crate) fn graph_node(
    row: &impl RowFields,
    first: usize,
) -> Result<(PromiseId, Text, NodeRow), SqlFailure> {
    let run = id(row, first)?;
    let state = NodeState::from_number(small(row, first + 2, &run, "state")?);
    let state = needed(state, &run, "state")?;
    let attempt = small(row, first + 3, &run, "attempt")?;
    let node = text(row, first + 1)?;
    Ok((run, node, NodeRow { state, attempt }))
}
