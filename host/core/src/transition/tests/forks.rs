//! Forks: invocations that begin with records of another one.

use crate::{
    command::{Command, FenceOperation},
    fork::{Fork, ForkOrigin, KeptPromise},
    id::{CommandIndex, PromiseId, Version},
    invocation::{Outcome, Record, RecordBody},
    promise::{CancelState, NewPromise, Promise, TaskStatus, Verdict},
    reply::{FenceResult, Reply},
    saga::FactKind,
    tags,
    time::Timestamp,
    value::{Payload, Text, Value},
    world::{self, CheckedStore, MODULE, OTHER_MODULE},
};

fn target() -> NewPromise {
    world::new(
        "f",
        &[(tags::TARGET, "wasm://shop/order"), ("label:team", "blue")],
        Timestamp::NEVER,
    )
}

fn told(seq: u32, name: &str) -> Record {
    let payload = Payload::Json(Text::from("7"));
    let body = RecordBody::Signal { name: Text::from(name), payload };
    Record { seq, at: Timestamp(1_000), body }
}

/// `w`: a completed call, a signal, and an open call.
fn prefix() -> Vec<Record> {
    vec![
        world::started(),
        world::asked(1, 0),
        world::notified(2, 0),
        told(3, "go"),
        world::asked(4, 1),
    ]
}

fn fork() -> Fork {
    Fork {
        new: target(),
        module: Some(OTHER_MODULE),
        of: PromiseId::from("w"),
        set: vec![CommandIndex(0)],
        records: prefix(),
        copied: 5,
        kept: vec![KeptPromise {
            id: PromiseId::from("f/0"),
            tags: world::tagged(&world::step("0")),
            verdict: Verdict::Resolved,
            value: Some(Value::of(&b"1"[..])),
        }],
        streams: Vec::new(),
    }
}

fn command(fork: Fork) -> Command {
    Command::InvocationFork(Box::new(fork))
}

fn made() -> CheckedStore {
    let mut world = CheckedStore::new();
    let Reply::Promise { promise, changed: true } = world.done(command(fork())) else {
        panic!("it is new")
    };
    let forked = ForkOrigin { of: "w".to_owned(), records: 5, set: vec![0] };
    assert_eq!(ForkOrigin::of(&promise.spec.tags), Some(forked));
    world
}

/// A change that turns a fork into a different one.
type ForkMutation<'a> = &'a dyn Fn(&mut Fork);

#[test]
fn a_fork_begins_with_the_records_and_what_their_commands_left() {
    let mut world = made();
    let f = PromiseId::from("f");
    let task = world.model.task(&f).expect("it has a task").clone();
    assert_eq!((task.module, task.signals, task.version), (Some(OTHER_MODULE), 1, Version(0)));
    let head = world.model.head(&f);
    assert_eq!((head.len, head.commands, head.notified), (5, 2, 1));
    assert_eq!(world.snapshot.journals[&f].records, prefix());
    let kept = world.model.promise(&PromiseId::from("f/0")).expect("it is kept");
    assert_eq!(kept.settlement().and_then(|it| it.value.clone()), Some(Value::of(&b"1"[..])));
    let facts = world.model.facts_of(&f);
    let facts: Vec<_> = facts.map(|(key, fact)| (key.kind, fact.promise.to_string())).collect();
    assert_eq!(facts, [(FactKind::Registered, "f/0".to_owned())]);
    assert_eq!(world.verdict("f/s/0"), Some(Verdict::Resolved));
    assert_eq!(world.model.promise(&f).map(Promise::is_pending), Some(true));
    // It continues like any other invocation: its next record and its next signal follow.
    let held = world.acquire("f", 1);
    let open = FenceOperation::Create {
        new: world::new("f/1", &[(tags::TARGET, "ship")], Timestamp::NEVER),
        request: None,
    };
    world.done(world::fence(held.clone(), vec![], vec![open]));
    let Reply::Signalled { n: 1, .. } = world.done(Command::Signal {
        invocation: f,
        name: Text::from("go"),
        payload: Value::default(),
        key: None,
    }) else {
        panic!("the first one is in its records")
    };
    world.done(world::fence(held.clone(), vec![world::notified(5, 1)], vec![]));
    world.done(world::fulfill(held));
}

