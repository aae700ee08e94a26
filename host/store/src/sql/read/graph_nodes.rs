//! The nodes of a graph run.

use segno_core::{graph::NodeRow, id::PromiseId, value::Text};

use super::{Select, Session};
use crate::sql::{Failure, table::graph_node};

const NODES: Select = Select::common(
    "SELECT promises.id, graph_nodes.node, graph_nodes.state, graph_nodes.attempt
     FROM promises JOIN graph_nodes ON graph_nodes.run = promises.n
     WHERE promises.id = $1",
);

/// All rows of a run, by node.
pub(super) async fn graph_nodes(
    session: &mut impl Session,
    run: &PromiseId,
) -> Result<Vec<(Text, NodeRow)>, Failure> {
    let rows = session.all(&NODES, &[run.into()]).await?;
    let read = |row| graph_node(row, 0).map(|(_, node, row)| (node, row));
    let mut nodes: Vec<_> = rows.iter().map(read).collect::<Result<_, _>>()?;
    nodes.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(nodes)
}

/// For the tests of plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[NODES];
