use crate::{
    command::{Command, HeartbeatItem},
    config::{Config, ExhaustionPolicy},
    id::PromiseId,
    promise::{HaltReason, ReleaseReason, TaskState, TaskStatus, TrapKey, Verdict},
    reply::{HeartbeatResult, Reply},
    time::{Millis, Timestamp},
    value::Text,
    world::{self, CheckedStore, claim},
};

/// A world in which the workflow `w` and the promise `p` exist.
fn workflow() -> CheckedStore {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    world.done(world::create("p", &[]));
    world
}

#[test]
fn a_task_is_acquired_once_for_each_version() {
    let mut world = workflow();
    world.done(world::acquire("w", 0, 1));
    let Reply::Task(again) = world.done(world::acquire("w", 0, 1)) else {
        panic!("the lost answer is given again")
    };
    assert_eq!(again.task.version.0, 1);
    for (command, kind) in [
        (world::acquire("w", 0, 2), "wrong-state"),
        (world::acquire("w", 1, 2), "wrong-state"),
        (world::acquire("p", 0, 1), "not-found"),
    ] {
        assert_eq!(world.refused(command.clone()).kind(), kind, "{command:?}");
    }
    world.done(world::release(claim("w", 1), ReleaseReason::Yield));
    assert_eq!(world.refused(world::acquire("w", 1, 3)).kind(), "stale-version");
    world.done(world::acquire("w", 2, 3));
}

#[test]
fn a_stale_claim_writes_nothing() {
    let mut world = workflow();
    let old = world.acquire("w", 1);
    world.wait(15_000);
    world.done(Command::LeaseDue { id: PromiseId::from("w") });
    let live = world.acquire("w", 2);
    for command in [
        world::fence(old.clone(), vec![world::started()], Vec::new()),
        world::suspend(old.clone(), &["p"]),
        world::fulfill(old.clone()),
        world::release(old.clone(), ReleaseReason::Yield),
    ] {
        assert_eq!(world.refused(command.clone()).kind(), "stale-version", "{command:?}");
    }
    world.done(world::fulfill(live.clone()));
    let Reply::Promise { changed: false, .. } = world.done(world::fulfill(live)) else {
        panic!("the lost answer is given again")
    };
    assert_eq!(world.refused(world::fulfill(old)).kind(), "promise-settled");
}

#[test]
fn a_suspended_task_goes_on_when_what_it_awaits_settles() {
    let mut world = workflow();
    let held = world.acquire("w", 1);
    for (awaits, kind) in
        [(&[][..], "bad-request"), (&["w"], "bad-request"), (&["no"], "unprocessable")]
    {
        assert_eq!(world.refused(world::suspend(held.clone(), awaits)).kind(), kind, "{awaits:?}");
    }
    assert_eq!(world.done(world::suspend(held, &["p"])), Reply::Suspended);
    world.done(world::settle("p", Verdict::Resolved));
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
    let held = world.acquire("w", 2);
    assert_eq!(held.version.0, 2, "waiting does not raise the version");
    let settled = vec![PromiseId::from("p")];
    assert_eq!(
        world.done(world::suspend(held, &["p"])),
        Reply::Ready { settled, cancelled: false }
    );
}

#[test]
fn a_failed_task_waits_longer_each_time_and_then_gives_up() {
    for (on_exhausted, status, verdict) in [
        (ExhaustionPolicy::Halt, TaskStatus::Halted, None),
        (ExhaustionPolicy::Reject, TaskStatus::Fulfilled, Some(Verdict::Rejected)),
    ] {
        let mut world = workflow();
        world.config = Config { attempt_limit: Some(3), on_exhausted, ..Config::default() };
        let mut waits = Vec::new();
        for nonce in 0..2 {
            let held = world.acquire("w", nonce);
            world.done(world::release(held, world::failed()));
            let task = world.model.task(&PromiseId::from("w")).expect("it was made");
            let TaskState::Pending { retry_at, offered: false, .. } = task.state else {
                panic!("{task:?}")
            };
            waits.push(retry_at.since(world.now).0);
        }
        assert!((100..=110).contains(&waits[0]) && (200..=220).contains(&waits[1]), "{waits:?}");
        let held = world.acquire("w", 9);
        world.done(world::release(held, world::failed()));
        assert_eq!((world.status("w"), world.verdict("w")), (Some(status), verdict));
    }
}

#[test]
fn equal_traps_at_one_place_halt_a_task() {
    let mut world = workflow();
    let trap = |message: &str| {
        let key = TrapKey { journal_len: 0, message: Text::from(message) };
        ReleaseReason::Failed { retry_after: None, error: world::note("trap"), trap: Some(key) }
    };
    for (nonce, message) in [(1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "b")] {
        assert_eq!(world.status("w"), Some(TaskStatus::Pending), "{message}");
        let held = world.acquire("w", nonce);
        world.done(world::release(held, trap(message)));
    }
    assert_eq!(halted(&world), Some(HaltReason::Trapped));
}

#[test]
fn the_note_of_a_failed_attempt_stays_until_the_journal_grows() {
    let mut world = workflow();
    let held = world.acquire("w", 1);
    world.done(world::release(held, world::failed()));
    let note = |world: &CheckedStore| {
        world.model.task(&PromiseId::from("w")).map(|task| task.note.clone())
    };
    let held = world.acquire("w", 2);
    assert!(note(&world).flatten().is_some());
    world.done(world::fence(held, vec![world::started()], Vec::new()));
    assert_eq!(note(&world), Some(None));
}

