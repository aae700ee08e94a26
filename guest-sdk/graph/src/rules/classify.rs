//! Classifies a state.

use crate::{
    relation::Relation,
    rules::{apply_node_fact, propagate_failure, ready_nodes},
    state::{
        Classification, FailurePolicy, GraphState, NodeResult, NodeStatus, RunOutcome,
        StuckDiagnostic,
    },
};

/// Closes the state and classifies it. The state must be normalised: one with running nodes would
/// be classified as stuck or suspended although work is in flight.
pub fn classify<V>(
    relation: &Relation,
    state: GraphState<V>,
    policy: FailurePolicy,
) -> Classification<V> {
    let state = propagate_failure(relation, state);
    let failed = relation.nodes().any(|node| *state.status(node) == NodeStatus::Failed);
    if failed && policy == FailurePolicy::FailFast {
        return Classification::Settled(state, RunOutcome::Failed);
    }
    let frontier = ready_nodes(relation, &state);
    if !frontier.is_empty() {
        return Classification::Progressing(state, frontier);
    }
    if relation.nodes().all(|node| state.status(node).is_terminal()) {
        let outcome = if failed { RunOutcome::Failed } else { RunOutcome::Completed };
        return Classification::Settled(state, outcome);
    }
    if relation.nodes().any(|node| matches!(state.status(node), NodeStatus::Waiting(_))) {
        return Classification::Suspended(state);
    }
    let diagnostic = diagnose(relation, &state);
    Classification::Stuck(state, diagnostic)
}

/// The state after all these facts, independent of their order.
pub fn apply_frontier_results<V: Clone>(
    relation: &Relation,
    facts: &[NodeResult<V>],
    state: GraphState<V>,
    policy: FailurePolicy,
) -> Classification<V> {
    let state = facts.iter().fold(state, |state, fact| apply_node_fact(fact, state));
    classify(relation, state, policy)
}

fn diagnose<V>(relation: &Relation, state: &GraphState<V>) -> StuckDiagnostic {
    let open = relation.nodes().filter(|node| !state.status(node).is_terminal());
    let blocked = open.map(|node| {
        let blocking =
            relation.predecessors(node).iter().filter(|one| !state.status(one).unblocks());
        (node.clone(), blocking.map(|one| (one.clone(), state.status(one).clone())).collect())
    });
    StuckDiagnostic { blocked: blocked.collect() }
}
