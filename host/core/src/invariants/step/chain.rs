//! Invariants of settlements and their consequences.

use std::collections::BTreeSet;

use super::CheckedStep;
use crate::{
    command::{Command, FenceOperation},
    footprint::footprint,
    graph,
    id::{CommandIndex, PromiseId, ScheduleId},
    invariants::{Violations, each, unless},
    invocation::open_callees,
    limit::LimitPositionState,
    promise::{NewPromise, OutboxKey, Promise, Schedule, Task, TaskState, TaskStatus},
    snapshot::Snapshot,
    tags,
    time::Timestamp,
};

/// A step settles only promises that its command names, and those of generations that settle with
/// them. The settlement chain never spreads to other promises.
pub(super) fn linear_chain(step: &CheckedStep<'_>) -> Violations {
    let named = footprint(step.command).composites;
    // The last promise that the schedule created, and its occurrences.
    let occurred =
        |schedule: &ScheduleId, at: &dyn Fn(&Schedule) -> Vec<Timestamp>, id: &PromiseId| {
            step.before.schedules.get(schedule).is_some_and(|schedule| {
                let mut made = at(schedule).into_iter().map(|at| schedule.promise_at(at));
                schedule.last_id.as_ref() == Some(id) || made.any(|made| made == *id)
            })
        };
    // The newest generation of an invocation.
    let newest = |invocation: &PromiseId| {
        let promise = step.before.promises.get(invocation);
        let first = promise.and_then(|promise| tags::continues(&promise.spec.tags));
        let first = first.map_or_else(|| invocation.clone(), PromiseId::from);
        step.before.tasks.get(&first).and_then(Task::newest).unwrap_or(first)
    };
    // One of the next signals of an invocation.
    let is_signal = |id: &PromiseId, invocation: &PromiseId, name: &str, most: u32| {
        let invocation = &newest(invocation);
        if step.before.promises.get(invocation).is_some_and(graph::is_run) {
            return *id == invocation.run_signal(name);
        }
        let task = step.before.tasks.get(invocation);
        task.is_some_and(|task| {
            (task.signals..task.signals + most).any(|n| *id == invocation.signal(n))
        })
    };
    each(&step.after.promises, |id, after| {
        let settled_now =
            !after.is_pending() && step.before.promises.get(id).is_none_or(Promise::is_pending);
        let allowed = || match step.command {
            Command::Signal { invocation, name, .. }
            | Command::SignalStart { new: NewPromise { id: invocation, .. }, name, .. } => {
                is_signal(id, invocation, name, 1)
            }
            Command::TaskFence { actions, .. } => {
                let signals = (1..).zip(actions.iter().filter_map(|action| match &action.act {
                    FenceOperation::Signal { invocation, name, .. } => Some((invocation, name)),
                    _ => None,
                }));
                signals.into_iter().any(|(most, (to, name))| is_signal(id, to, name, most))
            }
            Command::Update { invocation, .. } => {
                let invocation = newest(invocation);
                let task = step.before.tasks.get(&invocation);
                task.is_some_and(|task| *id == invocation.signal(task.signals))
            }
            Command::OutboxDue { key: OutboxKey::CancelChildren(parent) } => {
                let first = tags::continues(&after.spec.tags).map(PromiseId::from);
                let first = first.and_then(|first| step.before.promises.get(&first));
                // For a child that has handed over, its newest generation counts.
                let of_killed = step.before.promises.get(parent).filter(|it| it.ends_callees());
                let journal = of_killed.and_then(|_| step.before.journals.get(parent));
                let mut callees = journal.map(|it| open_callees(&it.records)).into_iter().flatten();
                callees.any(|callee| newest(&callee) == *id)
                    || after.attached_to() == Some(parent)
                    || first.is_some_and(|first| first.attached_to() == Some(parent))
            }
            Command::Cancel { invocation } | Command::Kill { invocation } => {
                newest(invocation) == *id
            }
            Command::PromiseSettle { id: named, .. } => {
                named.named_by().any(|(owner, name)| newest(&owner).named(name) == *id)
            }
            // Promises that are handed over are below the next generation.
            Command::TaskHandOver { .. } => {
                id.as_str().contains("/g/") || is_handed_on(step.before, id)
            }
            Command::ScheduleDue { id: schedule } => {
                occurred(schedule, &|schedule| vec![schedule.next_at], id)
            }
            Command::ScheduleTrigger { id: schedule, at } => occurred(schedule, &|_| vec![*at], id),
            Command::ScheduleBackfill { id: schedule, from, to } => {
                occurred(schedule, &|schedule| schedule.backfill_page(*from, *to).0, id)
            }
            _ => false,
        };
        // Settled on behalf of another generation.
        let took_place = step.after.promises.values().any(|promise| {
            tags::continues(&promise.spec.tags) == Some(id.as_str())
                && promise.settlement() == after.settlement()
        });
        // Displaced, in a partition that admits one execution at a time or keeps only the latest.
        let gave_way = step.before.partitions.values().any(|row| row.latest.as_ref() == Some(id));
        unless(!settled_now || named.contains(id) || gave_way || took_place || allowed(), || {
            format!("settled by {}, which does not name it", step.command.name())
        })
    })
}

