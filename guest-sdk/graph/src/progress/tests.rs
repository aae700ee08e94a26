use super::*;
use crate::{graph::GraphExpression, relation::Relation, state::FailureDetail};

const COMPLETED: NodeOutcome<()> = NodeOutcome::Succeeded(());

fn failed() -> NodeOutcome<()> {
    NodeOutcome::Failed(FailureDetail { code: 500, message: "no".into(), details: None })
}

fn run(graph: GraphExpression<&str>, policy: FailurePolicy) -> RunProgress {
    RunProgress::new(Arc::new(topology(graph)), policy)
}

fn topology(graph: GraphExpression<&str>) -> Topology {
    let named = graph.fold(
        || GraphExpression::Empty,
        |text| GraphExpression::Vertex(NodeName::new(text).expect("a name")),
        |left, right| left + right,
        |left, right| left * right,
    );
    Topology::from(&Relation::from_graph(&named).expect("no cycle"))
}

/// A graph with `a` before `b` and `c`, and these before `d`.
fn diamond() -> GraphExpression<&'static str> {
    let v = GraphExpression::Vertex;
    GraphExpression::edge("a", "b") + GraphExpression::edge("a", "c") + (v("b") + v("c")) * v("d")
}

fn names(progress: &RunProgress, nodes: &[NodeIndex]) -> String {
    nodes.iter().map(|node| progress.topology.name(*node).as_str()).collect::<Vec<_>>().join(" ")
}

/// Records the outcome of a node's newest attempt; returns the changes.
fn end(progress: &mut RunProgress, node: &str, outcome: &NodeOutcome<()>) -> String {
    let node = progress.topology.index_of(node).expect("a node");
    let changed =
        progress.record(node, progress.attempt(node), outcome).expect("a fact of the run");
    names(progress, &changed)
}

fn dispatched(progress: &mut RunProgress, limit: usize) -> String {
    let nodes = progress.dispatch(limit);
    names(progress, &nodes)
}

fn row(node: &str, status: NodeStatus) -> RecoveredNode {
    RecoveredNode { node: NodeName::new(node).expect("a name"), status, attempt: 0 }
}

#[test]
fn no_more_nodes_run_at_once_than_the_limit() {
    let mut progress = run(GraphExpression::star("a", ["b", "c", "d", "e"]), FailurePolicy::Drain);
    assert_eq!(dispatched(&mut progress, 2), "a");
    assert_eq!(dispatched(&mut progress, 2), "");
    end(&mut progress, "a", &COMPLETED);
    assert_eq!(dispatched(&mut progress, 2), "b c");
    assert_eq!(dispatched(&mut progress, 2), "");
    end(&mut progress, "b", &COMPLETED);
    assert_eq!(dispatched(&mut progress, 2), "d");
    assert_eq!(dispatched(&mut progress, 3), "e");
    assert_eq!(
        progress.counts(),
        StatusCounts { running: 3, completed: 2, ..StatusCounts::default() }
    );
}

#[test]
fn live_attempts_are_dispatched_first_and_count_towards_the_limit() {
    let topology = Arc::new(topology(GraphExpression::star("a", ["b", "c", "d", "e"])));
    let rows = [row("a", NodeStatus::Completed), row("d", NodeStatus::Running)];
    let recovered = RunProgress::recover(topology, FailurePolicy::Drain, rows, []);
    let mut progress = recovered.expect("rows of a run");
    assert_eq!(progress.counts().running, 0, "running is no truth");
    let e = progress.topology.index_of("e").expect("a node");
    progress.mark_live(e);
    let frontier = progress.frontier();
    assert_eq!(names(&progress, &frontier), "b c d e");
    assert_eq!(dispatched(&mut progress, 1), "d");
    assert_eq!(dispatched(&mut progress, 3), "e b");
}

#[test]
fn an_outcome_that_resets_begins_the_next_attempt_once() {
    let mut progress = run(GraphExpression::edge("a", "b"), FailurePolicy::Drain);
    let a = progress.dispatch(1)[0];
    for outcome in [NodeOutcome::Cancelled, NodeOutcome::<()>::Shutdown] {
        // The second outcome belongs to an attempt that has been reset already.
        progress.record(a, 0, &outcome).expect("a fact of the run");
        assert_eq!((progress.attempt(a), progress.status(a)), (1, Status::Pending));
    }
    assert_eq!(progress.record(a, 0, &COMPLETED), Ok(vec![]), "an old attempt says nothing");
    assert_eq!(dispatched(&mut progress, 1), "a");
    assert_eq!(progress.record(a, 1, &COMPLETED), Ok(vec![a]));
    assert_eq!(progress.record(a, 1, &COMPLETED), Ok(vec![]));
    assert_eq!(progress.reset(a), Ok(vec![]), "what has ended is not begun again");
    assert_eq!(progress.attempt(a), 1);
}

