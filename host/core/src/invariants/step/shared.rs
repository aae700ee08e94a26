//! Step invariants of shared items: objects, resources, schedules.

use std::collections::BTreeSet;

use super::{CheckedStep, rows::was_emptied};
use crate::{
    command::Command,
    id::{ObjectId, PromiseId, ScheduleId},
    invariants::{Violations, unless},
    promise::Schedule,
    snapshot::Snapshot,
    transition::turn_in,
};

/// The turn of an object passes only when its holder has settled, and to the next in the queue.
pub(super) fn turns_go_in_order(step: &CheckedStep<'_>) -> Violations {
    let mut found = Violations::new();
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

/// The state of an object is written by the execution that has its turn, or by an operator while
/// none has it.
pub(super) fn state_is_written_by_its_holder(step: &CheckedStep<'_>) -> Violations {
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

/// Every change of a resource or of its lease raises its token.
pub(super) fn tokens_strictly_rise(step: &CheckedStep<'_>) -> Violations {
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

/// A schedule exists until a command deletes it.
pub(super) fn schedules_go_only_when_deleted(step: &CheckedStep<'_>) -> Violations {
    let deleted = |id: &ScheduleId| matches!(step.command, Command::ScheduleDelete { id: named } if named == id);
    let lost = step
        .before
        .schedules
        .keys()
        .filter(|id| !step.after.schedules.contains_key(*id) && !deleted(id));
    lost.map(|id| (vec![PromiseId::new(id.as_str())], "its row is gone".to_owned())).collect()
}

/// A schedule keeps its creation parameters. Its times and counts never go back, unless the clock
/// did.
pub(super) fn schedules_move_forward(step: &CheckedStep<'_>) -> Violations {
    let found = step.before.schedules.iter().filter_map(|(id, before)| {
        let after = step.after.schedules.get(id)?;
        let spec = |row: &Schedule| {
            let times = (row.cron.clone(), row.zone, row.jitter);
            (times, row.template.clone(), row.overlap, row.created_at)
        };
        let forward = before.next_at <= after.next_at
            && before.last_at <= after.last_at
            && before.skipped <= after.skipped;
        // The clock was set back: occurrences that lie in the future again are repeated.
        let forward =
            forward || (before.is_ahead(step.now) && *after == before.clone().come_back(step.now));
        let detail = unless(forward && spec(before) == spec(after), || {
            format!("{before:?} became {after:?}")
        })?;
        Some((vec![PromiseId::new(id.as_str())], detail))
    });
    found.collect()
}
