//! Invariants of the outbox.

use super::{Predicate, Violations};
use crate::{
    address::is_internal,
    promise::{OutboxKey, OutboxMessage, Promise, TaskState},
    snapshot::Snapshot,
};

pub(super) const PREDICATES: &[Predicate] = &[
    ("outbox_never_ahead", outbox_never_ahead),
    ("timer_not_dispatched", timer_not_dispatched),
    ("hosted_not_dispatched", hosted_not_dispatched),
    ("unblock_settled", unblock_settled),
    ("message_of_its_key", message_of_its_key),
];

/// An `Execute` message refers to a task that can be acquired, at a version that the task has
/// reached.
fn outbox_never_ahead(rows: &Snapshot) -> Violations {
    executions(rows, |task, promise, message| {
        let OutboxMessage::Execute { version } = message else { return None };
        let ok = task.is_some_and(|(state, current)| {
            matches!(state, TaskState::Pending { offered: true, .. }) && *version <= current
        });
        (!ok || promise.is_none())
            .then(|| format!("offered at version {version}, the task: {task:?}"))
    })
}

/// A timer is never executed.
fn timer_not_dispatched(rows: &Snapshot) -> Violations {
    executions(rows, |_, promise, _| {
        promise.is_some_and(Promise::is_timer).then(|| "a timer is offered".to_owned())
    })
}

/// Tasks that hosts execute have no message: hosts find them by their rows.
fn hosted_not_dispatched(rows: &Snapshot) -> Violations {
    executions(rows, |_, promise, _| {
        let target = promise.and_then(Promise::target)?;
        is_internal(target)
            .then(|| format!("a message is owed for `{target}`, which hosts execute themselves"))
    })
}

/// The promise of an unblock message is settled, and so is that of a message about cancelled
/// children or about leaving a limit.
fn unblock_settled(rows: &Snapshot) -> Violations {
    let early = rows.outbox.keys().filter_map(|key| match key {
        OutboxKey::Unblock(id, _) if rows.promises.get(id).is_none_or(Promise::is_pending) => {
            Some(id)
        }
        // Exception: children left behind by the first of several generations.
        OutboxKey::CancelChildren(id) if rows.tasks.get(id).is_some_and(|it| it.successors > 0) => {
            None
        }
        OutboxKey::CancelChildren(id) | OutboxKey::LeaveLimit(id, _)
            if rows.promises.get(id).is_none_or(Promise::is_pending) =>
        {
            Some(id)
        }
        _ => None,
    });
    early
        .map(|id| {
            (vec![id.clone()], "a message about its settlement, and it is not settled".to_owned())
        })
        .collect()
}

/// The kind of a message matches its key.
fn message_of_its_key(rows: &Snapshot) -> Violations {
    let wrong = rows.outbox.iter().filter(|(key, row)| {
        !matches!(
            (key, &row.message),
            (OutboxKey::Execute(_), OutboxMessage::Execute { .. })
                | (OutboxKey::Unblock(..), OutboxMessage::Unblock)
                | (OutboxKey::Event(..), OutboxMessage::Event { .. })
                | (OutboxKey::CancelChildren(_), OutboxMessage::CancelChildren { .. })
                | (OutboxKey::LeaveLimit(..), OutboxMessage::LeaveLimit { .. })
        )
    });
    wrong
        .map(|(key, row)| (vec![key.promise().clone()], format!("{key:?} holds {:?}", row.message)))
        .collect()
}

type VersionedTaskState<'a> = Option<(&'a TaskState, crate::id::Version)>;

fn executions(
    rows: &Snapshot,
    wrong: impl Fn(VersionedTaskState<'_>, Option<&Promise>, &OutboxMessage) -> Option<String>,
) -> Violations {
    let found = rows.outbox.iter().filter_map(|(key, row)| {
        let OutboxKey::Execute(id) = key else { return None };
        let task = rows.tasks.get(id).map(|task| (&task.state, task.version));
        Some((vec![id.clone()], wrong(task, rows.promises.get(id), &row.message)?))
    });
    found.collect()
}
