//! Trees of executions: their bounds, and their end.

use crate::{
    command::{Command, FenceOperation},
    id::{Claim, CommandIndex, PromiseId},
    invocation::{CommandKind, CommandRequest, Record, RecordBody},
    promise::{OutboxKey, TaskStatus},
    reply::{Refusal, Reply},
    tags,
    time::Timestamp,
    tree::{TreeBounds, TreeStop},
    value::Text,
    world::{self, CheckedStore},
};

fn call(id: &str) -> FenceOperation {
    FenceOperation::Create {
        new: world::new(id, &[(tags::TARGET, "ship")], Timestamp::NEVER),
        request: None,
    }
}

fn send(id: &str) -> FenceOperation {
    let tags = [(tags::TARGET, "ship"), (tags::DETACHED, "true")];
    FenceOperation::Create { new: world::new(id, &tags, Timestamp::NEVER), request: None }
}

/// The acquired root `w`, in a world with these bounds.
fn root(bounds: TreeBounds) -> (CheckedStore, Claim) {
    let mut world = CheckedStore::new();
    world.config.tree = bounds;
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    (world, claim)
}

/// Executes actions under a claim, and returns the reason for each refused one.
fn make(
    world: &mut CheckedStore,
    claim: &Claim,
    acts: Vec<FenceOperation>,
) -> Vec<Option<TreeStop>> {
    let Reply::Fenced { outcomes, .. } = world.done(world::fence(claim.clone(), vec![], acts))
    else {
        panic!("no fence")
    };
    let stop = |(_, outcome)| match outcome {
        Ok(_) => None,
        Err(Refusal::Tree { stop, .. }) => Some(stop),
        Err(other) => panic!("{other}"),
    };
    outcomes.into_iter().map(stop).collect()
}

#[test]
fn a_tree_is_as_deep_as_its_bound_whether_calls_are_waited_for_or_not() {
    for make_one in [call, send] {
        let (mut world, claim) = root(TreeBounds { depth: 2, ..TreeBounds::default() });
        assert_eq!(make(&mut world, &claim, vec![make_one("w/0")]), [None]);
        let child = world.acquire("w/0", 2);
        assert_eq!(make(&mut world, &child, vec![make_one("w/0/0")]), [None]);
        let child = world.acquire("w/0/0", 3);
        let refused = make(&mut world, &child, vec![make_one("w/0/0/0")]);
        assert_eq!(refused, [Some(TreeStop::Depth(2))]);
        // Timers and plain promises are not executions.
        let timer = FenceOperation::Create {
            new: world::new("w/0/0/1", &[], Timestamp::NEVER),
            request: None,
        };
        assert_eq!(make(&mut world, &child, vec![timer]), [None]);
    }
}

#[test]
fn a_tree_has_as_many_executions_as_its_bound() {
    let (mut world, claim) = root(TreeBounds { executions: 3, ..TreeBounds::default() });
    assert_eq!(make(&mut world, &claim, vec![call("w/0")]), [None]);
    let child = world.acquire("w/0", 2);
    let many = ["w/0/0", "w/0/1", "w/0/2", "w/0/3"].map(call).to_vec();
    let full = Some(TreeStop::Executions(3));
    assert_eq!(make(&mut world, &child, many), [None, None, None, full]);
    // An existing promise is not a birth.
    assert_eq!(make(&mut world, &child, vec![call("w/0/0"), call("w/0/4")]), [None, full]);
    // A root's own executions are counted as its commands.
    let (mut world, claim) = root(TreeBounds { executions: 2, ..TreeBounds::default() });
    let full = Some(TreeStop::Executions(2));
    let many = ["w/0", "w/1", "w/2"].map(call).to_vec();
    assert_eq!(make(&mut world, &claim, many), [None, None, full]);
}

#[test]
fn a_tree_grows_as_fast_as_its_bound() {
    let (mut world, claim) = root(TreeBounds { births: Some(2), ..TreeBounds::default() });
    let many: Vec<FenceOperation> = (0..20).map(|n| call(&format!("w/{n}"))).collect();
    let made = make(&mut world, &claim, many);
    assert_eq!(made.iter().filter(|stop| stop.is_none()).count(), 2);
    assert_eq!(made[2], Some(TreeStop::Births(2)));
    let child = world.acquire("w/0", 2);
    assert_eq!(make(&mut world, &child, vec![call("w/0/0")]), [Some(TreeStop::Births(2))]);
    world.wait(500);
    assert_eq!(make(&mut world, &child, vec![call("w/0/0")]), [None]);
    // A root that creates executions one by one is also bounded.
    let (mut world, claim) = root(TreeBounds { births: Some(2), ..TreeBounds::default() });
    let mut one = |n: u32| make(&mut world, &claim, vec![call(&format!("w/{n}"))]);
    let too_fast = Some(TreeStop::Births(2));
    assert_eq!([one(0), one(1), one(2)].concat(), [None, None, too_fast]);
    world.wait(500);
    assert_eq!(make(&mut world, &claim, vec![call("w/3")]), [None]);
}

