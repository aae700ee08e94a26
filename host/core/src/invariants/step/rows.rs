//! Step invariants: rows that never disappear or change.

use super::CheckedStep;
use crate::{
    command::Command,
    id::{ObjectId, PromiseId},
    invariants::{Violations, each, unless},
    object::ObjectQueue,
    snapshot::Snapshot,
    tags,
    transition::turn_in,
};

/// Promises and tasks are deleted only by pruning, and only when settled.
pub(super) fn rows_are_not_lost(step: &CheckedStep<'_>) -> Violations {
    let lost = step.before.promises.keys().filter(|id| !step.after.promises.contains_key(id));
    let lost = lost.chain(step.before.tasks.keys().filter(|id| !step.after.tasks.contains_key(id)));
    let lost = lost.filter(|id| !is_pruned(step, id));
    lost.map(|id| (vec![id.clone()], "its row is gone".to_owned())).collect()
}

/// The state of an object is empty once its run is removed, so the next run starts fresh, unless a
/// pending execution may still write it.
pub(super) fn a_run_leaves_nothing(step: &CheckedStep<'_>) -> Violations {
    let mut found = Violations::new();
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

/// An execution attached to a killed one creates no further executions.
pub(super) fn nothing_is_born_in_a_killed_tree(step: &CheckedStep<'_>) -> Violations {
    each(&step.after.promises, |id, promise| {
        let maker = step.after.promises.get(promise.spec.made_by.as_ref()?)?;
        let is_new = !step.before.promises.contains_key(id) && promise.target().is_some();
        let killed = step.after.tree_counts.get(&maker.scope()).is_some_and(|count| count.killed);
        unless(!is_new || !killed, || format!("made below `{}`", maker.scope()))
    })
}

/// A settled promise never changes.
pub(super) fn settled_record_never_changes(step: &CheckedStep<'_>) -> Violations {
    each(&step.before.promises, |id, before| {
        let same = before.is_pending()
            || step.after.promises.get(id) == Some(before)
            || is_pruned(step, id);
        unless(same, || "its settlement changed".to_owned())
    })
}

/// The creation parameters of a promise never change.
pub(super) fn birth_never_changes(step: &CheckedStep<'_>) -> Violations {
    each(&step.before.promises, |id, before| {
        let same = step.after.promises.get(id).is_none_or(|after| after.spec == before.spec);
        unless(same, || "its birth changed".to_owned())
    })
}

/// True if the step removed this promise and was allowed to.
pub(super) fn is_pruned(step: &CheckedStep<'_>, id: &PromiseId) -> bool {
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

/// True if the step may have removed all content of an object: with its run, with the last of its
/// executions, or on behalf of an operator.
pub(super) fn was_emptied(step: &CheckedStep<'_>, object: &ObjectId) -> bool {
    let of = |rows: &Snapshot| rows.lines.get(object).cloned();
    match step.command {
        Command::Prune { state, .. } => {
            let (before, after) = (of(step.before), of(step.after));
            let run = |line: &Option<ObjectQueue>| line.as_ref().and_then(|line| line.run.clone());
            (run(&before).is_some() && run(&after).is_none())
                || (*state && before.is_some() && after.is_none())
        }
        Command::ObjectWrite { object: named, write } => named == object && write.leaves_nothing(),
        _ => false,
    }
}
