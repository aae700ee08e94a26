//! External damage, one test per class: it is repaired where other facts determine the correct
//! state; otherwise the task is halted for an operator.
//!
//! A claim without a lease, a pending task that is never offered and a deadline without a timer
//! cannot be written: these times are part of the rows. A store that finds such a row reports it as
//! unreadable.

use crate::{
    command::{Command, FenceOperation},
    id::PromiseId,
    invocation::JournalHead,
    model::Model,
    promise::{HaltReason, OutboxKey, Task, TaskState, TaskStatus, Verdict},
    reply::{DamageKind, Reply},
    saga::{FactKey, FactKind},
    tags,
    time::Timestamp,
    view::View,
    world::{self, CheckedStore},
};

/// `w` is suspended on `p`.
fn pair() -> CheckedStore {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    world.done(world::workflow("w"));
    let held = world.acquire("w", 1);
    world.done(world::suspend(held, &["p"]));
    world
}

/// Reconciles `id` twice: the second time must find nothing.
fn reconcile(world: &mut CheckedStore, id: &str) -> Vec<DamageKind> {
    let command = Command::Reconcile { id: PromiseId::from(id) };
    let mut found = || {
        let decision = world.model.decide(&command, world.now, &world.config);
        world.model.apply(&decision.delta);
        match decision.reply {
            Reply::Reconciled { orphans } => orphans,
            reply => panic!("{reply:?}"),
        }
    };
    let orphans = found();
    assert_eq!(found(), [], "after {orphans:?}");
    orphans
}

/// A copy of the rows without this promise and this task.
fn without(state: &View, promise: Option<&str>, task: Option<&str>) -> Model {
    let mut kept = View::new();
    kept.put_module(world::MODULE);
    for row in state.promises().filter(|row| Some(row.id().as_str()) != promise) {
        kept.put_promise(row.clone());
    }
    for row in state.tasks().filter(|row| Some(row.id.as_str()) != task) {
        kept.put_task(row.clone());
    }
    for (awaited, awaiter, consumed) in state.callbacks() {
        kept.put_callback(awaited.clone(), awaiter.clone(), consumed);
    }
    kept.into()
}

fn is_damaged(world: &CheckedStore, id: &str) -> bool {
    let damaged = TaskState::Halted { reason: HaltReason::Damaged };
    world.model.task(&PromiseId::from(id)).is_some_and(|task| task.state == damaged)
}

#[test]
fn what_is_whole_is_left_alone() {
    let mut world = pair();
    for id in ["p", "w", "nothing"] {
        assert_eq!(reconcile(&mut world, id), []);
    }
    assert_eq!(world.status("w"), Some(TaskStatus::Suspended));
}

#[test]
fn a_task_that_waits_for_nothing_goes_on() {
    let mut world = pair();
    world.model.rows_mut().remove_callback(&"p".into(), &"w".into());
    assert_eq!(reconcile(&mut world, "w"), [DamageKind::SuspendedOnNothing]);
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
}

#[test]
fn a_task_that_was_woken_goes_on() {
    let mut world = pair();
    world.model.rows_mut().put_callback("p".into(), "w".into(), true);
    assert_eq!(reconcile(&mut world, "w"), [DamageKind::WokenButSuspended]);
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
}

#[test]
fn a_chain_that_was_cut_is_finished() {
    let mut world = pair();
    let settled = world.model.promise(&"p".into()).expect("made").clone();
    world.model.rows_mut().put_promise(settled.settled(settled.deadline_settlement()));
    assert_eq!(reconcile(&mut world, "p"), [DamageKind::ChainUnfinished]);
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
}

#[test]
fn a_child_that_outlived_its_parent_is_cancelled() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    let new = world::new("w/0", &[], Timestamp::NEVER);
    world.done(world::fence(claim, vec![], vec![FenceOperation::Create { new, request: None }]));
    world.done(Command::Kill { invocation: "w".into() });
    let key = OutboxKey::CancelChildren("w".into());
    world.model.rows_mut().remove_outbox(&key);
    assert_eq!(reconcile(&mut world, "w"), [DamageKind::ChildRuns]);
    let due =
        crate::transition(&world.model, &Command::OutboxDue { key }, world.now, &world.config);
    world.model.apply(&due.delta);
    assert_eq!(world.verdict("w/0"), Some(Verdict::Canceled));
}

#[test]
fn a_missing_task_is_made_again_and_halted() {
    let mut world = pair();
    world.model = without(&world.model, None, Some("w"));
    assert_eq!(reconcile(&mut world, "w"), [DamageKind::TaskMissing]);
    assert!(is_damaged(&world, "w"));
}

#[test]
fn a_task_without_its_promise_is_halted() {
    let mut world = pair();
    world.model = without(&world.model, Some("w"), None);
    assert_eq!(reconcile(&mut world, "w"), [DamageKind::TaskWithoutPromise]);
    assert!(is_damaged(&world, "w"));
}

#[test]
fn a_journal_that_contradicts_itself_or_has_a_gap_at_its_end_halts_its_task() {
    let mut world = pair();
    let head = JournalHead { len: 1, commands: 4, ..JournalHead::default() };
    world.model.rows_mut().put_head("w".into(), head);
    assert_eq!(reconcile(&mut world, "w"), [DamageKind::JournalDamaged]);
    assert!(is_damaged(&world, "w"));

    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    world.done(world::fence(claim, vec![world::started(), world::asked(1, 0)], vec![]));
    assert_eq!(reconcile(&mut world, "w"), []);
    world.model.rows_mut().put_tail("w".into(), vec![world::started()]);
    assert_eq!(reconcile(&mut world, "w"), [DamageKind::JournalDamaged]);
    assert!(is_damaged(&world, "w"));
}

#[test]
fn a_step_that_is_both_undone_and_not_halts_its_task() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    let made = |id: &str, pairs: &[(&str, &str)]| FenceOperation::Create {
        new: world::new(id, pairs, Timestamp::NEVER),
        request: None,
    };
    let undone = PromiseId::from("w").compensation("trip", 0);
    let acts = vec![
        made("w/0", &world::step("0")),
        made(undone.as_str(), &[(tags::TARGET, "poll://any@w")]),
    ];
    world.done(world::fence(claim, vec![], acts));
    world.done(world::settle("w/0", Verdict::Resolved));
    world.done(world::settle(undone.as_str(), Verdict::Resolved));
    assert_eq!(reconcile(&mut world, "w"), []);
    let (key, fact) = world
        .model
        .facts_of(&"w".into())
        .find(|(key, _)| key.kind == FactKind::Completed)
        .map(|(key, fact)| (FactKey { kind: FactKind::Failed, ..key.clone() }, fact.clone()))
        .expect("a fact");
    world.model.rows_mut().put_fact("w".into(), key, fact);
    assert_eq!(reconcile(&mut world, "w"), [DamageKind::FactsContradict]);
    assert!(is_damaged(&world, "w"));
}

#[test]
fn a_halted_task_is_not_halted_again() {
    let mut world = pair();
    let task = world.model.task(&"w".into()).expect("a task").clone();
    let state = TaskState::Halted { reason: HaltReason::Requested };
    world.model.rows_mut().put_task(Task { state: state.clone(), ..task });
    let head = JournalHead { len: 1, commands: 4, ..JournalHead::default() };
    world.model.rows_mut().put_head("w".into(), head);
    assert_eq!(reconcile(&mut world, "w"), []);
    assert_eq!(world.model.task(&"w".into()).expect("a task").state, state);
}