#[test]
fn a_task_without_room_waits_and_no_attempt_is_counted() {
    let mut world = workflow();
    world.config.attempt_limit = Some(1);
    for nonce in 0..3 {
        let held = world.acquire("w", nonce);
        let version = held.version;
        world.done(world::release(held, ReleaseReason::NoRoom { wait: Millis(1_500) }));
        let task = world.model.task(&PromiseId::from("w")).expect("it was made");
        assert_eq!((task.attempt, task.losses, task.note.as_ref()), (0, 0, None));
        assert_eq!(task.version, version.next());
        let TaskState::Pending { retry_at, offered: false, .. } = task.state else {
            panic!("{task:?}")
        };
        assert_eq!(retry_at, world.now + Millis(1_500));
        world.wait(1_500);
    }
}

#[test]
fn a_task_that_loses_its_claims_is_halted_in_the_end() {
    let mut world = workflow();
    world.config.lost_limit = 3;
    for nonce in 0..3 {
        assert_eq!(world.status("w"), Some(TaskStatus::Pending), "{nonce} lost");
        let held = world.acquire("w", nonce);
        world.wait(15_000);
        world.done(Command::LeaseDue { id: PromiseId::from("w") });
        assert_eq!(world.model.task(&held.id).map(|task| task.version), Some(held.version.next()));
    }
    assert_eq!(halted(&world), Some(HaltReason::Lost));
    world.done(Command::TaskContinue { id: PromiseId::from("w") });
    let task = world.model.task(&PromiseId::from("w")).expect("it was made");
    assert_eq!((task.losses, task.attempt, task.note.as_ref()), (0, 0, None));
}

#[test]
fn an_attempt_that_had_not_begun_is_lost_without_being_counted() {
    for begins in [false, true] {
        let mut world = workflow();
        let held = world.acquire("w", 1);
        if begins {
            world.done(Command::TaskHeartbeat {
                holder: world::claim_request(1).holder,
                items: vec![HeartbeatItem { claim: held, progress: Some((1, None)) }],
            });
        }
        world.wait(20_000);
        world.done(Command::LeaseDue { id: PromiseId::from("w") });
        let task = world.model.task(&PromiseId::from("w")).expect("it was made");
        assert_eq!((task.attempt, task.losses), (u32::from(begins), 1));
    }
}

#[test]
fn an_activity_that_fails_when_it_was_asked_to_stop_does_not_wait_to_be_told() {
    let mut world = workflow();
    let held = world.acquire("w", 1);
    world.done(Command::Cancel { invocation: held.id.clone() });
    let (retry_after, error) = (Some(Millis(60_000)), world::note("failure"));
    let failed = ReleaseReason::Failed { retry_after, error, trap: None };
    world.done(world::release(held, failed));
    let task = world.model.task(&PromiseId::from("w")).expect("it was made");
    assert!(matches!(task.state, TaskState::Pending { offered: true, .. }), "{task:?}");
}

#[test]
fn halt_and_continue_stop_and_offer_a_task() {
    let mut world = workflow();
    let id = PromiseId::from("w");
    assert_eq!(world.refused(Command::TaskContinue { id: id.clone() }).kind(), "wrong-state");
    let held = world.acquire("w", 1);
    world.done(Command::TaskHalt { id: id.clone() });
    world.done(Command::TaskHalt { id: id.clone() });
    assert_eq!(halted(&world), Some(HaltReason::Requested));
    assert_eq!(world.refused(world::fulfill(held)).kind(), "wrong-state");
    world.done(Command::TaskContinue { id: id.clone() });
    let held = world.acquire("w", 2);
    world.done(world::release(held, ReleaseReason::Halt { report: world::note("divergence") }));
    assert_eq!(halted(&world), Some(HaltReason::Reported));
    world.done(world::settle("w", Verdict::Resolved));
    assert_eq!(world.refused(Command::TaskHalt { id }).kind(), "wrong-state");
}

#[test]
fn heartbeats_extend_live_claims_that_get_somewhere() {
    let mut world = workflow();
    world.config.stall_limit = Some(Millis(40_000));
    let held = world.acquire("w", 1);
    let beat = |world: &mut CheckedStore, node: &str, version, seq| {
        let item = HeartbeatItem { claim: claim("w", version), progress: Some((seq, None)) };
        match world
            .done(Command::TaskHeartbeat { holder: world::holder(node, 1), items: vec![item] })
        {
            Reply::Heartbeat(beats) => beats[0].clone(),
            reply => panic!("{reply:?}"),
        }
    };
    let extended = |until| HeartbeatResult::Extended { until: Timestamp(until), cancel: false };
    world.wait(10_000);
    assert_eq!(beat(&mut world, "n", held.version.0, 1), extended(26_000));
    assert_eq!(beat(&mut world, "other", held.version.0, 1), HeartbeatResult::Stale);
    assert_eq!(beat(&mut world, "n", 0, 1), HeartbeatResult::Stale);
    world.wait(14_000);
    assert_eq!(beat(&mut world, "n", held.version.0, 1), extended(40_000));
    world.wait(14_000);
    assert_eq!(
        beat(&mut world, "n", held.version.0, 1),
        extended(51_000),
        "capped: no progress since 11,000"
    );
    world.wait(12_000);
    assert_eq!(beat(&mut world, "n", held.version.0, 1), HeartbeatResult::Stalled);
    world.done(Command::LeaseDue { id: PromiseId::from("w") });
    assert_eq!(beat(&mut world, "n", held.version.0, 2), HeartbeatResult::Stale);
}

fn halted(world: &CheckedStore) -> Option<HaltReason> {
    match world.model.task(&PromiseId::from("w"))?.state {
        TaskState::Halted { reason } => Some(reason),
        _ => None,
    }
}
