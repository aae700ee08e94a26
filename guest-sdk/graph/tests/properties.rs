//! The laws of the reduction on random graphs. Each law is also tried with a wrong version of a
//! rule, which it must reject: a law that no wrong rule violates proves nothing.

use std::{collections::BTreeSet, sync::Arc};

use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseResult, TestError, TestRng, TestRunner},
};
use segno_graph::{
    NodeName, Relation, RunProgress, Topology,
    progress::RecoveredNode,
    rules::{self, DeliveredSignals},
    state::{
        Classification, ClassificationKind, FailureDetail, FailurePolicy, GraphState, NodeOutcome,
        NodeResult, NodeStatus,
    },
};

type State = GraphState<u32>;

type Batch = fn(&Relation, &[NodeResult<u32>], State, FailurePolicy) -> Classification<u32>;
type Recover = fn(&Relation, State, &DeliveredSignals<u32>, FailurePolicy) -> Classification<u32>;

/// The rules under test; a wrong version differs in one rule.
#[derive(Clone, Copy)]
struct Rules {
    ready: fn(&Relation, &State) -> Vec<NodeName>,
    fact: fn(&NodeResult<u32>, State) -> State,
    close: fn(&Relation, State) -> State,
    batch: Batch,
    recover: Recover,
}

const RIGHT: Rules = Rules {
    ready: rules::ready_nodes,
    fact: rules::apply_node_fact,
    close: rules::propagate_failure,
    batch: rules::apply_frontier_results,
    recover: rules::recover,
};

/// A graph of up to 24 nodes and a script of outcomes.
#[derive(Clone, Debug)]
struct Case {
    relation: Relation,
    /// The index of the next frontier node to end, and its outcome.
    script: Vec<(usize, NodeOutcome<u32>)>,
    /// Random numbers for choices.
    dice: Vec<usize>,
}

