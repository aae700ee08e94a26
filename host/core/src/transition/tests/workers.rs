//! External workers: the tasks they may acquire, and the end of their claims.

use crate::{
    command::{ClaimRequest, Command, FenceOperation},
    config::Config,
    id::{Claim, Holder, PromiseId},
    promise::{
        LONGEST_LEASE, NewSchedule, Overlap, PromiseTemplate, ReleaseReason, Task, TaskStatus,
    },
    reply::{HeartbeatResult, Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    world::{self, CheckedStore, claim},
};

fn claim_request(pid: &str, nonce: u64) -> ClaimRequest {
    ClaimRequest { holder: Holder::worker(pid), nonce, ttl: Millis(15_000) }
}

/// A task that the worker `w` holds.
fn held(world: &mut CheckedStore, id: &str, nonce: u64) -> Claim {
    world.done(world::outside(id));
    take(world, id, nonce)
}

fn take(world: &mut CheckedStore, id: &str, nonce: u64) -> Claim {
    let version = world.model.task(&PromiseId::from(id)).expect("a task").version.0;
    let claimed = claim(id, version);
    world.done(Command::TaskAcquire {
        claim: claimed,
        request: claim_request("w", nonce),
        stall_limit: None,
    });
    claim(id, version + 1)
}

fn offers(world: &CheckedStore) -> usize {
    world.snapshot.outbox.len()
}

#[test]
fn a_worker_takes_nothing_that_hosts_execute() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let acquire = Command::TaskAcquire {
        claim: claim("w", 0),
        request: claim_request("w", 1),
        stall_limit: None,
    };
    assert_eq!(world.refused(acquire).kind(), "hosted");
    let new = world::new("n", &[(tags::TARGET, "wasm://shop/order")], Timestamp::NEVER);
    let create = Command::TaskCreate { new, request: claim_request("w", 1) };
    assert_eq!(world.refused(create).kind(), "hosted");
    let node = Holder::worker("w").node;
    assert_eq!(world.refused(Command::HostStart { node }).kind(), "bad-request");
}

#[test]
fn one_word_extends_everything_a_worker_holds() {
    let mut world = CheckedStore::new();
    held(&mut world, "a", 1);
    held(&mut world, "b", 2);
    world.wait(10_000);
    let beats = world.done(Command::WorkerHeartbeat { holder: Holder::worker("w") });
    let extended = HeartbeatResult::Extended { until: world.now + Millis(15_000), cancel: false };
    assert_eq!(beats, Reply::Heartbeat(vec![extended.clone(), extended]));
    let stranger = Command::WorkerHeartbeat { holder: Holder::worker("v") };
    assert_eq!(world.done(stranger), Reply::Heartbeat(vec![]));
}

#[test]
fn what_a_worker_that_left_was_not_heard_about_is_offered_again() {
    let mut world = CheckedStore::new();
    let gone = held(&mut world, "a", 1);
    world.wait(10);
    let left_at = world.now;
    world.wait(10);
    held(&mut world, "b", 2);
    let command = Command::WorkerGone { holder: Holder::worker("w"), unheard_since: left_at };
    world.done(command);
    assert_eq!(world.status("a"), Some(TaskStatus::Pending));
    assert_eq!(world.status("b"), Some(TaskStatus::Acquired), "taken after it was thought gone");
    assert_eq!(offers(&world), 1);
    assert!(matches!(world.refused(world::fulfill(gone)).kind(), "stale-version" | "wrong-state"));
}

#[test]
fn a_task_that_is_given_back_unused_again_and_again_waits_longer_each_time() {
    let mut world = CheckedStore::new();
    let mut claim = held(&mut world, "a", 1);
    let mut waits = Vec::new();
    for nonce in 2..6 {
        let id = claim.id.clone();
        world.done(world::release(claim, ReleaseReason::Yield));
        waits.push(match offers(&world) {
            0 => {
                world.model.task(&id).and_then(|task| task.due_at()).expect("a retry").0
                    - world.now.0
            }
            _ => 0,
        });
        claim = take(&mut world, "a", nonce);
    }
    assert!(waits[0] == 0 && waits.is_sorted() && waits[1] >= 100 && waits[3] >= 400, "{waits:?}");
    // Progress resets its back-off.
    let child = world::new("a:0", &[], Timestamp::NEVER);
    world.done(world::fence(
        claim.clone(),
        vec![],
        vec![FenceOperation::CreateLoose { new: child }],
    ));
    world.done(world::release(claim, ReleaseReason::Yield));
    assert_eq!(offers(&world), 1);
}

