//! Hints: what a commit led to, told to the host after the commit. A lost hint loses no work.

use std::{collections::BTreeSet, time::Duration};

use segno_core::{delta::Delta, effect::Effect, id::PromiseId, promise::TaskStatus, view::View};

/// Takes the hints of committed commands, in the order of the commits. Losing them loses no work.
pub trait Hints: Send + Sync + 'static {
    /// Called after the commit, by the writer: must not block.
    fn committed(&self, effects: &[Effect]);

    /// Called when other hosts of the same store may have left tasks that wait for a worker.
    fn work_elsewhere(&self) {}

    /// The promises that this host waits for: a store with other hosts polls for them.
    fn watched(&self) -> Vec<PromiseId> {
        Vec::new()
    }

    /// Called with what other hosts of the same store committed, as far as this host was notified.
    fn heard(&self, effects: &[Effect]) {
        self.committed(effects);
    }

    /// Whether anyone wants to know which promises commits change: asked once for each commit, so
    /// that nothing is collected while nobody does.
    fn watches_changes(&self) -> bool {
        false
    }

    /// Called after the commit, by the writer, with the promises whose rows it wrote or removed, if
    /// [`Hints::watches_changes`] was true: must not block.
    fn changed(&self, _ids: &BTreeSet<PromiseId>) {}

    /// Called after the commit, by the writer, with its measurements.
    fn measured(&self, _commit: &Commit) {}
}

/// The measurements of a commit.
#[derive(Debug, Clone, Copy)]
pub struct Commit {
    /// The number of commands.
    pub commands: usize,
    /// From the decision of the first to the answer of the database.
    pub took: Duration,
    /// The number of submissions that waited when the commit began.
    pub waiting: usize,
}

/// The promises that a commit changes, as far as that is watched.
#[derive(Debug, Default)]
pub(super) struct Changes {
    watched: bool,
    ids: BTreeSet<PromiseId>,
}

impl Changes {
    /// None yet; none are collected unless `hints` watches.
    pub(super) fn watched_by(hints: &dyn Hints) -> Self {
        Self { watched: hints.watches_changes(), ids: BTreeSet::new() }
    }

    /// Adds those of a delta: promises with their tasks, journals, logs and graphs.
    pub(super) fn add(&mut self, delta: &Delta) {
        if !self.watched {
            return;
        }
        let appends = delta.appends.iter().map(|append| &append.invocation);
        let rows = delta.promises.keys().chain(delta.tasks.keys()).chain(&delta.removed);
        let records = appends.chain(delta.logs.iter().map(|(id, _)| id));
        let runs = delta.graph_nodes.keys().map(|(run, _)| run).chain(&delta.dropped_journals);
        self.ids.extend(rows.chain(records).chain(runs).cloned());
    }

    /// Adds these.
    pub(super) fn add_ids<'a>(&mut self, ids: impl Iterator<Item = &'a PromiseId>) {
        if self.watched {
            self.ids.extend(ids.cloned());
        }
    }

    /// Tells of them, after the commit.
    pub(super) fn tell(&self, hints: &dyn Hints) {
        if !self.ids.is_empty() {
            hints.changed(&self.ids);
        }
    }
}

/// Drops the hints at tasks that a later command of the same commit took already.
pub(super) fn drop_stale(effects: &mut Vec<Effect>, state: &View) {
    effects.retain(|effect| match effect {
        Effect::Ready { id, version, .. } => state
            .task(id)
            .is_none_or(|task| task.version == *version && task.status() == TaskStatus::Pending),
        Effect::Settled { .. }
        | Effect::TimerChanged { .. }
        | Effect::Interrupt(_)
        | Effect::Outbox(_)
        | Effect::Wanted(_)
        | Effect::CancelRequested { .. }
        | Effect::Unread { .. }
        | Effect::Skipped { .. }
        | Effect::OccurrenceFailed { .. }
        | Effect::Count(_) => true,
    });
}
