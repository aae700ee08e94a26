//! Step invariants of journals, sagas and graph runs.

use super::{CheckedStep, rows::is_pruned};
use crate::{
    command::Command,
    id::PromiseId,
    invariants::{Violations, each, unless},
    promise::TaskStatus,
};

/// Journals only grow.
pub(super) fn records_are_never_rewritten(step: &CheckedStep<'_>) -> Violations {
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

/// Facts of sagas are append-only. They are removed with their invocation.
pub(super) fn facts_are_never_rewritten(step: &CheckedStep<'_>) -> Violations {
    let changed = (step.before.facts.iter())
        .filter(|(key, fact)| step.after.facts.get(*key) != Some(fact))
        .filter(|((invocation, _), _)| !is_pruned(step, invocation));
    changed
        .map(|((invocation, key), _)| (vec![invocation.clone()], format!("{key:?} changed")))
        .collect()
}

/// A node that has ended does not change, and attempt numbers never decrease.
pub(super) fn graph_nodes_move_forward(step: &CheckedStep<'_>) -> Violations {
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

/// The history of a run is append-only. It is removed with the run.
pub(super) fn graph_history_is_never_rewritten(step: &CheckedStep<'_>) -> Violations {
    let changed = (step.before.graph_facts.iter())
        .filter(|(key, fact)| step.after.graph_facts.get(*key) != Some(fact))
        .filter(|((run, ..), _)| !is_pruned(step, run));
    changed.map(|((run, node, ..), _)| (vec![run.clone()], format!("`{node}` changed"))).collect()
}

/// True if the command removes the whole journal of an ended execution, and the task is marked
/// accordingly.
pub(super) fn journal_goes(step: &CheckedStep<'_>, id: &PromiseId) -> bool {
    let had_ended =
        step.before.tasks.get(id).is_some_and(|task| task.status() == TaskStatus::Fulfilled);
    matches!(step.command, Command::JournalRemove { id: named } if named == id)
        && had_ended
        && !step.after.journals.contains_key(id)
        && step.after.tasks.get(id).is_some_and(|task| task.journal_removed().is_some())
}
