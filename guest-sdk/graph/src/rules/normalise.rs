//! Normalises a state before it is classified: it may have been read back at any point.

use std::collections::BTreeMap;

use crate::{
    relation::Relation,
    rules::classify,
    state::{Classification, FailureDetail, FailurePolicy, GraphState, NodeStatus},
};

/// The results delivered to the signals of a run, by name.
pub type DeliveredSignals<V> = BTreeMap<String, Result<V, FailureDetail>>;

/// Resets every running node to pending: an attempt's promise tells if it is alive.
pub fn reset_running_to_pending<V>(mut state: GraphState<V>) -> GraphState<V> {
    for status in state.status.values_mut() {
        if matches!(status, NodeStatus::Running | NodeStatus::Interrupted) {
            *status = NodeStatus::Pending;
        }
    }
    state
}

/// Resolves nodes that wait for a delivered signal: a value completes them and becomes the output
/// of each, a failure fails them.
pub fn resolve_delivered_signals<V: Clone>(
    mut state: GraphState<V>,
    signals: &DeliveredSignals<V>,
) -> GraphState<V> {
    for (node, status) in &mut state.status {
        let NodeStatus::Waiting(signal) = &*status else { continue };
        match signals.get(signal) {
            None => {}
            Some(Ok(value)) => {
                *status = NodeStatus::Completed;
                state.output.insert(node.clone(), value.clone());
            }
            Some(Err(_)) => *status = NodeStatus::Failed,
        }
    }
    state
}

/// Classifies a stored state, identically on the normal path and after a crash: signals, reset,
/// closure and classification, in this order.
pub fn recover<V: Clone>(
    relation: &Relation,
    stored: GraphState<V>,
    signals: &DeliveredSignals<V>,
    policy: FailurePolicy,
) -> Classification<V> {
    let mut state = stored;
    for node in relation.nodes() {
        state.status.entry(node.clone()).or_insert(NodeStatus::Pending);
    }
    let state = resolve_delivered_signals(state, signals);
    classify(relation, reset_running_to_pending(state), policy)
}