#[test]
fn a_task_whose_workers_die_is_halted_in_the_end_and_says_so() {
    let mut world = CheckedStore::new();
    world.config.lost_limit = 3;
    world.done(world::outside("a"));
    let lose = |world: &mut CheckedStore, nonce| {
        let claim = take(world, "a", nonce);
        world.wait(15_000);
        world.done(Command::LeaseDue { id: claim.id.clone() });
        world.wait(1_000);
        world.done(Command::RetryDue { id: claim.id });
    };
    let said = |world: &CheckedStore| {
        let task = world.model.task(&PromiseId::from("a")).expect("a task");
        (task.attempt, task.note.as_ref().map(|note| note.message.to_string()))
    };
    lose(&mut world, 1);
    lose(&mut world, 2);
    // Progress resets its failure counts.
    let claim = take(&mut world, "a", 3);
    let child = world::new("a:0", &[], Timestamp::NEVER);
    world.done(world::fence(
        claim.clone(),
        vec![],
        vec![FenceOperation::CreateLoose { new: child }],
    ));
    world.done(world::release(claim, ReleaseReason::Yield));
    assert_eq!(said(&world), (1, None));
    lose(&mut world, 4);
    lose(&mut world, 5);
    assert_eq!(world.status("a"), Some(TaskStatus::Pending));
    let why = "its last 2 claims were lost: its workers die or do not answer".to_owned();
    assert_eq!(said(&world), (1, Some(why)));
    lose(&mut world, 6);
    assert_eq!(world.status("a"), Some(TaskStatus::Halted));
}

#[test]
fn what_is_made_loosely_belongs_to_nobody() {
    let mut world = CheckedStore::new();
    let claim = held(&mut world, "a", 1);
    let new = world::new("a/0", &[(tags::BRANCH, "mine")], Timestamp::NEVER);
    let create = FenceOperation::CreateLoose { new: new.clone() };
    world.done(world::fence(claim.clone(), vec![], vec![create.clone()]));
    let made = world.model.promise(&new.id).expect("it was made").clone();
    assert_eq!((made.spec.made_by.as_ref(), &made.spec.tags), (None, &new.tags));
    world.done(world::fence(claim.clone(), vec![], vec![create]));
    world.done(world::fulfill(claim));
    assert_eq!((world.verdict("a/0"), offers(&world)), (None, 0), "it lives on");
}

#[test]
fn the_narrow_reading_waits_only_for_what_somebody_is_to_settle_in_one_tree() {
    let mut world = CheckedStore::new();
    world.config = Config { resonate_strict: true, ..Config::default() };
    let claim = held(&mut world, "a", 1);
    world.done(world::create("a:latent", &[]));
    world.done(world::create("a:given", &[(tags::EXTERNAL, "true")]));
    world.done(world::outside("b"));
    for (awaited, kind) in [("a:latent", "unprocessable"), ("b", "bad-request")] {
        assert_eq!(world.refused(world::callback(awaited, "a")).kind(), kind);
        assert_eq!(world.refused(world::suspend(claim.clone(), &[awaited])).kind(), kind);
    }
    assert_eq!(world.refused(world::listener("a:latent")).kind(), "unprocessable");
    world.done(world::listener("b"));
    let nap = world::create("nap", &[(tags::TIMER, "true"), (tags::TARGET, "poll://any@w")]);
    assert_eq!(world.refused(nap).kind(), "bad-request");
    assert_eq!(world.done(world::suspend(claim, &["a:given"])), Reply::Suspended);
}

#[test]
fn the_narrow_reading_has_ids_lie_under_what_their_tags_name() {
    let mut world = CheckedStore::new();
    world.config = Config { resonate_strict: true, ..Config::default() };
    for (id, tag, root) in [
        ("root:0", tags::ORIGIN, "root"),
        ("root.0.1", tags::BRANCH, "root.0"),
        ("root:d1f", tags::PREFIX, "root"),
        ("root", tags::PARENT, "root"),
    ] {
        world.done(world::create(id, &[(tag, root)]));
    }
    for (id, tag, root) in [
        ("a", tags::ORIGIN, "root"),
        ("roots", tags::PREFIX, "root"),
        ("root:1", tags::BRANCH, "root:0"),
        ("root.1", tags::PARENT, "other"),
    ] {
        let refusal = world.refused(world::create(id, &[(tag, root)]));
        assert_eq!(refusal.kind(), "bad-request", "{id}");
        assert!(refusal.to_string().contains(root), "{refusal}");
    }
    // A repeated request gets the existing promise as reply.
    world.done(world::create("root:0", &[(tags::ORIGIN, "elsewhere")]));
    let claim = held(&mut world, "a", 1);
    let stray = world::new("b:0", &[(tags::ORIGIN, "a")], Timestamp::NEVER);
    let fenced = world::fence(claim, vec![], vec![FenceOperation::CreateLoose { new: stray }]);
    let Reply::Fenced { outcomes, .. } = world.done(fenced) else { panic!("a fence") };
    assert_eq!(outcomes[0].1.as_ref().map_err(Refusal::kind), Err("bad-request"));
}

