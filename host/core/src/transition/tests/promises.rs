use crate::{
    command::Command,
    effect::Effect,
    id::{Digest, PromiseId},
    object::ModuleFacts,
    promise::{CancelState, TaskStatus, Verdict},
    reply::Reply,
    tags,
    time::Timestamp,
    value::{Text, Value},
    world::{self, CheckedStore},
};

#[test]
fn a_promise_settles_once_and_keeps_its_first_outcome() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    let first = world.done(world::settle("p", Verdict::Rejected));
    assert!(matches!(&first, Reply::Promise { changed: true, .. }));
    let Reply::Promise { promise, changed: false } =
        world.done(world::settle("p", Verdict::Resolved))
    else {
        panic!("a second settlement changes nothing")
    };
    assert_eq!(promise.settlement().map(|settlement| settlement.verdict), Some(Verdict::Rejected));
    let Reply::Promise { changed: false, .. } = world.done(world::create("p", &[])) else {
        panic!("a second creation changes nothing")
    };
}

#[test]
fn a_timeout_always_wins() {
    let mut world = CheckedStore::new();
    let due = Timestamp(1_500);
    world.done(Command::PromiseCreate(world::new("late", &[], due)));
    world.done(Command::PromiseCreate(world::new("nap", &[(tags::TIMER, "true")], due)));
    world.wait(499);
    world.done(Command::PromiseDue { id: PromiseId::from("late") });
    assert_eq!(world.verdict("late"), None);
    world.wait(5_000);
    for name in ["late", "nap"] {
        world.done(world::settle(name, Verdict::Rejected));
        let promise = world.model.promise(&PromiseId::from(name)).expect("it was made");
        assert_eq!(
            promise.settlement().map(|settlement| settlement.settled_at),
            Some(due),
            "{name}"
        );
    }
    assert_eq!(world.verdict("late"), Some(Verdict::TimedOut));
    assert_eq!(world.verdict("nap"), Some(Verdict::Resolved));
    world.done(Command::PromiseCreate(world::new("dead", &[(tags::TARGET, "poll://any@w")], due)));
    assert_eq!(world.verdict("dead"), Some(Verdict::TimedOut));
    assert_eq!(world.status("dead"), Some(TaskStatus::Fulfilled));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    let bad_listener = |address: &str| Command::RegisterListener {
        awaited: PromiseId::from("p"),
        address: Text::from(address),
    };
    let deploy = |alias: &str, module| Command::Deploy { alias: Text::from(alias), module };
    let undeploy = |alias: &str, module| Command::Undeploy { alias: Text::from(alias), module };
    for (command, kind) in [
        (Command::PromiseGet { id: PromiseId::from("no") }, "not-found"),
        (Command::TaskGet { id: PromiseId::from("p") }, "not-found"),
        (world::create("", &[]), "bad-request"),
        (world::create("a\nb", &[]), "bad-request"),
        (world::create("\u{a0}\u{200b}", &[]), "bad-request"),
        (world::settle("no", Verdict::Resolved), "not-found"),
        (world::settle("p", Verdict::TimedOut), "bad-request"),
        (world::create("x", &[(tags::TARGET, "ship")]), "unprocessable"),
        (world::create("x", &[(tags::TARGET, "wasm://unknown/ship")]), "unprocessable"),
        (world::create("x", &[(tags::TARGET, "x://y")]), "unprocessable"),
        (world::callback("p", "p"), "bad-request"),
        (world::callback("no", "p"), "not-found"),
        (world::callback("p", "no"), "unprocessable"),
        (bad_listener("wasm://shop/order"), "bad-request"),
        (bad_listener("nowhere"), "bad-request"),
        (deploy("new", Digest([1; 32])), "unprocessable"),
        (deploy("a/b", world::MODULE), "bad-request"),
        (undeploy("new", world::MODULE), "not-found"),
        (undeploy("shop", Digest([1; 32])), "alias-moved"),
        (Command::Cancel { invocation: PromiseId::from("no") }, "not-found"),
    ] {
        assert_eq!(world.refused(command.clone()).kind(), kind, "{command:?}");
    }
}

