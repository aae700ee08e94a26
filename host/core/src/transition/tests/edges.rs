//! Edge cases that no single predicate detects: the rows would be valid, but wrong.

use crate::{
    command::{Command, FenceOperation},
    id::PromiseId,
    promise::{TaskStatus, Verdict},
    reply::{Refusal, Reply},
    tags,
    time::Timestamp,
    value::Value,
    world::{self, CheckedStore},
};

#[test]
fn an_action_is_never_about_the_claims_own_promise() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("wf"));
    let claim = world.acquire("wf", 1);
    let id = PromiseId::from("wf");
    for act in [
        FenceOperation::Settle {
            id: id.clone(),
            verdict: Verdict::Resolved,
            value: Value::default(),
        },
        FenceOperation::Cancel { id: id.clone() },
    ] {
        let refused = world.refused(world::fence(claim.clone(), vec![], vec![act]));
        assert!(matches!(refused, Refusal::BadRequest(_)), "{refused:?}");
    }
    assert_eq!(world.status("wf"), Some(TaskStatus::Acquired));
}

#[test]
fn a_new_record_forgives_earlier_failures() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("wf"));
    let claim = world.acquire("wf", 1);
    world.done(world::release(claim, world::failed()));
    let attempt =
        |world: &CheckedStore| world.model.task(&PromiseId::from("wf")).map(|task| task.attempt);
    assert_eq!(attempt(&world), Some(1));
    let claim = world.acquire("wf", 2);
    world.done(world::fence(claim, vec![world::started()], vec![]));
    assert_eq!(attempt(&world), Some(0));
}

#[test]
fn a_task_that_was_asked_to_stop_does_not_suspend() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("wf"));
    world.done(world::create("it", &[]));
    let claim = world.acquire("wf", 1);
    world.done(Command::Cancel { invocation: PromiseId::from("wf") });
    let reply = world.done(world::suspend(claim, &["it"]));
    assert_eq!(reply, Reply::Ready { settled: vec![], cancelled: true });
    assert_eq!(world.status("wf"), Some(TaskStatus::Acquired));
}

#[test]
fn the_last_claim_of_a_suspended_task_writes_nothing() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("wf"));
    world.done(world::create("open", &[]));
    let claim = world.acquire("wf", 1);
    world.done(world::suspend(claim.clone(), &["open"]));
    let stale = world.refused(world::fence(claim, vec![world::started()], vec![]));
    assert_eq!(stale.kind(), "wrong-state");
}

#[test]
fn timers_that_fire_early_change_nothing() {
    let mut world = CheckedStore::new();
    world.done(world::outside("held"));
    world.acquire("held", 1);
    world.done(world::outside("offered"));
    world.done(world::create("open", &[]));
    world.wait(100);
    let before = world.snapshot.clone();
    for id in ["held", "offered", "open"].map(PromiseId::from) {
        world.done(Command::LeaseDue { id: id.clone() });
        world.done(Command::RetryDue { id: id.clone() });
        world.done(Command::PromiseDue { id });
    }
    assert_eq!(world.snapshot, before);
}

#[test]
fn what_a_claim_makes_says_so() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("wf"));
    let claim = world.acquire("wf", 1);
    let child = world::new("wf/0", &[(tags::TARGET, "ship")], Timestamp::NEVER);
    let create = FenceOperation::Create { new: child, request: None };
    world.done(world::fence(claim, vec![world::started(), world::asked(1, 0)], vec![create]));
    let child = world.model.promise(&PromiseId::from("wf/0")).expect("it was made");
    assert_eq!(child.spec.made_by, Some(PromiseId::from("wf")));
}

#[test]
fn what_is_made_after_its_deadline_is_born_settled_by_it() {
    let mut world = CheckedStore::new();
    let late = Timestamp(world.now.0 - 10);
    world.done(Command::PromiseCreate(world::new("late", &[], late)));
    let promise = world.model.promise(&PromiseId::from("late")).expect("it was made");
    let settled_at = promise.settlement().map(|settlement| settlement.settled_at);
    assert_eq!((promise.spec.created_at, settled_at), (late, Some(late)));
}

#[test]
fn a_wake_that_came_while_a_task_ran_is_forgotten_when_it_suspends() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("wf"));
    world.done(world::create("seen", &[]));
    world.done(world::create("awaited", &[]));
    let claim = world.acquire("wf", 1);
    world.done(world::callback("seen", "wf"));
    world.done(world::settle("seen", Verdict::Resolved));
    assert_eq!(world.done(world::suspend(claim, &["awaited"])), Reply::Suspended);
    world.done(world::settle("awaited", Verdict::Resolved));
    assert_eq!(world.status("wf"), Some(TaskStatus::Pending));
}
