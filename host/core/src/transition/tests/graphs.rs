//! Graph runs: rows of their nodes, their signals, and the modules that their plans name.

use crate::{
    address::GRAPH_RUN,
    command::{Command, FenceOperation},
    graph::NodeState,
    id::{Claim, PromiseId, Version},
    promise::{OutboxKey, ReleaseReason, TaskStatus, Verdict},
    reply::{Conflict, Refusal},
    tags,
    time::{Millis, Timestamp},
    value::{Text, Value},
    world::{self, CheckedStore, MODULE},
};

/// An acquired run `g`.
fn held() -> (CheckedStore, Claim) {
    let mut world = CheckedStore::new();
    world.done(world::graph_run("g"));
    let claim = world.acquire("g", 1);
    (world, claim)
}

fn go(payload: &str) -> Command {
    Command::Signal {
        invocation: "g".into(),
        name: Text::from("go"),
        payload: Value::of(payload.as_bytes()),
        key: None,
    }
}

fn states(world: &CheckedStore) -> Vec<(String, NodeState)> {
    let run = PromiseId::from("g");
    world.model.nodes_of(&run).map(|(node, row)| (node.to_string(), row.state)).collect()
}

#[test]
fn what_is_written_of_nodes_stays_until_the_run_goes() {
    let (mut world, claim) = held();
    let acts = vec![world::attempt("g", "a"), world::node("a", NodeState::Running)];
    world.done(world::fence(claim.clone(), vec![], acts));
    assert_eq!(states(&world), [("a".to_owned(), NodeState::Running)]);
    world.done(world::settle("g/n/a/0", Verdict::Rejected));
    let acts = vec![world::node("a", NodeState::Failed)];
    world.done(world::fence(claim.clone(), vec![], acts));
    assert_eq!(states(&world), [("a".to_owned(), NodeState::Failed)]);
    world.done(Command::Kill { invocation: "g".into() });
    world.wait(10);
    world.done(Command::OutboxDue { key: OutboxKey::CancelChildren("g".into()) });
    world.wait(10);
    world.done(Command::Prune { top: "g".into(), before: world.now, part: false, state: false });
    assert_eq!(states(&world), []);
}

#[test]
fn a_fence_that_comes_again_late_takes_nothing_back() {
    let (mut world, claim) = held();
    let begin = || vec![world::attempt("g", "a"), world::node("a", NodeState::Running)];
    world.done(world::fence(claim.clone(), vec![], begin()));
    world.done(world::settle("g/n/a/0", Verdict::Resolved));
    let acts = vec![world::node("a", NodeState::Completed)];
    world.done(world::fence(claim.clone(), vec![], acts));
    world.done(world::fence(claim, vec![], begin()));
    assert_eq!(states(&world), [("a".to_owned(), NodeState::Completed)]);
}

#[test]
fn the_history_of_a_run_keeps_every_state_of_a_node_once() {
    let (mut world, claim) = held();
    let begin = || vec![world::attempt("g", "a"), world::node("a", NodeState::Running)];
    world.done(world::fence(claim.clone(), vec![], begin()));
    world.wait(10);
    world.done(world::settle("g/n/a/0", Verdict::Resolved));
    let acts = vec![world::node("a", NodeState::Completed)];
    world.done(world::fence(claim.clone(), vec![], acts));
    world.wait(10);
    world.done(world::fence(claim, vec![], begin()));
    let history: Vec<_> = world.model.history_of(&"g".into()).collect();
    let told = history.iter().map(|event| (event.row.state, event.fact.at));
    let now = world.now;
    let at = |ago| Timestamp(now.0 - ago);
    assert_eq!(
        told.collect::<Vec<_>>(),
        [(NodeState::Running, at(20)), (NodeState::Completed, at(10))]
    );
}

#[test]
fn what_is_begun_once_ends_when_its_claim_is_lost_or_given_back() {
    let released = |reason| Some(reason);
    for (mark, verdict, reason) in [
        ("true", Verdict::Rejected, None),
        ("output", Verdict::Resolved, None),
        ("true", Verdict::Rejected, released(ReleaseReason::Shutdown)),
        ("true", Verdict::Rejected, released(ReleaseReason::Yield)),
    ] {
        let mut world = CheckedStore::new();
        let pairs = [(tags::TARGET, "wasm://shop/ship"), (tags::ONCE, mark)];
        world.done(world::create("pay", &pairs));
        let claim = world.acquire("pay", 1);
        match reason {
            Some(reason) => drop(world.done(world::release(claim, reason))),
            None => {
                world.wait(100_000_000);
                world.done(Command::LeaseDue { id: "pay".into() });
            }
        }
        assert_eq!(world.verdict("pay"), Some(verdict), "{mark}");
        let value = world.model.promise(&"pay".into()).expect("it").settlement().cloned();
        let value = value.and_then(|settlement| settlement.value).expect("a value");
        let told = String::from_utf8_lossy(value.data.as_slice()).into_owned();
        assert!(told.contains("it may or may not have acted"), "{told}");
    }
    // A host without capacity has begun nothing.
    let mut world = CheckedStore::new();
    world.done(world::create("pay", &[(tags::TARGET, "wasm://shop/ship"), (tags::ONCE, "true")]));
    let claim = world.acquire("pay", 1);
    let wait = Millis(10);
    world.done(world::release(claim, ReleaseReason::NoRoom { wait }));
    assert_eq!(world.status("pay"), Some(TaskStatus::Pending));
}

