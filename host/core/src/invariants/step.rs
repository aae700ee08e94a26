//! What is true of every step: the rows before a command and after it.

use std::collections::BTreeSet;

use super::{Found, each, limits, unless};
use crate::{
    command::{Command, FenceAct},
    config::{Config, VersionRule},
    footprint::footprint,
    graph,
    id::{CommandIndex, ObjectId, PromiseId, ScheduleId},
    limit::PlaceState,
    object::Line,
    promise::{HaltReason, OutboxKey, Promise, Schedule, Task, TaskState, TaskStatus},
    snapshot::Snapshot,
    tags,
    time::Timestamp,
    transition::turn_in,
};

/// A step: the rows before a command, and after it.
pub struct StepView<'a> {
    /// The rows before.
    pub before: &'a Snapshot,
    /// The command.
    pub command: &'a Command,
    /// The rows after.
    pub after: &'a Snapshot,
    /// When.
    pub now: Timestamp,
    /// The settings it was decided with.
    pub config: &'a Config,
}

/// A predicate over a step.
pub type StepPredicate = (&'static str, fn(&StepView<'_>) -> Found);

/// All predicates over a step.
pub const STEP_PREDICATES: &[StepPredicate] = &[
    ("rows_are_not_lost", rows_are_not_lost),
    ("settled_record_never_changes", settled_record_never_changes),
    ("birth_never_changes", birth_never_changes),
    (
        "version_rises_only_when_a_claim_changes_hands",
        version_rises_only_when_a_claim_changes_hands,
    ),
    ("first_version_is_above_what_is_gone", first_version_is_above_what_is_gone),
    ("lease_changes_only_with_its_claim", lease_changes_only_with_its_claim),
    ("only_admitted_edges", only_admitted_edges),
    ("linear_chain", linear_chain),
    ("wake_has_a_cause", wake_has_a_cause),
    ("fulfilled_task_never_changes", fulfilled_task_never_changes),
    ("module_is_pinned", module_is_pinned),
    ("overdue_only_settles", overdue_only_settles),
    ("unblock_discharges_a_listener", unblock_discharges_a_listener),
    ("event_is_owed_with_its_record", event_is_owed_with_its_record),
    ("retry_moves_forward", retry_moves_forward),
    ("records_are_never_rewritten", records_are_never_rewritten),
    ("facts_are_never_rewritten", facts_are_never_rewritten),
    ("graph_nodes_move_forward", graph_nodes_move_forward),
    ("turns_go_in_order", turns_go_in_order),
    ("state_is_written_by_its_holder", state_is_written_by_its_holder),
    ("a_run_leaves_nothing", a_run_leaves_nothing),
    ("admissions_are_within_bounds", limits::admissions_are_within_bounds),
    ("admissions_go_in_order", limits::admissions_go_in_order),
    ("tokens_strictly_rise", tokens_strictly_rise),
    ("schedules_go_only_when_deleted", schedules_go_only_when_deleted),
    ("schedules_move_forward", schedules_move_forward),
];

/// Promises and tasks are deleted by pruning only, and only settled ones.
fn rows_are_not_lost(step: &StepView<'_>) -> Found {
    let lost = step.before.promises.keys().filter(|id| !step.after.promises.contains_key(id));
    let lost = lost.chain(step.before.tasks.keys().filter(|id| !step.after.tasks.contains_key(id)));
    let lost = lost.filter(|id| !is_pruned(step, id));
    lost.map(|id| (vec![id.clone()], "its row is gone".to_owned())).collect()
}

/// Whether this promise was removed, and may have been.
fn is_pruned(step: &StepView<'_>, id: &PromiseId) -> bool {
    let Some(promise) = step.before.promises.get(id) else { return false };
    let is_gone = !step.after.promises.contains_key(id);
    if let Some(object) = tags::object(&promise.spec.tags) {
        let is_named = matches!(step.command, Command::Prune { top, part: true, .. } if top == id);
        return is_gone && (is_named || was_emptied(step, &ObjectId::from(object)));
    }
    let Command::Prune { before, .. } = step.command else { return false };
    let settled = promise.settlement();
    is_gone && settled.is_some_and(|settlement| settlement.settled_at <= *before)
}