#[test]
fn the_narrow_reading_takes_no_address_that_nobody_can_poll() {
    let mut world = CheckedStore::new();
    world.config = Config { resonate_strict: true, ..Config::default() };
    world.done(world::outside("p"));
    let target = [(tags::TARGET, "poll://shipping")];
    let listener =
        Command::RegisterListener { awaited: "p".into(), address: "poll://uni@g".into() };
    let Command::ScheduleCreate(new) = world::schedule("s", Overlap::Allow) else { panic!("one") };
    let template = PromiseTemplate { tags: world::tagged(&target), ..new.template.clone() };
    let schedule = Command::ScheduleCreate(NewSchedule { template, ..new.clone() });
    for command in [world::create("a", &target), listener, schedule] {
        let refusal = world.refused(command);
        assert!(refusal.to_string().contains("poll://any@GROUP/WORKER"), "{refusal}");
    }
    world.done(Command::ScheduleCreate(new.clone()));
    for id in ["s.x", "s:x"] {
        let refusal =
            world.refused(Command::ScheduleCreate(NewSchedule { id: id.into(), ..new.clone() }));
        assert_eq!(refusal.kind(), "bad-request", "{refusal}");
    }
}

#[test]
fn workers_outside_wait_for_no_signals() {
    let mut world = CheckedStore::new();
    let claim = held(&mut world, "a", 1);
    let refusal = world.refused(world::suspend(claim.clone(), &["a/s/0"]));
    assert_eq!(refusal.kind(), "unprocessable");
    world.done(world::create("a/s/0", &[]));
    assert_eq!(world.done(world::suspend(claim, &["a/s/0"])), Reply::Suspended, "it is just an id");
}

#[test]
fn a_promise_without_a_task_is_no_other_host_s_affair() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    let new = world::new("p", &[(tags::TARGET, "poll://any@w")], Timestamp::NEVER);
    let refusal = world.refused(Command::TaskCreate { new, request: claim_request("w", 1) });
    assert_eq!(refusal.kind(), "unprocessable");
}

#[test]
fn a_lease_lasts_a_day_at_most() {
    let mut world = CheckedStore::new();
    world.done(world::outside("w"));
    for ttl in [i64::MIN, -1, 0, LONGEST_LEASE.0 + 1, i64::MAX] {
        let request = ClaimRequest { ttl: Millis(ttl), ..claim_request("w", 1) };
        let new = world::new("v", &[(tags::TARGET, "poll://w")], Timestamp::NEVER);
        let make = Command::TaskCreate { new, request: request.clone() };
        let take = Command::TaskAcquire { claim: claim("w", 0), request, stall_limit: None };
        for command in [make, take] {
            let refused = world.refused(command);
            assert_eq!(refused.kind(), "bad-request", "{ttl}");
            assert!(refused.to_string().contains("from 1 to 86400000 milliseconds"), "{refused}");
        }
    }
    let request = ClaimRequest { ttl: LONGEST_LEASE, ..claim_request("w", 1) };
    world.done(Command::TaskAcquire { claim: claim("w", 0), request, stall_limit: None });
    assert!(world.model.task(&"w".into()).and_then(Task::due_at) < Some(Timestamp::NEVER));
}

#[test]
fn a_worker_that_only_heartbeats_loses_its_claim_where_there_is_a_limit() {
    let beats = |world: &mut CheckedStore| match world
        .done(Command::WorkerHeartbeat { holder: Holder::worker("w") })
    {
        Reply::Heartbeat(beats) => beats,
        reply => panic!("{reply:?}"),
    };
    for limit in [None, Some(Millis(40_000))] {
        let mut world = CheckedStore::new();
        world.config.worker_stall_limit = limit;
        world.done(world::outside("w"));
        let claimed = claim("w", 0);
        world.done(Command::TaskAcquire {
            claim: claimed,
            request: claim_request("w", 1),
            stall_limit: None,
        });
        // A new step after half a minute counts as progress; a repetition of the same step does
        // not.
        for wait in [10_000, 10_000, 10_000, 10_000, 10_000, 10_000] {
            world.wait(wait);
            if world.now.0 == 31_000 || world.now.0 == 51_000 {
                let new = world::new("w.0", &[], Timestamp::NEVER);
                let act = FenceOperation::CreateLoose { new };
                world.done(world::fence(claim("w", 1), vec![], vec![act]));
            }
            assert!(
                matches!(beats(&mut world)[..], [HeartbeatResult::Extended { .. }]),
                "{}",
                world.now
            );
        }
        world.wait(10_000);
        let last = beats(&mut world);
        match limit {
            None => assert!(matches!(last[..], [HeartbeatResult::Extended { .. }])),
            Some(_) => {
                assert_eq!(last, [HeartbeatResult::Stalled]);
                world.done(Command::LeaseDue { id: "w".into() });
                assert_eq!(world.status("w"), Some(TaskStatus::Pending));
            }
        }
    }
}