/// True if the promise is the answer of an update that is handed over: the next generation creates
/// a new one.
fn is_handed_on(before: &Snapshot, id: &PromiseId) -> bool {
    before.promises.get(id).is_some_and(|promise| tags::continues(&promise.spec.tags).is_some())
}

/// A suspended task resumes only because an awaited promise settled, or because the task was
/// admitted, migrated or asked to stop.
pub(super) fn wake_has_a_cause(step: &CheckedStep<'_>) -> Violations {
    each(&step.after.tasks, |id, after| {
        let before = step.before.tasks.get(id)?;
        if (before.status(), after.status()) != (TaskStatus::Suspended, TaskStatus::Pending) {
            return None;
        }
        let consumed_now = step.after.callbacks.iter().any(|((on, by), consumed)| {
            let settled_now = step.before.promises.get(on).is_none_or(Promise::is_pending)
                && step.after.promises.get(on).is_some_and(|promise| !promise.is_pending());
            by == id && *consumed && settled_now
        });
        let asked_to_stop = before.cancel != after.cancel && may_cancel(step.command);
        let replaced = before.cancel != after.cancel
            && step.before.partitions.values().any(|row| row.latest.as_ref() == Some(id));
        let admitted = [step.before, step.after].map(|rows| rows.places.get(id).map(|it| it.state))
            == [Some(LimitPositionState::Waiting), Some(LimitPositionState::Admitted)];
        let mended = matches!(step.command, Command::Reconcile { .. });
        let moved = before.module != after.module;
        unless(consumed_now || asked_to_stop || replaced || admitted || mended || moved, || {
            format!("woken by {}", step.command.name())
        })
    })
}

/// The only change to a task whose promise is past its deadline is that the promise settles. Its
/// lease does not expire, and it is not offered, acquired, halted or extended. An awaited promise
/// may resume it, but then it is not offered.
pub(super) fn overdue_only_settles(step: &CheckedStep<'_>) -> Violations {
    each(&step.before.tasks, |id, before| {
        let overdue = step.before.promises.get(id)?.is_overdue(step.now);
        let open = step.after.promises.get(id)?.is_pending();
        let after = step.after.tasks.get(id)?;
        let woken = before.status() == TaskStatus::Suspended
            && matches!(after.state, TaskState::Pending { offered: false, .. });
        unless(!overdue || !open || before == after || woken, || {
            format!("past its deadline, {before:?} became {after:?}")
        })
    })
}

/// Each new unblock message replaces exactly one listener, and no listener disappears without a
/// message.
pub(super) fn unblock_discharges_a_listener(step: &CheckedStep<'_>) -> Violations {
    let owed = |rows: &Snapshot| -> BTreeSet<(PromiseId, crate::value::Text)> {
        let unblocks = rows.outbox.keys().filter_map(|key| match key {
            OutboxKey::Unblock(id, address) => Some((id.clone(), address.clone())),
            OutboxKey::Execute(_)
            | OutboxKey::Event(..)
            | OutboxKey::CancelChildren(_)
            | OutboxKey::LeaveLimit(..) => None,
        });
        unblocks.collect()
    };
    let new: BTreeSet<_> = owed(step.after).difference(&owed(step.before)).cloned().collect();
    let gone: BTreeSet<_> =
        step.before.listeners.difference(&step.after.listeners).cloned().collect();
    let unmatched = new.symmetric_difference(&gone);
    unmatched
        .map(|(id, address)| (vec![id.clone()], format!("listener and message of `{address}`")))
        .collect()
}

/// An event becomes pending in the step that records the command which published it, and in no
/// later step. So an acknowledged event is never sent again.
pub(super) fn event_is_owed_with_its_record(step: &CheckedStep<'_>) -> Violations {
    let recorded = |rows: &Snapshot, id: &PromiseId, index: CommandIndex| {
        rows.journals.get(id).is_some_and(|journal| index.0 < journal.head.commands)
    };
    let again = step.after.outbox.keys().filter_map(|key| match key {
        OutboxKey::Event(id, index) if !step.before.outbox.contains_key(key) => {
            let now = recorded(step.after, id, *index) && !recorded(step.before, id, *index);
            (!now).then(|| (vec![id.clone()], format!("the event of command {index} is owed anew")))
        }
        _ => None,
    });
    again.collect()
}

fn may_cancel(command: &Command) -> bool {
    match command {
        Command::Cancel { .. } | Command::OutboxDue { key: OutboxKey::CancelChildren(_) } => true,
        Command::TaskFence { actions, .. } => actions.iter().any(|action| {
            matches!(action.act, FenceOperation::Cancel { .. } | FenceOperation::CancelLoose { .. })
        }),
        _ => false,
    }
}
