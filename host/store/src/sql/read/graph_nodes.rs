//! Reads the nodes and the history of a graph run.

use segno_core::{
    graph::{NodeEvent, NodeRow},
    id::PromiseId,
    value::Text,
};

use super::{DatabaseSession, Select};
use crate::sql::{
    SqlFailure,
    table::{graph_fact, graph_node},
};

const NODES: Select = Select::common(
    "SELECT promises.id, graph_nodes.node, graph_nodes.state, graph_nodes.attempt
     FROM promises JOIN graph_nodes ON graph_nodes.run = promises.n
     WHERE promises.id = $1",
);

const FACTS: Select = Select::common(
    "SELECT promises.id, graph_facts.node, graph_facts.attempt, graph_facts.state, graph_facts.at,
            graph_facts.reset, graph_facts.begins_at, graph_facts.claim
     FROM promises JOIN graph_facts ON graph_facts.run = promises.n
     WHERE promises.id = $1",
);

/// The history of a run, ordered by node, attempt and state.
pub(super) async fn graph_history(
    session: &mut impl DatabaseSession,
    run: &PromiseId,
) -> Result<Vec<NodeEvent>, SqlFailure> {
    let rows = session.all(&FACTS, &[run.into()]).await?;
    let read = |row| graph_fact(row, 0).map(|(_, event)| event);
    let mut events: Vec<NodeEvent> = rows.iter().map(read).collect::<Result<_, _>>()?;
    let place = |event: &NodeEvent| (event.node.clone(), event.row.attempt, event.row.state);
    events.sort_by_key(place);
    Ok(events)
}

/// All nodes of a run, ordered by node.
pub(super) async fn graph_nodes(
    session: &mut impl DatabaseSession,
    run: &PromiseId,
) -> Result<Vec<(Text, NodeRow)>, SqlFailure> {
    let rows = session.all(&NODES, &[run.into()]).await?;
    let read = |row| graph_node(row, 0).map(|(_, node, row)| (node, row));
    let mut nodes: Vec<_> = rows.iter().map(read).collect::<Result<_, _>>()?;
    nodes.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(nodes)
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[NODES, FACTS];