#[test]
fn facts_that_no_run_brings_forth_are_refused_by_name() {
    let mut progress = run(GraphExpression::edge("a", "b"), FailurePolicy::Drain);
    let before = format!("{progress:?}");
    let mut told = |node, attempt| {
        progress.record(NodeIndex(node), attempt, &COMPLETED).expect_err("a refusal").to_string()
    };
    assert_eq!(told(7, 0), "the run has no node 7");
    assert_eq!(told(0, 1), "attempt 1 of `a` ended, and 0 is the newest");
    assert_eq!(told(1, 0), "`b` ended although `a`, which comes before it, does not let it begin");
    assert!(matches!(progress.reset(NodeIndex(1)), Err(RecordRefusal::NotDispatchable { .. })));
    assert_eq!(format!("{progress:?}"), before);
}

#[test]
fn a_failure_closes_what_depends_on_it_and_drains_the_rest() {
    let mut progress = run(diamond() + GraphExpression::edge("d", "e"), FailurePolicy::Drain);
    end(&mut progress, "a", &COMPLETED);
    assert_eq!(end(&mut progress, "b", &failed()), "b d e");
    assert_eq!(progress.classify(), ClassificationKind::Progressing);
    assert_eq!(dispatched(&mut progress, 9), "c");
    assert_eq!(end(&mut progress, "c", &NodeOutcome::TimedOut), "c");
    assert_eq!(progress.classify(), ClassificationKind::Settled(RunOutcome::Failed));
}

#[test]
fn a_run_that_fails_fast_settles_at_once_and_dispatches_nothing_more() {
    let mut progress = run(diamond(), FailurePolicy::FailFast);
    end(&mut progress, "a", &COMPLETED);
    end(&mut progress, "b", &failed());
    assert_eq!(progress.classify(), ClassificationKind::Settled(RunOutcome::Failed));
    assert_eq!(dispatched(&mut progress, 9), "");
}

#[test]
fn a_signal_completes_all_that_wait_for_it_and_those_that_come_later() {
    let waits = NodeOutcome::SuspendedOn("go".to_owned());
    let mut progress = run(diamond(), FailurePolicy::Drain);
    end(&mut progress, "a", &COMPLETED);
    end(&mut progress, "b", &waits);
    assert_eq!(progress.classify(), ClassificationKind::Progressing);
    end(&mut progress, "c", &waits);
    assert_eq!(progress.classify(), ClassificationKind::Suspended);
    assert_eq!(progress.awaited_signals().collect::<Vec<_>>(), ["go"]);
    let changed = progress.deliver("go", SignalDelivery::Value);
    assert_eq!(names(&progress, &changed), "b c");
    assert_eq!(progress.deliver("go", SignalDelivery::Failure), []);
    assert_eq!(progress.awaited_signals().count(), 0);
    end(&mut progress, "d", &waits);
    assert_eq!(progress.classify(), ClassificationKind::Settled(RunOutcome::Completed));
}

#[test]
fn a_signal_that_fails_closes_what_is_behind() {
    let mut progress = run(diamond(), FailurePolicy::Drain);
    end(&mut progress, "a", &NodeOutcome::SuspendedOn("go".to_owned()));
    let changed = progress.deliver("go", SignalDelivery::Failure);
    assert_eq!(names(&progress, &changed), "a b c d");
    assert_eq!(progress.classify(), ClassificationKind::Settled(RunOutcome::Failed));
}

#[test]
fn rows_of_no_run_of_this_plan_are_refused_by_name() {
    let topology = Arc::new(topology(GraphExpression::edge("a", "b")));
    let waiting = || NodeStatus::Waiting("go".to_owned());
    let causal = "although `a` does not let it begin";
    for (rows, told) in [
        (
            vec![row("x", NodeStatus::Pending)],
            "a row is stored for `x`, which is no node of the plan",
        ),
        (vec![row("a", NodeStatus::Pending); 2], "two rows are stored for `a`"),
        (
            vec![row("a", NodeStatus::Rewritten)],
            "`a` is stored as rewritten, which no node of a run becomes",
        ),
        (vec![row("b", NodeStatus::Completed)], &format!("`b` is stored as Completed, {causal}")),
        (vec![row("b", waiting())], &format!("`b` is stored as Waiting, {causal}")),
    ] {
        let error = RunProgress::recover(topology.clone(), FailurePolicy::Drain, rows, []);
        assert_eq!(error.expect_err(told).to_string(), told);
    }
}

#[test]
fn a_run_without_nodes_has_completed() {
    let progress = run(GraphExpression::Empty, FailurePolicy::Drain);
    assert_eq!(progress.classify(), ClassificationKind::Settled(RunOutcome::Completed));
}
