use crate::{
    command::{Command, FenceOperation},
    id::{Claim, PromiseId},
    invocation::{CommandKind, Record, RecordBody},
    promise::{NewPromise, OutboxKey, TaskState, TaskStatus, Verdict},
    reply::{DamageKind, Reply},
    tags,
    time::Timestamp,
    transition::handed_to,
    value::{Text, Value},
    world::{self, CheckedStore},
};

fn signal(to: &str, payload: &str, key: Option<&str>) -> Command {
    Command::Signal {
        invocation: PromiseId::from(to),
        name: Text::from("go"),
        payload: Value::of(payload.as_bytes()),
        key: key.map(Text::from),
    }
}

fn update(to: &str, records: u32, signals: u32) -> Command {
    Command::Update {
        invocation: PromiseId::from(to),
        name: Text::from("add"),
        input: Text::from("1"),
        key: Some(Text::from("u")),
        records,
        signals,
    }
}

/// Record of a signal that was delivered to the guest.
fn heard(seq: u32) -> Record {
    let mut record = world::asked(seq, 0);
    record.body = RecordBody::Signal {
        name: Text::from("go"),
        payload: crate::value::Payload::Json(Text::from("1")),
    };
    record
}

/// Acquires a workflow and records its start.
fn begun(world: &mut CheckedStore, id: &str) -> Claim {
    let claim = world.acquire(id, 1);
    world.done(world::fence(claim.clone(), vec![world::started()], vec![]));
    claim
}

fn labelled() -> CheckedStore {
    let mut world = CheckedStore::new();
    let tags = [(tags::TARGET, "wasm://shop/order"), ("label:for", "ada")];
    let new = world::new("w", &tags, Timestamp(90_000));
    world.done(Command::PromiseCreate(new));
    world
}

fn payloads(world: &CheckedStore, id: &str) -> Vec<String> {
    let id = PromiseId::from(id);
    let signals = world.model.task(&id).map_or(0, |task| task.signals);
    let payload = |n| {
        let promise = world.model.promise(&id.signal(n)).expect("it was made");
        let settlement = promise.settlement().expect("signals are settled");
        let value = settlement.value.as_ref().expect("they have payloads");
        assert!(value.headers.contains_key(tags::SIGNAL_HEADER));
        String::from_utf8_lossy(value.data.as_slice()).into_owned()
    };
    (0..signals).map(payload).collect()
}

#[test]
fn the_next_generation_takes_over_id_labels_deadline_and_unread_signals() {
    let mut world = labelled();
    let claim = begun(&mut world, "w");
    for (place, payload) in (0..).zip(["0", "1", "2"]) {
        assert_eq!(world.done(signal("w", payload, Some(payload))), Reply::signalled("w", place));
    }
    // Two signals were delivered to the workflow, and it read the second one.
    world.done(world::fence(claim.clone(), vec![heard(1), heard(2)], vec![]));
    world.done(world::listener("w"));
    let over = world::hand_over(claim, vec![world::finished(3)], &[0]);
    let to = PromiseId::from("w/g/2");
    assert_eq!(world.done(over.clone()), Reply::HandedOver { to: to.clone() });
    // The reply was lost.
    assert_eq!(world.done(over), Reply::HandedOver { to: to.clone() });
    assert_eq!((world.status("w"), world.verdict("w")), (Some(TaskStatus::Suspended), None));
    assert_eq!(payloads(&world, "w/g/2"), ["0", "2"]);
    let next = world.model.promise(&to).expect("it was made").spec.clone();
    assert_eq!(next.tags.get("label:for").map(String::as_str), Some("ada"));
    assert_eq!((next.timeout_at, next.param.data.as_slice()), (Timestamp(90_000), &b"2"[..]));

    // The id of the invocation refers to the newest generation; keys outlive generations.
    assert_eq!(world.done(signal("w", "1", Some("1"))), Reply::signalled("w", 1));
    assert_eq!(world.done(signal("w", "3", Some("3"))), Reply::signalled("w/g/2", 2));
    assert_eq!(world.done(signal("w/g/2", "3", Some("3"))), Reply::signalled("w/g/2", 2));
    let claim = begun(&mut world, "w/g/2");
    world.done(world::hand_over(claim, vec![world::finished(1)], &[]));
    assert_eq!(payloads(&world, "w/g/3"), ["0", "2", "3"]);
    assert_eq!(world.done(signal("w", "3", Some("3"))), Reply::signalled("w/g/2", 2));
    let second = world.model.promise(&to).and_then(|it| it.settlement().cloned());
    assert_eq!(second.as_ref().and_then(handed_to), Some("w/g/3"));
    assert_eq!(world.verdict("w"), None, "a generation that handed over is no end");

    // The outcome of the last generation is immediately that of the invocation.
    let claim = begun(&mut world, "w/g/3");
    world.done(world::fulfill(claim));
    let outcome = |id: &str| {
        let promise = world.model.promise(&PromiseId::from(id));
        promise.and_then(|promise| promise.settlement().cloned())
    };
    assert_eq!(outcome("w"), outcome("w/g/3"));
    assert_eq!(world.status("w"), Some(TaskStatus::Fulfilled));
    let told = OutboxKey::Unblock(PromiseId::from("w"), Text::from("poll://any@me"));
    assert!(world.model.outbox_row(&told).is_some());
    assert_eq!(world.refused(signal("w", "4", None)).kind(), "promise-settled");
}

