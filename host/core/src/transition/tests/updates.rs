use crate::{
    command::{Command, FenceOperation},
    id::PromiseId,
    promise::{OutboxKey, TaskStatus, Verdict},
    reply::Reply,
    tags,
    value::{Text, Value},
    world::{self, CheckedStore},
};

fn add(records: u32, signals: u32, key: Option<&str>) -> Command {
    Command::Update {
        invocation: PromiseId::from("w"),
        name: Text::from("add"),
        input: Text::from(r#"{"item": "ж"}"#),
        key: key.map(Text::from),
        records,
        signals,
    }
}

/// A workflow that has begun and waits for its next signal.
fn waiting() -> CheckedStore {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    world.done(world::fence(claim.clone(), vec![world::started()], vec![]));
    world.done(world::suspend(claim, &["w/s/0"]));
    world
}

#[test]
fn an_update_is_a_signal_that_names_the_promise_of_its_answer() {
    let mut world = waiting();
    assert_eq!(world.done(add(1, 0, None)), Reply::signalled("w", 0));
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
    let signal = world.model.promise(&PromiseId::from("w/s/0")).expect("the signal");
    let value = signal.settlement().and_then(|settlement| settlement.value.as_ref());
    let value = value.expect("its payload");
    let name = value.headers.get(tags::SIGNAL_HEADER).map(String::as_str);
    assert_eq!(name, Some("segno:update/add"));
    let payload = std::str::from_utf8(&value.data).expect("text");
    assert_eq!(payload, r#"{"promise":"w/a/0","input":{"item": "ж"}}"#);
    let claim = world.acquire("w", 2);
    let answer = FenceOperation::Settle {
        id: PromiseId::from("w/a/0"),
        verdict: Verdict::Resolved,
        value: Value::of(&b"1"[..]),
    };
    world.done(world::fence(claim, vec![], vec![answer]));
    assert_eq!(world.verdict("w/a/0"), Some(Verdict::Resolved));
}

#[test]
fn an_update_is_accepted_only_of_who_has_seen_everything() {
    let mut world = waiting();
    assert_eq!(world.refused(add(0, 0, None)).kind(), "journal-grew");
    assert_eq!(world.refused(add(2, 0, None)).kind(), "journal-grew");
    world.done(add(1, 0, Some("a")));
    // The first update is not in the journal yet, and may change which updates are valid.
    let refused = world.refused(add(1, 0, Some("b")));
    assert_eq!(refused.kind(), "journal-grew");
    assert!(refused.to_string().contains("now has 2 records, and 1 were"), "{refused}");
    // A repetition of an accepted update succeeds, even if the validator had seen less.
    assert_eq!(world.done(add(1, 0, Some("a"))), Reply::signalled("w", 0));
    assert_eq!(world.done(add(1, 1, Some("b"))), Reply::signalled("w", 1));
}

#[test]
fn keys_of_updates_are_not_those_of_signals_or_of_other_updates() {
    let mut world = waiting();
    let signal = |name: &str, key: &str| Command::Signal {
        invocation: PromiseId::from("w"),
        name: Text::from(name),
        payload: Value::default(),
        key: Some(Text::from(key)),
    };
    assert_eq!(world.done(signal("go", "k")), Reply::signalled("w", 0));
    assert_eq!(world.done(add(1, 1, Some("k"))), Reply::signalled("w", 1));
    let Command::Update { invocation, input, key, .. } = add(1, 2, Some("k")) else {
        unreachable!("just made")
    };
    let name = Text::from("remove");
    let other = Command::Update { invocation, name, input, key, records: 1, signals: 2 };
    assert_eq!(world.done(other), Reply::signalled("w", 2));
    for taken in [signal("segno:update/add", "l"), signal("go", "segno:update/add/k")] {
        assert_eq!(world.refused(taken).kind(), "bad-request");
    }
}

#[test]
fn a_key_of_an_update_or_a_signal_stands_for_one_request() {
    let mut world = waiting();
    let update = |input: &str, key: &str| {
        let Command::Update { invocation, name, .. } = add(1, 0, None) else {
            unreachable!("just made")
        };
        let (input, key) = (Text::from(input), Some(Text::from(key)));
        Command::Update { invocation, name, input, key, records: 1, signals: 0 }
    };
    let signal = |name: &str, data: &str, key: &str| Command::Signal {
        invocation: PromiseId::from("w"),
        name: Text::from(name),
        payload: Value::of(data.as_bytes()),
        key: Some(Text::from(key)),
    };
    assert_eq!(world.done(update(r#"{"a": 1, "b": 2}"#, "k")), Reply::signalled("w", 0));
    assert_eq!(world.done(signal("go", r#"{"a": 1, "b": 2}"#, "k")), Reply::signalled("w", 1));
    // They are equal as JSON.
    assert_eq!(world.done(update(r#"{"b":2,"a":1}"#, "k")), Reply::signalled("w", 0));
    assert_eq!(world.done(signal("go", r#"{"b":2,"a":1}"#, "k")), Reply::signalled("w", 1));
    for (other, differs) in [
        (update(r#"{"b":2,"a":2}"#, "k"), "another input"),
        (signal("go", "1", "k"), "another payload"),
        (signal("stop", r#"{"b":2,"a":1}"#, "k"), "another name"),
    ] {
        let refused = world.refused(other);
        assert_eq!((refused.kind(), refused.code()), ("key-reused", 409));
        assert!(refused.to_string().contains(differs), "{refused}");
    }
    for blank in ["", "\u{a0}", "a\tb"] {
        for refused in [update("1", blank), signal("go", "1", blank), signal(blank, "1", "l")] {
            assert_eq!(world.refused(refused).kind(), "bad-request", "{blank:?}");
        }
    }
}

#[test]
fn what_is_not_answered_is_cancelled_with_its_workflow() {
    // A workflow that never waited for a signal.
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    world.done(world::fence(claim.clone(), vec![world::started()], vec![]));
    world.done(add(1, 0, Some("k")));
    world.done(world::fulfill(claim));
    world.done(Command::OutboxDue { key: OutboxKey::CancelChildren(PromiseId::from("w")) });
    assert_eq!(world.verdict("w/a/0"), Some(Verdict::Canceled));
    assert_eq!(world.done(add(1, 0, Some("k"))), Reply::signalled("w", 0));
    assert_eq!(world.refused(add(1, 1, None)).kind(), "promise-settled");
}

#[test]
fn only_workflows_of_modules_take_updates_and_only_json() {
    let mut world = waiting();
    let Command::Update { name, key, .. } = add(1, 0, None) else { unreachable!("just made") };
    let invocation = PromiseId::from("w");
    let input = Text::from("{");
    let bad = Command::Update {
        invocation,
        name: name.clone(),
        input,
        key: key.clone(),
        records: 1,
        signals: 0,
    };
    assert_eq!(world.refused(bad).kind(), "bad-request");
    world.done(world::create("outside", &[(tags::TARGET, "poll://w")]));
    world.done(world::create("plain", &[]));
    for id in ["outside", "plain"] {
        let to = Command::Update {
            invocation: PromiseId::from(id),
            name: name.clone(),
            input: Text::from("1"),
            key: key.clone(),
            records: 0,
            signals: 0,
        };
        assert_eq!(world.refused(to).kind(), "unprocessable");
    }
}