#[test]
fn an_alias_is_resolved_when_a_promise_is_made_and_pinned_from_then_on() {
    let mut world = CheckedStore::new();
    let newer = Digest([8; 32]);
    world.model.put_module(newer, ModuleFacts::default());
    world.done(world::workflow("old"));
    world.done(Command::Deploy { alias: Text::from("shop"), module: newer });
    world.done(world::workflow("new"));
    let module = |world: &CheckedStore, id: &str| {
        world.model.task(&PromiseId::from(id)).and_then(|task| task.module)
    };
    assert_eq!(module(&world, "old"), Some(world::MODULE));
    assert_eq!(module(&world, "new"), Some(newer));
    world.done(Command::Undeploy { alias: Text::from("shop"), module: newer });
    assert_eq!(world.refused(world::workflow("late")).kind(), "unprocessable");
    assert_eq!(module(&world, "new"), Some(newer));
    assert_eq!(world.status("new"), Some(TaskStatus::Pending));
}

#[test]
fn settling_wakes_whoever_waits_in_causal_order() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    world.done(world::listener("p"));
    world.done(world::workflow("inside"));
    world.done(world::outside("outside"));
    for (name, nonce) in [("inside", 1), ("outside", 2)] {
        let claim = world.acquire(name, nonce);
        world.done(world::suspend(claim, &["p"]));
    }
    let decision = world.decide(&world::settle("p", Verdict::Resolved));
    let order: Vec<&str> = decision
        .effects
        .iter()
        .map(|effect| match effect {
            Effect::Settled { .. } => "settled",
            Effect::Ready { .. } => "ready",
            Effect::Outbox(crate::promise::OutboxKey::Unblock(..)) => "unblock",
            Effect::Outbox(crate::promise::OutboxKey::Execute(_)) => "execute",
            Effect::Count(_) => "count",
            Effect::TimerChanged { .. } => "timer",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(order, ["settled", "unblock", "ready", "execute", "count", "timer"]);
    assert_eq!(world.status("inside"), Some(TaskStatus::Pending));
    assert_eq!(world.status("outside"), Some(TaskStatus::Pending));
}

#[test]
fn cancel_asks_what_can_be_told_and_settles_the_rest() {
    let mut world = CheckedStore::new();
    let cancel = |name: &str| Command::Cancel { invocation: PromiseId::from(name) };
    world.done(world::create("plain", &[]));
    world.done(world::outside("far"));
    world.done(world::create("http", &[(tags::TARGET, "segno:http")]));
    world.done(world::workflow("near"));
    let near = world.acquire("near", 1);
    for name in ["plain", "far", "http"] {
        world.done(cancel(name));
        assert_eq!(world.verdict(name), Some(Verdict::Canceled), "{name}");
    }
    world.done(world::create("open", &[]));
    world.done(world::suspend(near, &["open"]));
    world.done(cancel("near"));
    assert_eq!(world.status("near"), Some(TaskStatus::Pending));
    let near = world.acquire("near", 2);
    let reply = world.done(world::suspend(near, &["open"]));
    assert_eq!(reply, Reply::Ready { settled: Vec::new(), cancelled: true });
    let task = world.model.task(&PromiseId::from("near")).expect("it was made");
    assert_eq!(task.cancel, CancelState::Requested);
    world.done(Command::Kill { invocation: PromiseId::from("near") });
    assert_eq!(world.verdict("near"), Some(Verdict::Canceled));
}

#[test]
fn signals_are_numbered_and_wake_whoever_waits_for_the_next() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let signal = |key: Option<&str>| Command::Signal {
        invocation: PromiseId::from("w"),
        name: Text::from("go"),
        payload: Value::of(&b"1"[..]),
        key: key.map(Text::from),
    };
    assert_eq!(world.done(signal(Some("k"))), Reply::signalled("w", 0));
    assert_eq!(world.done(signal(Some("k"))), Reply::signalled("w", 0));
    let claim = world.acquire("w", 1);
    let reply = world.done(world::suspend(claim.clone(), &["w/s/0"]));
    assert_eq!(reply, Reply::Ready { settled: vec![PromiseId::from("w/s/0")], cancelled: false });
    assert_eq!(world.done(world::suspend(claim, &["w/s/1"])), Reply::Suspended);
    assert_eq!(world.done(signal(None)), Reply::signalled("w", 1));
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
    let stored = world.model.promise(&PromiseId::from("w/s/1")).expect("the signal's promise");
    let value =
        stored.settlement().and_then(|settlement| settlement.value.as_ref()).expect("its payload");
    assert_eq!(value.headers.get(tags::SIGNAL_HEADER).map(String::as_str), Some("go"));
    world.done(world::create("plain", &[]));
    let Command::Signal { name, payload, key, .. } = signal(None) else {
        unreachable!("just made")
    };
    let to_plain = Command::Signal { invocation: PromiseId::from("plain"), name, payload, key };
    assert_eq!(world.refused(to_plain).kind(), "unprocessable");
}
