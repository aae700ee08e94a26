use crate::{
    command::Command,
    effect::{Effect, Metric},
    id::{HostName, PromiseId},
    promise::{Deferral, Delivery, OutboxKey, TaskState, TaskStatus, Verdict},
    reply::{Conflict, Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    value::Text,
    world::{self, CheckedStore},
};

fn delivery(reply: Reply) -> Option<Delivery> {
    match reply {
        Reply::Message(delivery) => delivery.map(|delivery| *delivery),
        reply => panic!("{reply:?}"),
    }
}

#[test]
fn a_message_to_run_a_task_is_handed_over_once_and_its_retry_offers_again() {
    let mut world = CheckedStore::new();
    let id = PromiseId::from("far");
    let key = OutboxKey::Execute(id.clone());
    world.done(world::outside("far"));
    let handed = delivery(world.done(Command::OutboxDue { key: key.clone() }));
    assert!(matches!(handed, Some(Delivery::Execute { .. })));
    assert_eq!(delivery(world.done(Command::OutboxDue { key: key.clone() })), None);
    world.done(Command::RetryDue { id: id.clone() });
    assert!(world.model.outbox_row(&key).is_none(), "early firing is harmless");
    world.wait(5_000);
    world.done(Command::RetryDue { id });
    assert!(world.model.outbox_row(&key).is_some());
}

#[test]
fn the_wait_for_another_attempt_is_no_wait_for_a_worker() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    world.done(world::release(claim, world::failed()));
    let id = PromiseId::from("w");
    let TaskState::Pending { retry_at, offered: false, .. } = task_state(&world, &id) else {
        panic!("it waits for its next attempt")
    };
    world.now = retry_at;
    world.done(Command::RetryDue { id: id.clone() });
    world.wait(7);
    let version = world.model.task(&id).expect("a task").version;
    let decision = world.decide(&world::acquire("w", version.0, 2));
    let waited = Effect::Count(Metric::LeaseAcquired(Millis(7)));
    assert!(decision.effects.contains(&waited), "{:?}", decision.effects);
}

fn task_state(world: &CheckedStore, id: &PromiseId) -> TaskState {
    world.model.task(id).expect("a task").state.clone()
}

#[test]
fn a_listeners_message_is_handed_over_until_it_is_acknowledged() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    world.done(world::listener("p"));
    world.done(world::settle("p", Verdict::Resolved));
    let key = OutboxKey::Unblock(PromiseId::from("p"), Text::from("poll://any@me"));
    for attempt in 1..=3 {
        let handed = delivery(world.done(Command::OutboxDue { key: key.clone() }));
        let Some(Delivery::Unblock { promise, attempt: said, .. }) = handed else {
            panic!("attempt {attempt}")
        };
        assert!(!promise.is_pending());
        assert_eq!(said, attempt);
        assert_eq!(
            delivery(world.done(Command::OutboxDue { key: key.clone() })),
            None,
            "not before its back-off"
        );
        world.wait(60_000);
    }
    world.done(Command::OutboxAck { key: key.clone() });
    assert_eq!(delivery(world.done(Command::OutboxDue { key })), None);
}

#[test]
fn a_message_is_put_off_for_its_back_off_or_until_somebody_asks() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    world.done(world::listener("p"));
    world.done(world::settle("p", Verdict::Resolved));
    let key = OutboxKey::Unblock(PromiseId::from("p"), Text::from("poll://any@me"));
    let defer = |until| Command::OutboxDefer { key: key.clone(), until };
    let failed = |ms| Deferral::Failed { at_least: Millis(ms) };
    let wait = |world: &CheckedStore| {
        let row = world.model.outbox_row(&key).expect("it is owed until it is acknowledged");
        row.next_at.since(world.now)
    };
    world.done(Command::OutboxDue { key: key.clone() });
    assert_eq!(wait(&world), world.config.handover, "whoever has it gets time to say so");
    world.done(defer(failed(0)));
    assert!((100..=110).contains(&wait(&world).0), "the first back-off: {:?}", wait(&world));
    world.done(defer(failed(7_000)));
    assert_eq!(wait(&world), Millis(7_000));
    let elsewhere = world.decide(&defer(Deferral::Elsewhere));
    assert!(elsewhere.effects.contains(&Effect::Wanted(key.clone())), "other hosts are told");
    world.done(defer(Deferral::Elsewhere));
    assert!((100..=110).contains(&wait(&world).0), "and it is not tried at once");
    world.done(defer(Deferral::Unclaimed));
    assert!(world.model.outbox_row(&key).is_some_and(|row| row.next_at == Timestamp::NEVER));
    assert_eq!(delivery(world.done(Command::OutboxDue { key: key.clone() })), None);
    world.done(defer(Deferral::Offered));
    assert_eq!(wait(&world), Millis(0));
    let early = world.decide(&defer(Deferral::Offered));
    assert!(early.delta.is_empty(), "what can be taken already is not written again");
    world.done(Command::OutboxAck { key: key.clone() });
    world.done(defer(failed(0)));
    assert!(world.model.outbox_row(&key).is_none(), "what was acknowledged is not owed again");
    let cancel = OutboxKey::CancelChildren(PromiseId::from("p"));
    let refused = world.refused(Command::OutboxDefer { key: cancel, until: Deferral::Offered });
    assert_eq!(refused.kind(), "bad-request");
}

