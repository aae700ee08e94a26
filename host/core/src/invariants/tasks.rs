//! Invariants of tasks.

use super::{Predicate, Violations, each, unless};
use crate::{
    promise::{CancelState, TaskStatus},
    snapshot::Snapshot,
};

pub(super) const PREDICATES: &[Predicate] = &[
    ("orphan_tasks", orphan_tasks),
    ("settled_task_open", settled_task_open),
    ("acquired_at_a_version", acquired_at_a_version),
    ("signals_are_made", signals_are_made),
    ("no_request_outlives_its_task", no_request_outlives_its_task),
];

/// Every task has a promise, and that promise has a target.
fn orphan_tasks(rows: &Snapshot) -> Violations {
    each(&rows.tasks, |id, _| {
        let target = rows.promises.get(id).map(|promise| promise.target().is_some());
        unless(target == Some(true), || format!("a task, and a promise with a target: {target:?}"))
    })
}

/// A settled promise's task is fulfilled, and a fulfilled task's promise is settled.
fn settled_task_open(rows: &Snapshot) -> Violations {
    each(&rows.tasks, |id, task| {
        let settled = !rows.promises.get(id)?.is_pending();
        let status = task.status();
        unless(settled == (status == TaskStatus::Fulfilled), || {
            format!("the task is {status}, settled: {settled}")
        })
    })
}

/// An acquired task has a version of at least 1, since the first claim raises it.
fn acquired_at_a_version(rows: &Snapshot) -> Violations {
    each(&rows.tasks, |_, task| {
        unless(task.status() != TaskStatus::Acquired || task.version.0 > 0, || {
            "acquired at version 0".to_owned()
        })
    })
}

/// Every counted signal has a settled promise.
fn signals_are_made(rows: &Snapshot) -> Violations {
    each(&rows.tasks, |id, task| {
        let missing = (0..task.signals).find(|n| {
            rows.promises.get(&id.signal(*n)).is_none_or(crate::promise::Promise::is_pending)
        })?;
        Some(format!("it was sent {} signals, and number {missing} is not settled", task.signals))
    })
}

/// A task that has ended has no open stop request: it was notified, or the request is marked as too
/// late.
fn no_request_outlives_its_task(rows: &Snapshot) -> Violations {
    each(&rows.tasks, |_, task| {
        let waits = task.cancel == CancelState::Requested;
        unless(task.status() != TaskStatus::Fulfilled || !waits, || {
            "it has ended and is still asked to stop".to_owned()
        })
    })
}