/// The record of a service call, as its host writes it.
fn called(seq: u32, index: u32, callee: &str) -> Record {
    let request = CommandRequest::verbatim(&[("frame", b"call"), ("promise", callee.as_bytes())]);
    let (kind, name) = (CommandKind::Call, Text::from("Order/place"));
    let body = RecordBody::Command { index: CommandIndex(index), kind, name, request };
    Record { body, ..world::asked(seq, index) }
}

#[test]
fn a_kill_reaches_whom_a_service_called_and_waits_for() {
    let mut world = CheckedStore::new();
    let (alias, module) = ("restate:Order".into(), world::MODULE);
    world.done(Command::Deploy { alias, module });
    let service = [(tags::TARGET, "restate://Order/place"), (tags::DETACHED, "true")];
    world.done(world::create("w", &service[..1]));
    let claim = world.acquire("w", 1);
    let make = |id: &str| FenceOperation::Create {
        new: world::new(id, &service, Timestamp::NEVER),
        request: None,
    };
    let records = vec![world::started(), called(1, 0, "a"), called(2, 1, "b"), called(3, 2, "c")];
    let acts = ["a", "b", "c", "sent"].map(make).to_vec();
    world.done(world::fence(claim.clone(), records, acts));
    // It was notified of one result, and its callees call others.
    world.done(world::fence(claim.clone(), vec![world::notified(4, 2)], vec![]));
    let callee = world.acquire("a", 2);
    let records = vec![world::started(), called(1, 0, "deep")];
    world.done(world::fence(callee, records, vec![make("deep")]));
    world.done(Command::Kill { invocation: claim.id });
    for id in ["w", "a"] {
        world.done(Command::OutboxDue { key: OutboxKey::CancelChildren(PromiseId::from(id)) });
    }
    for (id, is_killed) in [("a", true), ("b", true), ("deep", true), ("c", false), ("sent", false)]
    {
        let promise = world.model.promise(&PromiseId::from(id)).expect("it was made");
        assert_eq!(promise.was_killed(), is_killed, "{id}");
    }
}

#[test]
fn nothing_is_born_in_a_tree_whose_root_was_killed() {
    let (mut world, claim) = root(TreeBounds::default());
    make(&mut world, &claim, vec![call("w/0"), send("w/1")]);
    let (called, sent) = (world.acquire("w/0", 2), world.acquire("w/1", 3));
    make(&mut world, &called, vec![call("w/0/0"), send("w/0/1")]);
    make(&mut world, &sent, vec![call("w/1/0")]);
    let [deep, sent_later, of_sent] =
        [("w/0/0", 4), ("w/0/1", 5), ("w/1/0", 6)].map(|(id, nonce)| world.acquire(id, nonce));
    world.done(Command::Kill { invocation: claim.id });
    let killed = Some(TreeStop::Killed);
    for claim in [&called, &deep] {
        let id = format!("{}/9", claim.id);
        assert_eq!(make(&mut world, claim, vec![call(&id), send(&id)]), [killed; 2], "{id}");
    }
    // A sent invocation has no owner.
    for claim in [&sent, &sent_later, &of_sent] {
        let id = format!("{}/9", claim.id);
        assert_eq!(make(&mut world, claim, vec![call(&id)]), [None], "{id}");
    }
    for id in ["w", "w/0", "w/0/0"] {
        let key = OutboxKey::CancelChildren(PromiseId::from(id));
        world.done(Command::OutboxDue { key });
    }
    assert_eq!(["w/0", "w/0/0"].map(|id| world.status(id)), [Some(TaskStatus::Fulfilled); 2]);
    assert_eq!(["w/1", "w/1/0"].map(|id| world.status(id)), [Some(TaskStatus::Acquired); 2]);
    // The id can be reused, and its tree can grow again.
    for id in ["w/1/0/9", "w/0/1/9", "w/1/9", "w/1/0", "w/0/1", "w/1"] {
        world.done(Command::Kill { invocation: PromiseId::from(id) });
        world.done(Command::OutboxDue { key: OutboxKey::CancelChildren(PromiseId::from(id)) });
    }
    let top = PromiseId::from("w");
    world.done(Command::Prune { top, before: world.now, part: false, state: false });
    assert_eq!(world.snapshot.tree_counts.len(), 0);
}