#[test]
fn a_delayed_task_is_offered_when_its_time_comes() {
    let mut world = CheckedStore::new();
    let id = PromiseId::from("later");
    world.done(world::create(
        "later",
        &[(tags::TARGET, "wasm://shop/order"), (tags::DELAY, "3000")],
    ));
    let offered = |world: &CheckedStore| match world.model.task(&id).expect("it was made").state {
        TaskState::Pending { offered, .. } => offered,
        _ => panic!("it should be pending"),
    };
    assert!(!offered(&world));
    world.done(Command::RetryDue { id: id.clone() });
    assert!(!offered(&world));
    world.wait(2_000);
    world.done(Command::RetryDue { id: id.clone() });
    assert!(offered(&world));
}

#[test]
fn a_host_that_starts_again_gets_its_own_leftovers_back() {
    let mut world = CheckedStore::new();
    let node = HostName::from("n");
    assert_eq!(
        world.done(Command::HostStart { node: node.clone() }),
        Reply::Host { incarnation: 1, held: Vec::new() }
    );
    world.done(world::workflow("w"));
    world.acquire("w", 1);
    let held = vec![PromiseId::from("w")];
    assert_eq!(
        world.done(Command::HostStart { node: node.clone() }),
        Reply::Host { incarnation: 2, held }
    );
    let release = |node: &str, below| Command::HostRelease {
        id: PromiseId::from("w"),
        node: HostName::from(node),
        below,
    };
    for harmless in [release("n", 1), release("other", 2)] {
        world.done(harmless);
        assert_eq!(world.status("w"), Some(TaskStatus::Acquired));
    }
    world.done(release("n", 2));
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
    world.done(release("n", 2));
}

#[test]
fn a_host_that_has_a_successor_is_told_with_its_next_heartbeat() {
    let mut world = CheckedStore::new();
    let node = HostName::from("n");
    let beat = |node: &str, incarnation| Command::TaskHeartbeat {
        holder: world::holder(node, incarnation),
        items: Vec::new(),
    };
    world.done(Command::HostStart { node: node.clone() });
    world.done(beat("n", 1));
    world.done(Command::HostStart { node: node.clone() });
    let succeeded = Conflict::Superseded { node, given: 1, current: 2 };
    assert_eq!(world.refused(beat("n", 1)), Refusal::Conflict(succeeded));
    for harmless in [beat("n", 2), beat("m", 1), beat("n", 0)] {
        world.done(harmless);
    }
}

#[test]
fn a_task_that_hosts_find_by_its_row_is_offered_again_ever_more_rarely() {
    let mut world = CheckedStore::new();
    let id = PromiseId::from("queued");
    world.done(world::workflow("queued"));
    let mut waits = Vec::new();
    for _ in 0..8 {
        let due = world.model.task(&id).and_then(crate::promise::Task::due_at).expect("pending");
        waits.push(due.since(world.now).0);
        world.now = due;
        let offered = world.decide(&Command::RetryDue { id: id.clone() });
        assert!(
            offered.effects.iter().any(|effect| matches!(effect, Effect::Ready { .. })),
            "{offered:?}"
        );
    }
    assert_eq!(waits[..6], [5_000, 15_000, 60_000, 240_000, 960_000, 3_600_000]);
    assert_eq!(waits[7], 3_600_000, "an hour at most");
    // A new wait starts with the initial interval.
    let claim = world.acquire("queued", 1);
    world.done(world::release(claim, crate::promise::ReleaseReason::Yield));
    let due = world.model.task(&id).and_then(crate::promise::Task::due_at).expect("pending");
    assert_eq!(due.since(world.now).0, 5_000);
}
