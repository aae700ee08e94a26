//! The worked examples of *Staged Reduction for Durable Workflow Execution* (sections 3.9.1 and
//! 3.9.2), step by step, in the definitions and in [`Progress`].

use std::sync::Arc;

use segno_graph::{
    GraphExpression, NodeName, Relation, RunProgress, Topology,
    progress::RecoveredNode,
    rules::{self, DeliveredSignals},
    state::{
        Classification, ClassificationKind, FailureDetail, FailurePolicy, GraphState, NodeOutcome,
        NodeResult, NodeStatus, RunOutcome,
    },
};

use NodeStatus::{Completed, Failed, Pending, Running};

const NODES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

fn name(text: &str) -> NodeName {
    NodeName::new(text).expect("a name")
}

/// A graph with `alpha` before `beta` and `gamma`, and these before `delta`.
fn diamond() -> Relation {
    let path = |nodes: [&str; 3]| GraphExpression::path(nodes.map(name));
    let both = path(["alpha", "beta", "delta"]) + path(["alpha", "gamma", "delta"]);
    Relation::from_graph(&both).expect("no cycle")
}

/// Statuses in the order of [`NODES`]; a completed node's output is its name.
fn state(statuses: [NodeStatus; 4]) -> GraphState<String> {
    let status: std::collections::BTreeMap<_, _> =
        NODES.map(name).into_iter().zip(statuses).collect();
    let owned = status.iter().filter(|(_, status)| status.owns_output());
    let output = owned.map(|(node, _)| (node.clone(), node.to_string())).collect();
    GraphState { status, output }
}

fn succeeded(node: &str) -> NodeResult<String> {
    NodeResult { node: name(node), outcome: NodeOutcome::Succeeded(node.to_owned()) }
}

fn failed(node: &str) -> NodeResult<String> {
    let detail = FailureDetail { code: 500, message: "no".into(), details: None };
    NodeResult { node: name(node), outcome: NodeOutcome::Failed(detail) }
}

fn after(facts: &[NodeResult<String>], state: GraphState<String>) -> Classification<String> {
    rules::apply_frontier_results(&diamond(), facts, state, FailurePolicy::Drain)
}

fn recovered(state: GraphState<String>) -> Classification<String> {
    rules::recover(&diamond(), state, &DeliveredSignals::new(), FailurePolicy::Drain)
}

fn progressing(state: GraphState<String>, frontier: &[&str]) -> Classification<String> {
    Classification::Progressing(state, frontier.iter().map(|node| name(node)).collect())
}

/// A [`Progress`] recovered from the same rows, and the nodes that it dispatches.
fn run(state: &GraphState<String>) -> (RunProgress, Vec<String>) {
    let rows = state.status.iter();
    let rows = rows.map(|(node, status)| (node.clone(), status.clone()));
    let rows = rows.map(|(node, status)| RecoveredNode { node, status, attempt: 0 });
    let topology = Arc::new(Topology::from(&diamond()));
    let run = RunProgress::recover(topology.clone(), FailurePolicy::Drain, rows, []);
    let mut run = run.expect("rows of a run");
    let nodes = run.dispatch(16);
    (run, nodes.into_iter().map(|node| topology.name(node).to_string()).collect())
}

#[test]
fn a_diamond_completes_in_three_waves() {
    let start = state([Pending, Pending, Pending, Pending]);
    assert_eq!(recovered(start.clone()), progressing(start.clone(), &["alpha"]));

    let first = state([Completed, Pending, Pending, Pending]);
    let step = after(&[succeeded("alpha")], start);
    assert_eq!(step, progressing(first.clone(), &["beta", "gamma"]));

    let second = state([Completed, Completed, Completed, Pending]);
    for facts in [["beta", "gamma"], ["gamma", "beta"]] {
        let step = after(&facts.map(succeeded), first.clone());
        assert_eq!(step, progressing(second.clone(), &["delta"]));
    }

    let third = state([Completed, Completed, Completed, Completed]);
    let step = after(&[succeeded("delta")], second);
    assert_eq!(step, Classification::Settled(third, RunOutcome::Completed));
}

#[test]
fn what_runs_completes_the_diamond_in_the_same_waves() {
    let (mut run, nodes) = run(&state([Pending, Pending, Pending, Pending]));
    assert_eq!(nodes, ["alpha"]);
    let mut waves = Vec::new();
    while run.classify() == ClassificationKind::Progressing {
        let wave: Vec<_> = run.running().collect();
        for node in wave.iter().rev() {
            run.record(*node, 0, &NodeOutcome::Succeeded(())).expect("a fact of the run");
        }
        waves.push(wave.len());
        run.dispatch(16);
    }
    assert_eq!(waves, [1, 2, 1]);
    assert_eq!(run.classify(), ClassificationKind::Settled(RunOutcome::Completed));
}

#[test]
fn after_a_crash_in_a_wave_only_what_was_not_recorded_runs_again() {
    // Facts are persisted one by one: gamma's was, while beta was still running.
    let stored = state([Completed, Running, Completed, Pending]);
    let back = state([Completed, Pending, Completed, Pending]);
    assert_eq!(recovered(stored.clone()), progressing(back.clone(), &["beta"]));
    let (mut run, nodes) = run(&stored);
    assert_eq!(nodes, ["beta"]);

    let closed = state([Completed, Failed, Completed, Failed]);
    let step = after(&[failed("beta")], back);
    assert_eq!(step, Classification::Settled(closed, RunOutcome::Failed));
    let beta = run.topology().index_of("beta").expect("a node");
    let changed = run.record(beta, 0, &failed("beta").outcome).expect("a fact of the run");
    let changed: Vec<_> = changed.iter().map(|node| run.topology().name(*node).as_str()).collect();
    assert_eq!(changed, ["beta", "delta"]);
    assert_eq!(run.classify(), ClassificationKind::Settled(RunOutcome::Failed));
}

#[test]
fn a_failure_that_was_recorded_before_the_crash_is_closed_after_it() {
    let stored = state([Completed, Failed, Completed, Pending]);
    let closed = state([Completed, Failed, Completed, Failed]);
    assert_eq!(recovered(stored.clone()), Classification::Settled(closed, RunOutcome::Failed));
    let (run, nodes) = run(&stored);
    assert!(nodes.is_empty());
    assert_eq!(run.classify(), ClassificationKind::Settled(RunOutcome::Failed));
}

#[test]
fn after_a_crash_of_a_wave_that_is_persisted_as_one_all_of_it_runs_again() {
    let stored = state([Completed, Running, Running, Pending]);
    let back = state([Completed, Pending, Pending, Pending]);
    assert_eq!(recovered(stored.clone()), progressing(back, &["beta", "gamma"]));
    assert_eq!(run(&stored).1, ["beta", "gamma"]);
}

#[test]
fn a_state_in_the_middle_of_a_wave_looks_stuck_until_it_is_normalised() {
    let stored = state([Completed, Running, Completed, Pending]);
    let raw = rules::classify(&diamond(), stored.clone(), FailurePolicy::Drain);
    let Classification::Stuck(_, diagnostic) = raw else { panic!("{raw:?}") };
    let told = format!("{:?}", diagnostic.blocked);
    assert_eq!(told, "{beta: {}, delta: {beta: Running}}");
    assert_eq!(recovered(stored).kind(), ClassificationKind::Progressing);
}
