//! The nodes that can run.

use crate::{
    name::NodeName,
    relation::Relation,
    state::{GraphState, NodeStatus},
};

/// The frontier: the pending nodes whose predecessors all unblock, ascending.
pub fn ready_nodes<V>(relation: &Relation, state: &GraphState<V>) -> Vec<NodeName> {
    let unblocked = |node: &NodeName| {
        relation.predecessors(node).iter().all(|one| state.status(one).unblocks())
    };
    relation
        .nodes()
        .filter(|node| *state.status(node) == NodeStatus::Pending && unblocked(node))
        .cloned()
        .collect()
}