#[test]
fn updates_that_nobody_was_told_of_are_answered_by_the_next_generation() {
    let mut world = labelled();
    let mut claim = begun(&mut world, "w");
    assert_eq!(world.done(update("w", 1, 0)), Reply::signalled("w", 0));
    // Handed over twice, and then answered.
    for generation in [2, 3] {
        world.done(world::hand_over(claim, vec![world::finished(1)], &[]));
        assert_eq!(world.verdict("w/a/0"), None, "its sender waits on");
        claim = begun(&mut world, &format!("w/g/{generation}"));
    }
    let told = payloads(&world, "w/g/3");
    assert_eq!(told, [r#"{"promise":"w/g/3/a/0","input":1}"#]);
    for key in [OutboxKey::CancelChildren("w".into()), OutboxKey::CancelChildren("w/g/2".into())] {
        world.done(Command::OutboxDue { key });
    }
    assert_eq!(world.verdict("w/a/0"), None, "it outlives the generation that it was sent to");
    assert_eq!(world.status("w/g/3"), Some(TaskStatus::Acquired));
    let act = FenceOperation::Settle {
        id: PromiseId::from("w/g/3/a/0"),
        verdict: Verdict::Resolved,
        value: Value::of(&b"7"[..]),
    };
    world.done(world::fence(claim.clone(), vec![], vec![act]));
    assert_eq!(world.verdict("w/a/0"), Some(Verdict::Resolved));
    assert_eq!(
        world.done(update("w", 9, 9)),
        Reply::signalled("w", 0),
        "the key is known for ever"
    );

    // An update validated by an older generation must be validated again.
    let other = |to, signals| match update(to, 1, signals) {
        Command::Update { invocation, name, input, records, signals, .. } => {
            Command::Update { invocation, name, input, key: None, records, signals }
        }
        other => other,
    };
    assert_eq!(world.refused(other("w", 1)).kind(), "journal-grew");
    world.done(other("w/g/3", 1));
    // Unanswered updates are cancelled at the end, whichever generation they were sent to.
    world.done(world::hand_over(claim, vec![world::finished(1)], &[]));
    world.done(Command::Kill { invocation: PromiseId::from("w") });
    assert_eq!(
        (world.verdict("w"), world.verdict("w/g/4")),
        (Some(Verdict::Canceled), Some(Verdict::Canceled))
    );
    world.done(Command::OutboxDue { key: OutboxKey::CancelChildren("w/g/4".into()) });
    assert_eq!(world.verdict("w/g/3/a/1"), Some(Verdict::Canceled));
}

#[test]
fn what_happens_to_the_invocation_happens_to_its_newest_generation() {
    let mut world = labelled();
    let claim = begun(&mut world, "w");
    let child =
        FenceOperation::Create { new: world::new("w/0", &[], Timestamp(80_000)), request: None };
    world.done(world::fence(claim.clone(), vec![world::asked(1, 0)], vec![child]));
    world.done(world::hand_over(claim, vec![world::finished(2)], &[]));
    // Pending children of the first generation are cancelled, but not its successor.
    world.done(Command::OutboxDue { key: OutboxKey::CancelChildren("w".into()) });
    assert_eq!(world.verdict("w/0"), Some(Verdict::Canceled));
    assert_eq!(world.status("w/g/2"), Some(TaskStatus::Pending));
    world.done(Command::Cancel { invocation: PromiseId::from("w") });
    let cancelled = |world: &CheckedStore, id: &str| {
        world.model.task(&PromiseId::from(id)).expect("it is there").cancel
    };
    assert_eq!(cancelled(&world, "w"), crate::promise::CancelState::None);
    assert_eq!(cancelled(&world, "w/g/2"), crate::promise::CancelState::Requested);
    // An undelivered stop request moves to the next generation.
    let claim = begun(&mut world, "w/g/2");
    world.done(world::hand_over(claim, vec![world::finished(1)], &[]));
    assert_eq!(cancelled(&world, "w/g/3"), crate::promise::CancelState::Requested);
    assert_eq!(cancelled(&world, "w/g/2"), crate::promise::CancelState::None, "it is not missed");
    // An operator continues the first generation: it has nothing to do.
    world.done(Command::TaskHalt { id: PromiseId::from("w") });
    world.done(Command::TaskContinue { id: PromiseId::from("w") });
    let claim = world.acquire("w", 7);
    let again = world::hand_over(claim, vec![], &[]);
    assert_eq!(world.done(again), Reply::HandedOver { to: PromiseId::from("w/g/3") });
    assert_eq!(world.status("w"), Some(TaskStatus::Suspended));
    world.wait(100_000);
    world.done(Command::PromiseDue { id: PromiseId::from("w/g/3") });
    assert_eq!(world.verdict("w"), Some(Verdict::TimedOut));
    let reply = world.done(Command::Reconcile { id: PromiseId::from("w") });
    assert!(
        matches!(reply, Reply::Reconciled { orphans } if orphans.iter().all(|it| *it == DamageKind::ChildRuns))
    );
}

#[test]
fn the_code_is_the_newest_of_the_alias_or_the_same() {
    let run = |same: bool| {
        let mut world = labelled();
        let claim = begun(&mut world, "w");
        world.done(Command::Deploy { alias: Text::from("shop"), module: world::OTHER_MODULE });
        let mut over = world::hand_over(claim, vec![world::finished(1)], &[]);
        if let Command::TaskHandOver { same_module, .. } = &mut over {
            *same_module = same;
        }
        world.done(over);
        world.model.task(&PromiseId::from("w/g/2")).and_then(|task| task.module)
    };
    assert_eq!(run(false), Some(world::OTHER_MODULE));
    assert_eq!(run(true), Some(world::MODULE));
}

#[test]
fn only_workflows_of_modules_that_are_no_functions_of_objects_hand_over() {
    let mut world = CheckedStore::new();
    world.done(world::outside("o"));
    world.done(world::keyed("k", "add"));
    world.done(world::create("w/g/2", &[]));
    world.done(world::workflow("w"));
    for (id, kind) in [("o", "unprocessable"), ("k", "unprocessable"), ("w", "id-taken")] {
        let claim = world.acquire(id, 1);
        assert_eq!(world.refused(world::hand_over(claim, vec![], &[])).kind(), kind, "{id}");
        assert_eq!(world.status(id), Some(TaskStatus::Acquired));
    }
}

#[test]
fn a_named_promise_is_settled_before_the_workflow_makes_it() {
    let mut world = labelled();
    let name = "w/p/a/p/b";
    // Before the workflow has begun, and again: the first outcome is kept.
    let settled =
        |changed, reply| matches!(reply, Reply::Promise { changed: was, .. } if was == changed);
    assert!(settled(true, world.done(world::settle(name, Verdict::Resolved))));
    assert!(settled(false, world.done(world::settle(name, Verdict::Rejected))));
    assert!(settled(true, world.done(world::settle("w/p/other", Verdict::Rejected))));
    assert_eq!(world.refused(world::settle("x/p/a", Verdict::Resolved)).kind(), "not-found");
    let kept = |world: &CheckedStore, id: &str| {
        let task = world.model.task(&PromiseId::from(id)).expect("it is there");
        task.inbox.kept.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(kept(&world, "w"), ["a/p/b", "other"]);
    // A promise created by another party would halt the workflow.
    assert_eq!(world.refused(world::create("w/p/mine", &[])).kind(), "unprocessable");
    let claim = begun(&mut world, "w");
    let make =
        FenceOperation::Create { new: world::new(name, &[], Timestamp(80_000)), request: None };
    world.done(world::fence(claim.clone(), vec![world::asked(1, 0)], vec![make]));
    assert_eq!(kept(&world, "w"), ["other"]);
    let reply = world.done(world::suspend(claim.clone(), &[name]));
    assert_eq!(reply, Reply::Ready { settled: vec![PromiseId::from(name)], cancelled: false });
    // The next generation takes over the promises that were not created, and the names refer to it.
    world.done(world::hand_over(claim, vec![world::finished(2)], &[]));
    assert_eq!(kept(&world, "w/g/2"), ["other"]);
    assert_eq!(world.verdict("w/g/2/p/other"), Some(Verdict::Rejected));
    world.done(world::settle("w/p/later", Verdict::Resolved));
    assert_eq!(world.verdict("w/g/2/p/later"), Some(Verdict::Resolved));
    let claim = begun(&mut world, "w/g/2");
    let ended = world.decide(&world::fulfill(claim));
    let unread = ended.effects.iter().find_map(|effect| match effect {
        crate::effect::Effect::Unread { id, signals, promises } => {
            Some((id.to_string(), *signals, promises.len()))
        }
        _ => None,
    });
    assert_eq!(unread, Some(("w/g/2".to_owned(), 0, 2)));
    assert_eq!(world.refused(world::settle("w/p/late", Verdict::Resolved)).kind(), "not-found");
}

#[test]
fn what_nobody_read_is_counted_when_a_workflow_ends() {
    let mut world = labelled();
    let claim = begun(&mut world, "w");
    for payload in ["0", "1", "2"] {
        world.done(signal("w", payload, None));
    }
    let mut unread = world::asked(3, 0);
    if let RecordBody::Command { kind, name, .. } = &mut unread.body {
        (*kind, *name) = (CommandKind::Unread, Text::from("1"));
    }
    world.done(world::fence(claim.clone(), vec![heard(1), heard(2), unread], vec![]));
    let task = world.model.task(&PromiseId::from("w")).expect("it is there");
    assert_eq!((task.inbox.heard, task.unread_signals()), (Some(2), 2));
    let ended = world.decide(&world::fulfill(claim));
    let counted = ended.effects.iter().any(|effect| {
        matches!(effect, crate::effect::Effect::Unread { signals: 2, promises, .. } if promises.is_empty())
    });
    assert!(counted, "{:?}", ended.effects);
}

#[test]
fn a_signal_starts_the_invocation_that_it_is_sent_to() {
    let start = |id: &str, tags: &[(&str, &str)], key: Option<&str>| Command::SignalStart {
        new: NewPromise { ..world::new(id, tags, Timestamp::NEVER) },
        name: Text::from("go"),
        payload: Value::of(&b"1"[..]),
        key: key.map(Text::from),
    };
    let target = [(tags::TARGET, "wasm://shop/order")];
    let mut world = CheckedStore::new();
    let first = world.done(start("w", &target, Some("k")));
    assert_eq!(first, Reply::Signalled { invocation: "w".into(), n: 0, started: true });
    assert_eq!(world.done(start("w", &target, Some("k"))), Reply::signalled("w", 0));
    assert_eq!(world.done(start("w", &target, None)), Reply::signalled("w", 1));
    let task = world.model.task(&PromiseId::from("w")).expect("it was made");
    assert!(matches!(task.state, TaskState::Pending { offered: true, .. }));
    // A signal that cannot be delivered starts no invocation.
    assert_eq!(world.refused(start("p", &[], None)).kind(), "unprocessable");
    assert_eq!(world.model.promise(&PromiseId::from("p")), None);
    world.done(Command::Kill { invocation: PromiseId::from("w") });
    assert_eq!(world.refused(start("w", &target, None)).kind(), "promise-settled");
}