#[test]
fn a_fork_is_made_once_whatever_is_repeated() {
    let mut world = made();
    let Reply::Promise { changed: false, .. } = world.done(command(fork())) else {
        panic!("it is there")
    };
    let held = world.acquire("f", 1);
    world.done(world::fence(held, vec![world::notified(5, 1)], vec![]));
    let Reply::Promise { changed: false, .. } = world.done(command(fork())) else {
        panic!("its journal begins so")
    };
    let mut other = fork();
    other.set.clear();
    assert_eq!(world.refused(command(other)).kind(), "key-reused");
    let mut other = fork();
    other.records[3] = told(3, "stop");
    assert_eq!(world.refused(command(other)).kind(), "key-reused");
    let mut shorter = fork();
    shorter.records.pop();
    assert_eq!(world.refused(command(shorter)).kind(), "key-reused");
}

#[test]
fn what_cannot_go_on_is_no_fork() {
    let mut world = CheckedStore::new();
    world.done(world::create("f/s/0", &[]));
    let with = |change: &dyn Fn(&mut Fork)| {
        let mut fork = fork();
        change(&mut fork);
        command(fork)
    };
    let outcome = Outcome::Own;
    let own = RecordBody::Notified { index: CommandIndex(1), outcome };
    let own = Record { seq: 5, at: Timestamp(1_000), body: own };
    let cases: [(&str, ForkMutation<'_>); 10] = [
        ("bad-request", &|fork| fork.records.clear()),
        ("bad-request", &|fork| fork.records.push(world::finished(5))),
        ("bad-request", &|fork| fork.records.push(own.clone())),
        ("bad-request", &|fork| fork.kept[0].id = PromiseId::from("w/0")),
        ("bad-request", &|fork| fork.new.tags.clear()),
        ("bad-request", &|fork| fork.new.timeout_at = Timestamp(1_000)),
        ("journal-mismatch", &|fork| drop(fork.records.remove(0))),
        ("journal-mismatch", &|fork| drop(fork.records.remove(1))),
        ("unprocessable", &|fork| fork.module = Some(crate::id::Digest([9; 32]))),
        // The id of its first signal is taken.
        ("id-taken", &|_| {}),
    ];
    for (kind, change) in cases {
        let command = with(change);
        assert_eq!(world.refused(command.clone()).kind(), kind, "{command:?}");
    }
    assert_eq!(world.status("f"), None);
}

#[test]
fn a_fork_waits_its_turn_and_behind_its_limit_with_its_records() {
    let mut world = CheckedStore::new();
    world.done(world::keyed("first", "add"));
    world.done(world::fork(world::keyed_new("f", "add"), "w", &[world::started()]));
    assert_eq!(world.status("f"), Some(TaskStatus::Suspended));
    let held = world.acquire("first", 1);
    world.done(world::fulfill(held));
    assert_eq!(world.status("f"), Some(TaskStatus::Pending));
    world.acquire("f", 2);

    let mut world = CheckedStore::new();
    world.done(Command::PromiseCreate(world::limited("first", "pack", "k", 0)));
    let limited = world::limited("f", "pack", "k", 0);
    world.done(world::fork(limited, "w", &[world::started()]));
    assert_eq!(world.status("f"), Some(TaskStatus::Suspended));
    // A fork that a limit would not let begin is not created.
    world.done(Command::PromiseCreate(world::limited("one", "only", "k", 0)));
    let second = world::fork(world::limited("two", "only", "k", 0), "w", &[world::started()]);
    assert_eq!(world.refused(second).kind(), "unprocessable");
    assert_eq!(world.status("two"), None);
}

#[test]
fn a_fork_was_told_what_its_records_say() {
    let mut world = CheckedStore::new();
    let cancelled = Record { seq: 1, at: Timestamp(1_000), body: RecordBody::Cancelled };
    world.done(world::fork(target(), "w", &[world::started(), cancelled]));
    let task = world.model.task(&PromiseId::from("f")).expect("it has a task");
    assert_eq!((task.cancel, task.module), (CancelState::Delivered, Some(MODULE)));
}

#[test]
fn a_command_that_ended_before_the_fork_began_needs_no_cancelling() {
    let mut world = made();
    world.done(world::workflow("w"));
    for (id, ends) in [("f", true), ("w", false)] {
        let held = world.acquire(id, 1);
        let cancel = FenceOperation::Cancel { id: held.id.command(CommandIndex(7)) };
        let Reply::Fenced { outcomes, .. } = world.done(world::fence(held, vec![], vec![cancel]))
        else {
            panic!("the claim is live")
        };
        assert_eq!(outcomes[0].1 == Ok(FenceResult::Done), ends, "{outcomes:?}");
    }
}
