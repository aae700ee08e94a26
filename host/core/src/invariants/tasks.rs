//! What is always true of tasks and their timers.

use crate::promise::TaskStatus;
use crate::snapshot::{Snapshot, TimerKind};

use super::{Found, Predicate, each, unless};

pub(super) const PREDICATES: &[Predicate] = &[
    ("orphan_tasks", orphan_tasks),
    ("settled_task_open", settled_task_open),
    ("pending_task_no_ttimeout", pending_task_no_ttimeout),
    ("acquired_task_no_lease", acquired_task_no_lease),
    ("suspended_task_has_ttimeout", suspended_task_has_ttimeout),
    ("halted_task_has_ttimeout", halted_task_has_ttimeout),
    ("fulfilled_task_has_ttimeout", fulfilled_task_has_ttimeout),
    ("ttimer_due", ttimer_due),
    ("ttimeout_without_task", ttimeout_without_task),
    ("acquired_at_a_version", acquired_at_a_version),
    ("signals_are_made", signals_are_made),
];

/// Every task has a promise, which has a target.
fn orphan_tasks(rows: &Snapshot) -> Found {
    each(&rows.tasks, |id, _| {
        let target = rows.promises.get(id).map(|promise| promise.target().is_some());
        unless(target == Some(true), || format!("a task, and a promise with a target: {target:?}"))
    })
}

/// A settled promise's task is fulfilled, and a fulfilled task's promise is settled.
fn settled_task_open(rows: &Snapshot) -> Found {
    each(&rows.tasks, |id, task| {
        let settled = !rows.promises.get(id)?.is_pending();
        let status = task.status();
        unless(settled == (status == TaskStatus::Fulfilled), || {
            format!("the task is {status}, settled: {settled}")
        })
    })
}

/// Every pending task has a retry timer.
fn pending_task_no_ttimeout(rows: &Snapshot) -> Found {
    timed(rows, TaskStatus::Pending, Some(TimerKind::Retry))
}

/// Every acquired task has a lease timer.
fn acquired_task_no_lease(rows: &Snapshot) -> Found {
    timed(rows, TaskStatus::Acquired, Some(TimerKind::Lease))
}

/// No suspended task has a timer.
fn suspended_task_has_ttimeout(rows: &Snapshot) -> Found {
    timed(rows, TaskStatus::Suspended, None)
}

/// No halted task has a timer.
fn halted_task_has_ttimeout(rows: &Snapshot) -> Found {
    timed(rows, TaskStatus::Halted, None)
}

/// No fulfilled task has a timer.
fn fulfilled_task_has_ttimeout(rows: &Snapshot) -> Found {
    timed(rows, TaskStatus::Fulfilled, None)
}

/// A task's timer is due when its retry or its lease is.
fn ttimer_due(rows: &Snapshot) -> Found {
    each(&rows.tasks, |id, task| {
        let kind = match task.status() {
            TaskStatus::Pending => TimerKind::Retry,
            TaskStatus::Acquired => TimerKind::Lease,
            TaskStatus::Suspended | TaskStatus::Halted | TaskStatus::Fulfilled => return None,
        };
        let timer = rows.timers.get(&(kind, id.clone())).copied()?;
        unless(task.due_at() == Some(timer), || {
            format!("its timer is due at {timer}, the task at {:?}", task.due_at())
        })
    })
}

/// No retry or lease without a task.
fn ttimeout_without_task(rows: &Snapshot) -> Found {
    let stray = rows.timers.keys().filter(|(kind, id)| {
        matches!(kind, TimerKind::Retry | TimerKind::Lease) && !rows.tasks.contains_key(id)
    });
    stray.map(|(kind, id)| (vec![id.clone()], format!("{kind:?} timer without a task"))).collect()
}

/// The first claim on a task raises its version to 1.
fn acquired_at_a_version(rows: &Snapshot) -> Found {
    each(&rows.tasks, |_, task| {
        unless(task.status() != TaskStatus::Acquired || task.version.0 > 0, || {
            "acquired at version 0".to_owned()
        })
    })
}

/// A signal that was counted has a settled promise.
fn signals_are_made(rows: &Snapshot) -> Found {
    each(&rows.tasks, |id, task| {
        let missing = (0..task.signals).find(|n| {
            rows.promises.get(&id.signal(*n)).is_none_or(crate::promise::Promise::is_pending)
        })?;
        Some(format!("it was sent {} signals, and number {missing} is not settled", task.signals))
    })
}

/// Tasks of this state have the timer of this kind, and no other.
fn timed(rows: &Snapshot, status: TaskStatus, kind: Option<TimerKind>) -> Found {
    each(&rows.tasks, |id, task| {
        if task.status() != status {
            return None;
        }
        let has = |kind| rows.timers.contains_key(&(kind, id.clone()));
        [TimerKind::Retry, TimerKind::Lease].into_iter().find_map(|other| {
            unless(has(other) == (Some(other) == kind), || {
                format!("{status}, {other:?} timer: {}", has(other))
            })
        })
    })
}