fn outcome() -> impl Strategy<Value = NodeOutcome<u32>> {
    let failure = FailureDetail { code: 500, message: "no".into(), details: None };
    prop_oneof![
        6 => any::<u32>().prop_map(NodeOutcome::Succeeded),
        1 => Just(NodeOutcome::Skipped),
        1 => Just(NodeOutcome::Failed(failure)),
        1 => Just(NodeOutcome::TimedOut),
        1 => (0..3_u8).prop_map(|at| NodeOutcome::SuspendedOn(format!("s{at}"))),
        1 => Just(NodeOutcome::Shutdown),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let graph = (0..=24_usize, 1..=60_u32).prop_flat_map(|(nodes, percent)| {
        let pairs = nodes * nodes.saturating_sub(1) / 2;
        let names = Just((0..nodes).collect::<Vec<_>>()).prop_shuffle();
        (names, prop::collection::vec(0..100_u32, pairs), Just(percent))
    });
    let relation = graph.prop_map(|(order, chances, percent)| {
        // Names are shuffled, so that their order differs from that of the edges.
        let name = |at: usize| NodeName::new(&format!("n{:02}", order[at])).expect("a name");
        let pairs = (0..order.len()).flat_map(|to| (0..to).map(move |from| (from, to)));
        let chosen = pairs.zip(chances).filter(|(_, chance)| *chance < percent);
        let edges: Vec<_> = chosen.map(|((from, to), _)| (name(from), name(to))).collect();
        Relation::from_edges((0..order.len()).map(name), edges).expect("no cycle")
    });
    let script = prop::collection::vec((0..100_usize, outcome()), 0..40);
    let dice = prop::collection::vec(0..100_usize, 64);
    (relation, script, dice).prop_map(|(relation, script, dice)| Case { relation, script, dice })
}

impl Case {
    /// The facts of the script, as a run would produce them.
    fn facts(&self) -> Vec<NodeResult<u32>> {
        let mut state = State::new(&self.relation);
        let mut facts = Vec::new();
        for (at, outcome) in &self.script {
            let frontier = rules::ready_nodes(&self.relation, &state);
            if frontier.is_empty() {
                break;
            }
            let node = frontier[at % frontier.len()].clone();
            let fact = NodeResult { node, outcome: outcome.clone() };
            state = rules::propagate_failure(&self.relation, rules::apply_node_fact(&fact, state));
            facts.push(fact);
        }
        facts
    }

    /// The closed state after half of the facts.
    fn reached(&self) -> State {
        let apply = |state, fact: &NodeResult<u32>| rules::apply_node_fact(fact, state);
        let facts = self.facts();
        let state = facts[..facts.len() / 2].iter().fold(State::new(&self.relation), apply);
        rules::propagate_failure(&self.relation, state)
    }

    /// One fact for each node that could end now.
    fn wave(&self, state: &State) -> Vec<NodeResult<u32>> {
        let nodes = rules::ready_nodes(&self.relation, state).into_iter();
        let outcomes = self.script.iter().rev().map(|(_, outcome)| outcome.clone());
        nodes.zip(outcomes).map(|(node, outcome)| NodeResult { node, outcome }).collect()
    }

    fn shuffled<T: Clone>(&self, of: &[T]) -> Vec<T> {
        let mut shuffled = of.to_vec();
        for (at, dice) in (1..of.len()).zip(&self.dice) {
            shuffled.swap(at, dice % (at + 1));
        }
        shuffled
    }

    /// Random statuses, regardless of the edges.
    fn anything(&self) -> State {
        let mut state = State::new(&self.relation);
        for (node, dice) in self.relation.nodes().zip(&self.dice) {
            let status = match dice % 6 {
                0 => NodeStatus::Failed,
                1 => NodeStatus::Completed,
                2 => NodeStatus::Waiting("s0".into()),
                3 => NodeStatus::Skipped,
                _ => NodeStatus::Pending,
            };
            state.status.insert(node.clone(), status);
        }
        state
    }
}

type Law = fn(&Rules, &Case) -> TestCaseResult;

fn try_law(law: Law, rules: Rules) -> Result<(), Box<TestError<Case>>> {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    TestRunner::new_with_rng(config, rng).run(&case(), |case| law(&rules, &case)).map_err(Box::new)
}

#[track_caller]
fn holds_and_rejects(law: Law, wrong: &[(&str, Rules)]) {
    if let Err(error) = try_law(law, RIGHT) {
        panic!("{error}");
    }
    for (what, rules) in wrong {
        let error = try_law(law, *rules).expect_err(what);
        assert!(matches!(*error, TestError::Fail(..)), "{what}: {error}");
    }
}

fn failed(state: &State) -> BTreeSet<&NodeName> {
    let all = state.status.iter();
    all.filter(|(_, status)| **status == NodeStatus::Failed).map(|(node, _)| node).collect()
}

/// Wrong rule: closes the successors of failed nodes, but not their descendants.
fn close_one_level(relation: &Relation, mut state: State) -> State {
    let failed: Vec<NodeName> = failed(&state).into_iter().cloned().collect();
    for node in failed.iter().flat_map(|node| relation.successors(node)) {
        if state.status(node).is_propagatable() {
            state.status.insert(node.clone(), NodeStatus::Failed);
        }
    }
    state
}

/// Wrong rule: stops at the first failure and forgets the facts after it.
fn stop_at_a_failure(
    relation: &Relation,
    facts: &[NodeResult<u32>],
    state: State,
    policy: FailurePolicy,
) -> Classification<u32> {
    let end = facts.iter().position(|fact| fact.outcome.status() == NodeStatus::Failed);
    let facts = &facts[..end.map_or(facts.len(), |at| at + 1)];
    rules::apply_frontier_results(relation, facts, state, policy)
}

#[test]
fn the_frontier_is_an_antichain() {
    let law: Law = |rules, case| {
        let frontier = (rules.ready)(&case.relation, &case.reached());
        for node in &frontier {
            let behind = case.relation.descendants([node]);
            prop_assert!(frontier.iter().all(|other| !behind.contains(other)), "{}", node);
        }
        Ok(())
    };
    let any_predecessor = |relation: &Relation, state: &State| {
        let unblocked = |node: &NodeName| {
            let mut all = relation.predecessors(node).iter();
            relation.predecessors(node).is_empty() || all.any(|one| state.status(one).unblocks())
        };
        let pending = |node: &&NodeName| *state.status(node) == NodeStatus::Pending;
        relation.nodes().filter(pending).filter(|node| unblocked(node)).cloned().collect()
    };
    holds_and_rejects(
        law,
        &[("one predecessor is enough", Rules { ready: any_predecessor, ..RIGHT })],
    );
}

#[test]
fn facts_of_different_nodes_commute() {
    let law: Law = |rules, case| {
        let state = case.reached();
        for pair in case.wave(&state).windows(2) {
            let one = (rules.fact)(&pair[1], (rules.fact)(&pair[0], state.clone()));
            let other = (rules.fact)(&pair[0], (rules.fact)(&pair[1], state.clone()));
            prop_assert_eq!(one, other);
        }
        Ok(())
    };
    // Wrong rule: looks at other nodes and records nothing after a failure.
    let after_failure = |fact: &NodeResult<u32>, state: State| {
        if failed(&state).is_empty() { rules::apply_node_fact(fact, state) } else { state }
    };
    holds_and_rejects(law, &[("a fact looks around", Rules { fact: after_failure, ..RIGHT })]);
}

#[test]
fn the_order_of_a_wave_does_not_matter() {
    let law: Law = |rules, case| {
        let state = case.reached();
        let wave = case.wave(&state);
        for policy in [FailurePolicy::Drain, FailurePolicy::FailFast] {
            let one = (rules.batch)(&case.relation, &wave, state.clone(), policy);
            let shuffled = case.shuffled(&wave);
            let other = (rules.batch)(&case.relation, &shuffled, state.clone(), policy);
            prop_assert_eq!(one, other);
        }
        Ok(())
    };
    holds_and_rejects(law, &[("stops at a failure", Rules { batch: stop_at_a_failure, ..RIGHT })]);
}

#[test]
fn closing_twice_is_closing_once() {
    let law: Law = |rules, case| {
        let once = (rules.close)(&case.relation, case.anything());
        prop_assert_eq!((rules.close)(&case.relation, once.clone()), once);
        Ok(())
    };
    holds_and_rejects(law, &[("one level", Rules { close: close_one_level, ..RIGHT })]);
}

#[test]
fn closing_never_takes_a_failure_back() {
    let law: Law = |rules, case| {
        let before = case.anything();
        let after = (rules.close)(&case.relation, before.clone());
        prop_assert!(failed(&before).is_subset(&failed(&after)));
        Ok(())
    };
    // Wrong rule: recomputes failures from the nodes without predecessors.
    let anew = |relation: &Relation, mut state: State| {
        for node in relation.nodes().filter(|node| !relation.predecessors(node).is_empty()) {
            if *state.status(node) == NodeStatus::Failed {
                state.status.insert(node.clone(), NodeStatus::Pending);
            }
        }
        rules::propagate_failure(relation, state)
    };
    holds_and_rejects(law, &[("computes failures anew", Rules { close: anew, ..RIGHT })]);
}

#[test]
fn more_failures_close_no_less() {
    let law: Law = |rules, case| {
        let few = case.anything();
        let mut many = few.clone();
        for (node, dice) in case.relation.nodes().zip(case.dice.iter().rev()) {
            if dice % 4 == 0 {
                many.status.insert(node.clone(), NodeStatus::Failed);
            }
        }
        let few = (rules.close)(&case.relation, few);
        let many = (rules.close)(&case.relation, many);
        prop_assert!(failed(&few).is_subset(&failed(&many)));
        Ok(())
    };
    let only_one = |relation: &Relation, state: State| {
        if failed(&state).len() > 2 { state } else { rules::propagate_failure(relation, state) }
    };
    holds_and_rejects(law, &[("gives up on many", Rules { close: only_one, ..RIGHT })]);
}

#[test]
fn every_stored_prefix_recovers_to_a_well_formed_state_that_is_not_stuck() {
    let law: Law = |rules, case| {
        let facts = case.facts();
        let begun = case.dice[0] % (facts.len() + 1);
        let apply = |state, fact: &NodeResult<u32>| rules::apply_node_fact(fact, state);
        let mut stored = facts[..begun].iter().fold(State::new(&case.relation), apply);
        // A wave in flight: all of its nodes claim to run, and some facts are recorded, in any
        // order.
        let closed = rules::propagate_failure(&case.relation, stored.clone());
        let wave = case.shuffled(&case.wave(&closed));
        for fact in &wave {
            stored.status.insert(fact.node.clone(), NodeStatus::Running);
        }
        let recorded = case.dice[1] % (wave.len() + 1);
        let stored = wave[..recorded].iter().fold(stored, apply);

        let signals = DeliveredSignals::from([("s0".to_owned(), Ok(7))]);
        let step = (rules.recover)(&case.relation, stored, &signals, FailurePolicy::Drain);
        let state = step.state();
        prop_assert_eq!(rules::well_formed(&case.relation, state), Ok(()));
        prop_assert_eq!(rules::causal(&case.relation, state), Ok(()));
        prop_assert!(step.kind() != ClassificationKind::Stuck);
        prop_assert!(!state.status.values().any(|one| *one == NodeStatus::Waiting("s0".into())));
        Ok(())
    };
    let without_reset: Recover = |relation, state, signals, policy| {
        rules::classify(relation, rules::resolve_delivered_signals(state, signals), policy)
    };
    let without_closure: Recover = |relation, state, signals, _| {
        let state = rules::resolve_delivered_signals(state, signals);
        let state = rules::reset_running_to_pending(state);
        let frontier = rules::ready_nodes(relation, &state);
        Classification::Progressing(state, frontier)
    };
    let without_signals: Recover = |relation, state, _, policy| {
        rules::classify(relation, rules::reset_running_to_pending(state), policy)
    };
    holds_and_rejects(
        law,
        &[
            ("without reset", Rules { recover: without_reset, ..RIGHT }),
            ("without closure", Rules { recover: without_closure, ..RIGHT }),
            ("without signals", Rules { recover: without_signals, ..RIGHT }),
        ],
    );
}

#[test]
fn facts_one_by_one_lead_where_all_at_once_lead() {
    let law: Law = |rules, case| {
        let state = case.reached();
        let wave = case.wave(&state);
        let all = (rules.batch)(&case.relation, &wave, state.clone(), FailurePolicy::Drain);
        let one_by_one = wave.iter().fold(state, |state, fact| {
            rules::propagate_failure(&case.relation, rules::apply_node_fact(fact, state))
        });
        let last = rules::classify(&case.relation, one_by_one, FailurePolicy::Drain);
        prop_assert_eq!(all, last);
        Ok(())
    };
    holds_and_rejects(law, &[("stops at a failure", Rules { batch: stop_at_a_failure, ..RIGHT })]);
}

#[test]
fn what_runs_follows_the_definitions_through_a_whole_script() {
    let law: Law = |rules, case| {
        let topology = Arc::new(Topology::from(&case.relation));
        let mut run = RunProgress::new(topology.clone(), FailurePolicy::Drain);
        let mut state = State::new(&case.relation);
        for (fact, dice) in case.facts().iter().zip(case.dice.iter().cycle()) {
            run.dispatch(dice % 5);
            let node = topology.index_of(fact.node.as_str()).expect("a node");
            let before = state.clone();
            let changed = run.record(node, run.attempt(node), &fact.outcome);
            state = (rules.close)(&case.relation, (rules.fact)(fact, state));
            let mut changed: Vec<_> = changed.expect("a fact of the run");
            changed.sort_unstable();
            for index in topology.nodes() {
                let name = topology.name(index);
                let status = match run.node_status(index) {
                    NodeStatus::Running => NodeStatus::Pending,
                    status => status,
                };
                prop_assert_eq!(&status, state.status(name));
                let differs = before.status(name) != state.status(name);
                prop_assert!(!differs || changed.contains(&index), "{} changed unsaid", name);
            }
            let names = run.frontier().into_iter().map(|index| topology.name(index).clone());
            prop_assert_eq!(names.collect::<Vec<_>>(), (rules.ready)(&case.relation, &state));
            let rows = state.status.iter();
            let rows = rows.map(|(node, status)| (node.clone(), status.clone()));
            let rows = rows.map(|(node, status)| RecoveredNode { node, status, attempt: 0 });
            let back = RunProgress::recover(topology.clone(), FailurePolicy::Drain, rows, []);
            let back = back.expect("rows of a run");
            prop_assert_eq!(back.frontier(), run.frontier());
            prop_assert_eq!(back.classify(), run.classify());
        }
        Ok(())
    };
    holds_and_rejects(law, &[("one level", Rules { close: close_one_level, ..RIGHT })]);
}
