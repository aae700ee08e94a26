//! The history of graph runs. Rows are only inserted; an existing row is kept.

use segno_core::graph::{NodeEvent, NodeFact, NodeRow, NodeState, ResetReason};
use segno_core::id::{PromiseId, Version};

use super::{
    ColumnKind::{Int, Text as Word},
    ConflictRule, OwnedTable, SqlTable,
    graph_node::never,
};
use crate::sql::{
    RowFields, SqlFailure,
    rows::{at, id, needed, number, small, text},
};

pub(super) const ROWS: OwnedTable = OwnedTable {
    table: SqlTable {
        name: "graph_facts",
        columns: "run, node, attempt, state, at, reset, begins_at, claim",
        kinds: &[Int, Word, Int, Int, Int, Int, Int, Int],
        key: 4,
        again: ConflictRule::Stays,
    },
    load: "load facts of graph runs",
    put: "append facts of graph runs",
    remove: "remove facts of graph runs",
    wanted: never,
    read: |row, first, view| {
        let (run, NodeEvent { node, row, fact }) = graph_fact(&row, first)?;
        view.put_graph_fact((run, node, row.attempt, row.state), fact);
        Ok(())
    },
    written: |delta, number| {
        let facts = delta.graph_facts.iter();
        let cells = facts.map(|((run, node, attempt, state), fact)| {
            let begins_at = fact.reset.and_then(ResetReason::begins_at);
            vec![
                number(run).into(),
                node.as_str().into(),
                (*attempt).into(),
                i64::from(state.number()).into(),
                fact.at.0.into(),
                fact.reset.map(|reset| i64::from(reset.number())).into(),
                begins_at.map(|begins_at| begins_at.0).into(),
                fact.claim.0.into(),
            ]
        });
        cells.collect()
    },
};

/// Decodes a fact from these columns, starting at `first`, with the run's id in place of its
/// number.
pub(crate) fn graph_fact(
    row: &impl RowFields,
    first: usize,
) -> Result<(PromiseId, NodeEvent), SqlFailure> {
    let run = id(row, first)?;
    let state = NodeState::from_number(small(row, first + 3, &run, "state")?);
    let reset = match row.int(first + 5)? {
        None => None,
        Some(number) => {
            let number = needed(u8::try_from(number).ok(), &run, "reset")?;
            Some(needed(ResetReason::from_stored(number, at(row, first + 6)?), &run, "reset")?)
        }
    };
    let event = NodeEvent {
        node: text(row, first + 1)?,
        row: NodeRow {
            state: needed(state, &run, "state")?,
            attempt: small(row, first + 2, &run, "attempt")?,
        },
        fact: NodeFact {
            claim: Version(number(row, first + 7, &run, "claim")?.cast_unsigned()),
            at: needed(at(row, first + 4)?, &run, "at")?,
            reset,
        },
    };
    Ok((run, event))
}
