//! Applies one fact.

use crate::state::{GraphState, NodeOutcome, NodeResult};

/// The state after this fact. Changes only the fact's node, so facts of different nodes commute.
pub fn apply_node_fact<V: Clone>(fact: &NodeResult<V>, mut state: GraphState<V>) -> GraphState<V> {
    state.status.insert(fact.node.clone(), fact.outcome.status());
    match &fact.outcome {
        NodeOutcome::Succeeded(output) => state.output.insert(fact.node.clone(), output.clone()),
        NodeOutcome::Skipped
        | NodeOutcome::SuspendedOn(_)
        | NodeOutcome::Failed(_)
        | NodeOutcome::TimedOut
        | NodeOutcome::Cancelled
        | NodeOutcome::Shutdown
        | NodeOutcome::RunCancelled => state.output.remove(&fact.node),
    };
    state
}
