//! Step invariants of tasks: versions, states, leases and modules.

use super::{CheckedStep, journals::journal_goes};
use crate::{
    command::Command,
    config::VersionRule,
    id::PromiseId,
    invariants::{Violations, each, unless},
    limit::LimitPositionState,
    promise::{HaltReason, Task, TaskState, TaskStatus},
    snapshot::Snapshot,
    transition::turn_in,
};

/// The version rises by one when a claim is taken, lost or given up, and never otherwise.
pub(super) fn version_rises_only_when_a_claim_changes_hands(step: &CheckedStep<'_>) -> Violations {
    each(&step.after.tasks, |id, after| {
        let before = step.before.tasks.get(id);
        let born = step.before.first_version;
        let rise = after.version.0.checked_sub(before.map_or(born, |task| task.version).0);
        let expected = match before {
            None if has_begun(step.command, after) && !waits_to_begin(step.after, id) => 1,
            _ => expected_rise(
                before.map(|task| &task.state),
                &after.state,
                step.config.version_rule,
            ),
        };
        unless(rise == Some(expected), || {
            format!("{before:?} became {after:?}: the version should rise by {expected}")
        })
    })
}

/// The initial task version never decreases, and is greater than the version of every task that a
/// step removes.
pub(super) fn first_version_is_above_what_is_gone(step: &CheckedStep<'_>) -> Violations {
    let first = step.after.first_version;
    let gone = step.before.tasks.iter().filter(|(id, _)| !step.after.tasks.contains_key(*id));
    let reached = gone.filter(|(_, task)| task.version >= first);
    let mut found: Violations = reached
        .map(|(id, task)| {
            (vec![id.clone()], format!("gone at {:?}, {first:?} is born", task.version))
        })
        .collect();
    if first < step.before.first_version {
        found.push((Vec::new(), format!("from {:?} to {first:?}", step.before.first_version)));
    }
    found
}

/// Holder, nonce and length of a lease do not change while the claim lasts.
pub(super) fn lease_changes_only_with_its_claim(step: &CheckedStep<'_>) -> Violations {
    each(&step.after.tasks, |id, after| {
        let (before, lease) = (step.before.tasks.get(id)?.lease()?, after.lease()?);
        let same =
            (&before.holder, before.nonce, before.ttl) == (&lease.holder, lease.nonce, lease.ttl);
        unless(same, || format!("{before:?} became {lease:?}"))
    })
}

/// Tasks change status only along allowed edges.
pub(super) fn only_admitted_edges(step: &CheckedStep<'_>) -> Violations {
    use TaskStatus::{Acquired, Fulfilled, Halted, Pending, Suspended};
    each(&step.after.tasks, |id, after| {
        let before = step.before.tasks.get(id).map(Task::status)?;
        let admitted: &[TaskStatus] = match before {
            // Back to suspended: another execution has the turn, or there is no capacity.
            Pending if needs_turn(step, id) || is_limited(step, id) => {
                &[Pending, Acquired, Suspended, Halted, Fulfilled]
            }
            Pending => &[Pending, Acquired, Halted, Fulfilled],
            Acquired => &[Acquired, Pending, Suspended, Halted, Fulfilled],
            Suspended => &[Suspended, Pending, Halted, Fulfilled],
            Halted => &[Halted, Pending, Fulfilled],
            Fulfilled => &[Fulfilled],
        };
        unless(admitted.contains(&after.status()), || format!("{before} became {}", after.status()))
    })
}

/// A task whose promise is settled never changes.
pub(super) fn fulfilled_task_never_changes(step: &CheckedStep<'_>) -> Violations {
    each(&step.before.tasks, |id, before| {
        let after = step.after.tasks.get(id)?;
        // Exception: the note that its journal was removed.
        let marked = journal_goes(step, id)
            && *before == Task { note: before.note.clone(), ..after.clone() };
        unless(before.status() != TaskStatus::Fulfilled || before == after || marked, || {
            format!("{before:?} became {after:?}")
        })
    })
}

/// When a timer offers a task again, the next offer is later.
pub(super) fn retry_moves_forward(step: &CheckedStep<'_>) -> Violations {
    let Command::RetryDue { id } = step.command else { return Violations::new() };
    let retry = |rows: &Snapshot| match rows.tasks.get(id)?.state {
        TaskState::Pending { retry_at, .. } => Some(retry_at),
        _ => None,
    };
    match (retry(step.before), retry(step.after)) {
        (Some(before), Some(after))
            if step.before.tasks.get(id) != step.after.tasks.get(id) && after <= before =>
        {
            vec![(vec![id.clone()], format!("from {before} to {after}"))]
        }
        _ => Violations::new(),
    }
}

/// An execution keeps the module it began with, unless it is migrated while no worker holds it and
/// its journal is the one that the other module replayed.
pub(super) fn module_is_pinned(step: &CheckedStep<'_>) -> Violations {
    each(&step.before.tasks, |id, before| {
        let after = step.after.tasks.get(id).filter(|after| after.module != before.module)?;
        let moved = matches!(
            step.command,
            Command::TaskMigrate { id: named, module, records }
                if named == id
                    && after.module == Some(*module)
                    && !matches!(before.status(), TaskStatus::Acquired | TaskStatus::Fulfilled)
                    && step.before.journals.get(id).map_or(0, |journal| journal.head.len) == *records
        );
        unless(moved, || format!("it was on {:?} and is on {:?}", before.module, after.module))
    })
}

/// True if this command created the task and acted under its first claim, which may have ended
/// already.
fn has_begun(command: &Command, made: &Task) -> bool {
    let begins = matches!(command, Command::TaskBegin { new, .. } if new.id == made.id);
    begins && (made.fulfilled_by.is_some() || made.state == TaskState::Suspended)
}

/// True if an execution of an object does not have the turn, or if it waits behind a limit.
fn waits_to_begin(rows: &Snapshot, id: &PromiseId) -> bool {
    if rows.places.get(id).is_some_and(|place| place.state == LimitPositionState::Waiting) {
        return true;
    }
    rows.promises
        .get(id)
        .and_then(turn_in)
        .is_some_and(|object| rows.lines.get(&object).is_none_or(|line| !line.is_held_by(id)))
}

fn expected_rise(before: Option<&TaskState>, after: &TaskState, rule: VersionRule) -> u64 {
    let handed_back = u64::from(rule == VersionRule::EveryHandover);
    match (before, after) {
        (Some(TaskState::Acquired { .. }), TaskState::Acquired { .. }) => 0,
        (_, TaskState::Acquired { .. }) => 1,
        (Some(TaskState::Acquired { .. }), TaskState::Pending { .. }) => handed_back,
        (Some(TaskState::Acquired { .. }), TaskState::Halted { reason: HaltReason::Lost }) => {
            handed_back
        }
        _ => 0,
    }
}

fn is_limited(step: &CheckedStep<'_>, id: &PromiseId) -> bool {
    step.before.places.contains_key(id)
}

fn needs_turn(step: &CheckedStep<'_>, id: &PromiseId) -> bool {
    step.before.promises.get(id).and_then(turn_in).is_some()
}
