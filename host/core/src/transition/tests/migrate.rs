//! Migration: a halted execution continues with another module.

use crate::{
    command::Command,
    id::{Digest, PromiseId},
    promise::{HaltReason, ReleaseReason, TaskState, TaskStatus},
    world::{self, CheckedStore, OTHER_MODULE},
};

/// A halted workflow with one record.
fn halted() -> CheckedStore {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let held = world.acquire("w", 1);
    world.done(world::fence(held.clone(), vec![world::started()], vec![]));
    world.done(world::release(held, ReleaseReason::Halt { report: world::note("divergence") }));
    world
}

fn migrate(id: &str, module: Digest, records: u32) -> Command {
    Command::TaskMigrate { id: PromiseId::from(id), module, records }
}

fn module(world: &CheckedStore) -> Option<Digest> {
    world.model.task(&PromiseId::from("w")).and_then(|task| task.module)
}

#[test]
fn a_halted_task_goes_on_with_the_module_that_repeats_its_journal() {
    let mut world = halted();
    world.done(migrate("w", OTHER_MODULE, 1));
    assert_eq!(module(&world), Some(OTHER_MODULE));
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
    let task = world.model.task(&PromiseId::from("w")).expect("it was made");
    assert_eq!((task.attempt, task.note.as_ref()), (0, None));
    world.acquire("w", 2);
}

#[test]
fn a_task_stays_where_it_is_when_it_cannot_be_moved() {
    let mut world = halted();
    for (command, kind) in [
        (migrate("w", OTHER_MODULE, 0), "journal-grew"),
        (migrate("w", OTHER_MODULE, 2), "journal-grew"),
        (migrate("w", Digest([9; 32]), 1), "unprocessable"),
        (migrate("nothing", OTHER_MODULE, 0), "not-found"),
    ] {
        assert_eq!(world.refused(command.clone()).kind(), kind, "{command:?}");
    }
    let is_halted = |world: &CheckedStore| {
        let task = world.model.task(&PromiseId::from("w")).expect("it was made");
        task.state == TaskState::Halted { reason: HaltReason::Reported }
    };
    assert!(is_halted(&world) && module(&world) == Some(world::MODULE));
    world.done(Command::TaskContinue { id: PromiseId::from("w") });
    world.acquire("w", 2);
    assert_eq!(world.refused(migrate("w", OTHER_MODULE, 1)).kind(), "wrong-state");
}

#[test]
fn a_suspended_task_runs_up_to_what_the_other_module_waits_for() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    world.done(world::workflow("awaited"));
    let held = world.acquire("w", 1);
    world.done(world::fence(held.clone(), vec![world::started()], vec![]));
    world.done(world::suspend(held, &["awaited"]));
    assert_eq!(world.status("w"), Some(TaskStatus::Suspended));
    world.done(migrate("w", OTHER_MODULE, 1));
    assert_eq!(
        (module(&world), world.status("w")),
        (Some(OTHER_MODULE), Some(TaskStatus::Pending))
    );
    let held = world.acquire("w", 2);
    world.done(world::suspend(held, &["awaited"]));
    // A repetition does not resume it again.
    world.done(migrate("w", OTHER_MODULE, 1));
    assert_eq!(world.status("w"), Some(TaskStatus::Suspended));
}

#[test]
fn what_waits_for_its_next_attempt_goes_on_waiting() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let held = world.acquire("w", 1);
    world.done(world::release(
        held,
        ReleaseReason::Failed { retry_after: None, error: world::note("trap"), trap: None },
    ));
    let state = |world: &CheckedStore| {
        world.model.task(&PromiseId::from("w")).map(|task| task.state.clone())
    };
    let before = state(&world);
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
    world.done(migrate("w", OTHER_MODULE, 0));
    assert_eq!((module(&world), state(&world)), (Some(OTHER_MODULE), before));
}

#[test]
fn what_runs_on_no_module_is_not_moved() {
    let mut world = CheckedStore::new();
    world.done(world::outside("w"));
    world.done(Command::TaskHalt { id: PromiseId::from("w") });
    assert_eq!(world.refused(migrate("w", OTHER_MODULE, 0)).kind(), "unprocessable");
}
