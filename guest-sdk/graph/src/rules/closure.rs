//! Closure under failure.

use crate::{
    relation::Relation,
    state::{GraphState, NodeStatus},
};

/// Fails every node that depends on a failed one and has not started.
pub fn propagate_failure<V>(relation: &Relation, mut state: GraphState<V>) -> GraphState<V> {
    let failed = relation.nodes().filter(|node| *state.status(node) == NodeStatus::Failed);
    for node in relation.descendants(failed) {
        if state.status(node).is_propagatable() {
            state.status.insert(node.clone(), NodeStatus::Failed);
        }
    }
    state
}