/// Whether all that an object holds may have gone: with its run, with the last of its executions, or
/// because an operator says so.
fn was_emptied(step: &StepView<'_>, object: &ObjectId) -> bool {
    let of = |rows: &Snapshot| rows.lines.get(object).cloned();
    match step.command {
        Command::Prune { state, .. } => {
            let (before, after) = (of(step.before), of(step.after));
            let run = |line: &Option<Line>| line.as_ref().and_then(|line| line.run.clone());
            (run(&before).is_some() && run(&after).is_none())
                || (*state && before.is_some() && after.is_none())
        }
        Command::ObjectWrite { object: named, write } => named == object && write.leaves_nothing(),
        _ => false,
    }
}

/// Nothing of what an object held is there when its run is gone: the next run begins with nothing.
/// Unless there is one that may still write it.
fn a_run_leaves_nothing(step: &StepView<'_>) -> Found {
    let mut found = Found::new();
    for (object, before) in &step.before.lines {
        let Some(run) = &before.run else { continue };
        let after = step.after.lines.get(object);
        let is_open = after.is_some_and(|line| {
            let tail = step.after.promises.get(&line.tail);
            tail.is_some_and(|tail| tail.is_pending() && turn_in(tail).as_ref() == Some(object))
        });
        if is_open || after.is_some_and(|line| line.run.as_ref() == Some(run)) {
            continue;
        }
        let state = step.after.state.keys().filter(|(of, _)| of == object).count();
        let promises = step.after.promises.values();
        let promises = promises
            .filter(|promise| tags::object(&promise.spec.tags) == Some(object.as_str()))
            .count();
        if state + promises > 0 {
            let detail = format!("`{object}` has {state} names and {promises} promises left");
            found.push((vec![run.clone()], detail));
        }
    }
    found
}

/// A settled promise stays as it is.
fn settled_record_never_changes(step: &StepView<'_>) -> Found {
    each(&step.before.promises, |id, before| {
        let same = before.is_pending()
            || step.after.promises.get(id) == Some(before)
            || is_pruned(step, id);
        unless(same, || "its settlement changed".to_owned())
    })
}

/// What a promise was made with stays as it is.
fn birth_never_changes(step: &StepView<'_>) -> Found {
    each(&step.before.promises, |id, before| {
        let same = step.after.promises.get(id).is_none_or(|after| after.spec == before.spec);
        unless(same, || "its birth changed".to_owned())
    })
}

