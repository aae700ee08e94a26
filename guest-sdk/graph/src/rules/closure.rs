//! What a failure closes.

use crate::{
    relation::Relation,
    state::{GraphState, NodeStatus},
};

/// The state in which what depends on a failed node, and has not begun, has failed too.
pub fn propagate_failure<V>(relation: &Relation, mut state: GraphState<V>) -> GraphState<V> {
    let failed = relation.nodes().filter(|node| *state.status(node) == NodeStatus::Failed);
    for node in relation.descendants(failed) {
        if state.status(node).is_propagatable() {
            state.status.insert(node.clone(), NodeStatus::Failed);
        }
    }
    state
}