#[test]
fn a_run_without_a_module_waits_for_nothing_that_somebody_else_made() {
    let mut world = CheckedStore::new();
    world.done(world::create("alone", &[(tags::TARGET, GRAPH_RUN)]));
    let claim = world.acquire("alone", 1);
    world.done(world::create("alone/n/x/0", &[]));
    let refused = world.refused(world::suspend(claim, &["alone/n/x/0"]));
    assert_eq!(refused, Refusal::IdTaken { id: "alone/n/x/0".into() });
}

#[test]
fn only_the_claim_of_a_run_writes_of_nodes() {
    let (mut world, claim) = held();
    world.done(world::workflow("w"));
    let other = world.acquire("w", 2);
    let act = || vec![world::node("a", NodeState::Skipped)];
    let fenced = world.done(world::fence(other, vec![], act()));
    assert!(format!("{fenced:?}").contains("`w` is not the run of a graph"), "{fenced:?}");
    let stale = Claim { version: Version(claim.version.0 - 1), ..claim };
    world.refused(world::fence(stale, vec![], act()));
    assert_eq!(states(&world), []);
}

#[test]
fn a_signal_has_one_payload_and_may_come_before_anybody_waits() {
    let (mut world, claim) = held();
    world.done(go("1"));
    let signal = PromiseId::from("g/sig/go");
    let made_by =
        |world: &CheckedStore| world.model.promise(&signal).map(|it| it.spec.made_by.clone());
    assert_eq!(made_by(&world), Some(Some("g".into())));
    assert_eq!(world.verdict("g/sig/go"), Some(Verdict::Resolved));
    world.done(go("1"));
    let refused = world.refused(go("2"));
    assert_eq!(refused, Refusal::from(Conflict::PromiseSettled(signal)));
    // A run that then waits for it continues immediately.
    world.done(world::fence(claim.clone(), vec![], vec![world::awaited_signal("g")]));
    let ready = world.done(world::suspend(claim, &["g/sig/go"]));
    assert!(format!("{ready:?}").contains("Ready"), "{ready:?}");
}

#[test]
fn a_signal_resumes_a_run_that_waits_for_it() {
    let (mut world, claim) = held();
    let begin = vec![world::attempt("g", "a"), world::node("a", NodeState::Running)];
    world.done(world::fence(claim.clone(), vec![], begin));
    world.done(world::settle("g/n/a/0", Verdict::Resolved));
    let wait = vec![
        world::node("a", NodeState::Completed),
        world::awaited_signal("g"),
        world::node("b", NodeState::Waiting),
    ];
    world.done(world::fence(claim.clone(), vec![], wait));
    world.done(world::suspend(claim, &["g/sig/go"]));
    world.done(go("1"));
    assert_eq!(world.status("g"), Some(TaskStatus::Pending));
    let named = Command::Signal {
        invocation: "g".into(),
        name: Text::from("a/b"),
        payload: Value::default(),
        key: None,
    };
    assert!(world.refused(named).to_string().contains("`a/b` is no name of a signal"));
}

#[test]
fn a_run_names_the_functions_of_one_module() {
    let (mut world, claim) = held();
    let module =
        |world: &CheckedStore, id: &str| world.model.task(&id.into()).expect("a task").module;
    assert_eq!(module(&world, "g"), Some(MODULE));
    let nested = world::new("g/n/a/0", &[(tags::TARGET, GRAPH_RUN)], Timestamp::NEVER);
    let acts =
        vec![world::attempt("g", "c"), FenceOperation::Create { new: nested, request: None }];
    world.done(world::fence(claim, vec![], acts));
    assert_eq!(module(&world, "g/n/c/0"), Some(MODULE));
    assert_eq!(module(&world, "g/n/a/0"), Some(MODULE));
    world.done(world::create("alone", &[(tags::TARGET, GRAPH_RUN)]));
    assert_eq!(module(&world, "alone"), None);
    let unknown = world::create("u", &[(tags::TARGET, GRAPH_RUN), (tags::MODULE, "nowhere")]);
    assert!(world.refused(unknown).to_string().contains("`nowhere` is not deployed"));
}