/// The version rises by one where a claim is taken, lost or given back, and nowhere else.
fn version_rises_only_when_a_claim_changes_hands(step: &StepView<'_>) -> Found {
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

/// The version at which tasks are born never falls, and is above that of every task that goes with
/// a step.
fn first_version_is_above_what_is_gone(step: &StepView<'_>) -> Found {
    let first = step.after.first_version;
    let gone = step.before.tasks.iter().filter(|(id, _)| !step.after.tasks.contains_key(*id));
    let reached = gone.filter(|(_, task)| task.version >= first);
    let mut found: Found = reached
        .map(|(id, task)| {
            (vec![id.clone()], format!("gone at {:?}, {first:?} is born", task.version))
        })
        .collect();
    if first < step.before.first_version {
        found.push((Vec::new(), format!("from {:?} to {first:?}", step.before.first_version)));
    }
    found
}

/// Whether this command made the task and did something under the first claim on it, which may be
/// over already.
fn has_begun(command: &Command, made: &Task) -> bool {
    let begins = matches!(command, Command::TaskBegin { new, .. } if new.id == made.id);
    begins && (made.fulfilled_by.is_some() || made.state == TaskState::Suspended)
}

/// Whether an execution of an object is not the one that has the turn, or waits behind a limit.
fn waits_to_begin(rows: &Snapshot, id: &PromiseId) -> bool {
    if rows.places.get(id).is_some_and(|place| place.state == PlaceState::Waiting) {
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

/// Holder, nonce and length of a lease stay as they are while the claim lasts.
fn lease_changes_only_with_its_claim(step: &StepView<'_>) -> Found {
    each(&step.after.tasks, |id, after| {
        let (before, lease) = (step.before.tasks.get(id)?.lease()?, after.lease()?);
        let same =
            (&before.holder, before.nonce, before.ttl) == (&lease.holder, lease.nonce, lease.ttl);
        unless(same, || format!("{before:?} became {lease:?}"))
    })
}

/// Tasks move along admitted edges only.
fn only_admitted_edges(step: &StepView<'_>) -> Found {
    use TaskStatus::{Acquired, Fulfilled, Halted, Pending, Suspended};
    each(&step.after.tasks, |id, after| {
        let before = step.before.tasks.get(id).map(Task::status)?;
        let admitted: &[TaskStatus] = match before {
            // Back to suspended: it is another's turn, or there is no room.
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

fn is_limited(step: &StepView<'_>, id: &PromiseId) -> bool {
    step.before.places.contains_key(id)
}

fn needs_turn(step: &StepView<'_>, id: &PromiseId) -> bool {
    step.before.promises.get(id).and_then(turn_in).is_some()
}

/// What settles in a step is what its command names: the chain never goes on to others.
fn linear_chain(step: &StepView<'_>) -> Found {
    let named = footprint(step.command).composites;
    // What the schedule made last, and its occurrences.
    let occurred =
        |schedule: &ScheduleId, range: Option<(Timestamp, Timestamp)>, id: &PromiseId| {
            step.before.schedules.get(schedule).is_some_and(|schedule| {
                let occurrences = match range {
                    Some((from, to)) => schedule.backfill_page(from, to).0,
                    None => vec![schedule.next_at],
                };
                let mut made = occurrences.into_iter().map(|at| schedule.promise_at(at));
                schedule.last_id.as_ref() == Some(id) || made.any(|made| made == *id)
            })
        };
    // One of the next signals of an invocation.
    let is_signal = |id: &PromiseId, invocation: &PromiseId, name: &str, most: u32| {
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
            Command::Signal { invocation, name, .. } => is_signal(id, invocation, name, 1),
            Command::TaskFence { actions, .. } => {
                let signals = (1..).zip(actions.iter().filter_map(|action| match &action.act {
                    FenceAct::Signal { invocation, name, .. } => Some((invocation, name)),
                    _ => None,
                }));
                signals.into_iter().any(|(most, (to, name))| is_signal(id, to, name, most))
            }
            Command::Update { invocation, .. } => {
                let task = step.before.tasks.get(invocation);
                task.is_some_and(|task| *id == invocation.signal(task.signals))
            }
            Command::OutboxDue { key: OutboxKey::CancelChildren(parent) } => {
                after.attached_to() == Some(parent)
            }
            Command::ScheduleDue { id: schedule } => occurred(schedule, None, id),
            Command::ScheduleBackfill { id: schedule, from, to } => {
                occurred(schedule, Some((*from, *to)), id)
            }
            _ => false,
        };
        // Of a key that has one at a time, or only the last one of several.
        let gave_way = step.before.partitions.values().any(|row| row.latest.as_ref() == Some(id));
        unless(!settled_now || named.contains(id) || gave_way || allowed(), || {
            format!("settled by {}, which does not name it", step.command.name())
        })
    })
}

/// A suspended task goes on because a promise it waits for settled, because it was admitted, was
/// moved to other code, or was asked to stop.
fn wake_has_a_cause(step: &StepView<'_>) -> Found {
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
            == [Some(PlaceState::Waiting), Some(PlaceState::Admitted)];
        let mended = matches!(step.command, Command::Reconcile { .. });
        let moved = before.module != after.module;
        unless(consumed_now || asked_to_stop || replaced || admitted || mended || moved, || {
            format!("woken by {}", step.command.name())
        })
    })
}

/// Nothing happens to a task any more whose promise is settled.
fn fulfilled_task_never_changes(step: &StepView<'_>) -> Found {
    each(&step.before.tasks, |id, before| {
        let after = step.after.tasks.get(id)?;
        // But for the note that says that its journal is gone.
        let marked = journal_goes(step, id)
            && *before == Task { note: before.note.clone(), ..after.clone() };
        unless(before.status() != TaskStatus::Fulfilled || before == after || marked, || {
            format!("{before:?} became {after:?}")
        })
    })
}

/// All that still happens to a task whose promise is past its deadline is that the promise settles:
/// its lease does not run out, and it is not offered, taken, halted or heard of. What it waits for
/// may wake it, and then it is not offered.
fn overdue_only_settles(step: &StepView<'_>) -> Found {
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

fn may_cancel(command: &Command) -> bool {
    match command {
        Command::Cancel { .. } | Command::OutboxDue { key: OutboxKey::CancelChildren(_) } => true,
        Command::TaskFence { actions, .. } => actions.iter().any(|action| {
            matches!(action.act, FenceAct::Cancel { .. } | FenceAct::CancelLoose { .. })
        }),
        _ => false,
    }
}

/// A new message that a promise settled takes the place of exactly one listener, and no listener
/// goes without one.
fn unblock_discharges_a_listener(step: &StepView<'_>) -> Found {
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

/// An event is owed from the step on that records the command which published it, and by no later
/// one: so what was acknowledged stays so.
fn event_is_owed_with_its_record(step: &StepView<'_>) -> Found {
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

/// A task that is offered again by its timer gets a later one.
fn retry_moves_forward(step: &StepView<'_>) -> Found {
    let Command::RetryDue { id } = step.command else { return Found::new() };
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
        _ => Found::new(),
    }
}

/// Journals only grow.
fn records_are_never_rewritten(step: &StepView<'_>) -> Found {
    each(&step.before.journals, |id, before| {
        let grown = step
            .after
            .journals
            .get(id)
            .is_some_and(|after| after.records.starts_with(&before.records));
        let goes = grown || is_pruned(step, id) || journal_goes(step, id);
        unless(goes, || "its records changed".to_owned())
    })
}

/// Whether an execution that had ended loses its whole journal, and is marked so.
fn journal_goes(step: &StepView<'_>, id: &PromiseId) -> bool {
    let had_ended =
        step.before.tasks.get(id).is_some_and(|task| task.status() == TaskStatus::Fulfilled);
    matches!(step.command, Command::JournalRemove { id: named } if named == id)
        && had_ended
        && !step.after.journals.contains_key(id)
        && step.after.tasks.get(id).is_some_and(|task| task.journal_removed().is_some())
}

/// An execution runs the module it began with, unless it is moved while no worker holds it, with a
/// journal that is the one which the other module repeats.
fn module_is_pinned(step: &StepView<'_>) -> Found {
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

/// A schedule is there until a command deletes it.
fn schedules_go_only_when_deleted(step: &StepView<'_>) -> Found {
    let deleted = |id: &ScheduleId| matches!(step.command, Command::ScheduleDelete { id: named } if named == id);
    let lost = step
        .before
        .schedules
        .keys()
        .filter(|id| !step.after.schedules.contains_key(*id) && !deleted(id));
    lost.map(|id| (vec![PromiseId::new(id.as_str())], "its row is gone".to_owned())).collect()
}

/// A schedule keeps what it was made with, and its times and counts never go back, unless a clock
/// did.
fn schedules_move_forward(step: &StepView<'_>) -> Found {
    let found = step.before.schedules.iter().filter_map(|(id, before)| {
        let after = step.after.schedules.get(id)?;
        let spec =
            |row: &Schedule| (row.cron.clone(), row.template.clone(), row.overlap, row.created_at);
        let forward = before.next_at <= after.next_at
            && before.last_at <= after.last_at
            && before.skipped <= after.skipped;
        // A clock was set back: the occurrences that it had run ahead of come again.
        let forward =
            forward || (before.is_ahead(step.now) && *after == before.clone().come_back(step.now));
        let detail = unless(forward && spec(before) == spec(after), || {
            format!("{before:?} became {after:?}")
        })?;
        Some((vec![PromiseId::new(id.as_str())], detail))
    });
    found.collect()
}

/// Facts of sagas are only ever added, and go with the invocation that they are about.
fn facts_are_never_rewritten(step: &StepView<'_>) -> Found {
    let changed = (step.before.facts.iter())
        .filter(|(key, fact)| step.after.facts.get(*key) != Some(fact))
        .filter(|((invocation, _), _)| !is_pruned(step, invocation));
    changed
        .map(|((invocation, key), _)| (vec![invocation.clone()], format!("{key:?} changed")))
        .collect()
}

/// A node that has ended stays so, and its attempts only rise.
fn graph_nodes_move_forward(step: &StepView<'_>) -> Found {
    let wrong = step.before.graph_nodes.iter().filter(|((run, node), before)| {
        let after = step.after.graph_nodes.get(&(run.clone(), node.clone()));
        let forward = after.is_some_and(|after| {
            after == *before || (!before.state.is_terminal() && after.attempt >= before.attempt)
        });
        !forward && !is_pruned(step, run)
    });
    wrong
        .map(|((run, node), before)| (vec![run.clone()], format!("`{node}` was {before:?}")))
        .collect()
}

/// The turn of an object passes when its holder has settled, and to who was next.
fn turns_go_in_order(step: &StepView<'_>) -> Found {
    let mut found = Found::new();
    for (object, after) in &step.after.lines {
        let (Some(before), Some(holder)) = (step.before.lines.get(object), &after.holder) else {
            continue;
        };
        if before.is_held_by(holder) {
            continue;
        }
        let of_object = |rows: &Snapshot, id: &PromiseId| {
            rows.promises
                .get(id)
                .filter(|promise| turn_in(promise).as_ref() == Some(object))
                .cloned()
        };
        let pending = |id: &PromiseId| {
            of_object(step.before, id).is_some_and(|promise| promise.is_pending())
                && of_object(step.after, id).is_some_and(|promise| promise.is_pending())
        };
        let is_next = step.before.callbacks.iter().any(|((on, by), consumed)| {
            by == holder && *consumed && of_object(step.before, on).is_some()
        });
        if before.holder.as_ref().is_some_and(pending) || (pending(&before.tail) && !is_next) {
            let detail = format!("the turn of `{object}` went from {before:?} to {after:?}");
            found.push((vec![holder.clone()], detail));
        }
    }
    found
}

/// What an object holds is written by who has its turn, or by an operator while nobody has.
fn state_is_written_by_its_holder(step: &StepView<'_>) -> Found {
    let keys: BTreeSet<_> = step.before.state.keys().chain(step.after.state.keys()).collect();
    let changed =
        keys.into_iter().filter(|key| step.before.state.get(key) != step.after.state.get(key));
    let wrong = changed.filter(|(object, _)| {
        let holder = step.after.lines.get(object).and_then(|line| line.holder.as_ref());
        match step.command {
            Command::TaskFence { claim, .. } => holder != Some(&claim.id),
            Command::TaskBegin { new, .. } => holder != Some(&new.id),
            Command::ObjectWrite { object: named, .. } => {
                let has_turn = |id: &PromiseId| {
                    step.before.promises.get(id).is_some_and(|promise| {
                        promise.is_pending() && turn_in(promise).as_ref() == Some(object)
                    })
                };
                named != object || holder.is_some_and(has_turn)
            }
            Command::Prune { .. } => !was_emptied(step, object),
            _ => true,
        }
    });
    let named = |object: &ObjectId| vec![PromiseId::new(object.as_str())];
    wrong.map(|(object, name)| (named(object), format!("`{name}` changed"))).collect()
}

/// Whatever changes of a resource or its lease, its token rises.
fn tokens_strictly_rise(step: &StepView<'_>) -> Found {
    let written = step.before.resources.iter().filter(|(name, before)| {
        let after = step.after.resources.get(*name);
        after != Some(before) && after.is_none_or(|after| after.token <= before.token)
    });
    let leased = step.before.resource_leases.iter().filter(|(name, before)| {
        let after = step.after.resource_leases.get(*name);
        after != Some(before) && after.is_none_or(|after| after.token <= before.token)
    });
    let names = written.map(|(name, _)| name).chain(leased.map(|(name, _)| name));
    names
        .map(|name| {
            (
                vec![PromiseId::new(name.as_str())],
                "it changed and its token did not rise".to_owned(),
            )
        })
        .collect()
}
