//! Hints: the effects of a commit, reported to the host after the commit. A lost hint loses no
//! work.

use std::{collections::BTreeSet, time::Duration};

use segno_core::{delta::Delta, effect::Effect, id::PromiseId, promise::TaskStatus, view::View};

/// Receives the hints of committed commands, in commit order. Losing them loses no work.
pub trait Hints: Send + Sync + 'static {
    /// Called by the writer after the commit: must not block. `state` has the rows of the commit
    /// that are still in memory.
    fn committed(&self, effects: &[Effect], state: &View);

    /// Called when other hosts of the same store may have left tasks ready for a worker.
    fn work_elsewhere(&self) {}

    /// The promises that this host waits for: a store shared with other hosts polls for them.
    fn watched(&self) -> Vec<PromiseId> {
        Vec::new()
    }

    /// Called with the effects that other hosts of the same store committed, as far as this host
    /// was notified.
    fn heard(&self, effects: &[Effect]) {
        self.committed(effects, &View::default());
    }

    /// True if the host wants the ids of the promises that commits change. Queried once per commit,
    /// so that nothing is collected without a consumer.
    fn watches_changes(&self) -> bool {
        false
    }

    /// Called by the writer after the commit with the promises whose rows it wrote or removed, if
    /// [`Hints::watches_changes`] returned true: must not block.
    fn changed(&self, _ids: &BTreeSet<PromiseId>) {}

    /// Called by the writer after the commit, with its measurements.
    fn measured(&self, _commit: &CommitMetrics) {}
}

/// Measurements of a commit.
#[derive(Debug, Clone, Copy)]
pub struct CommitMetrics {
    /// Number of commands.
    pub commands: usize,
    /// Time from the first decision to the database's answer.
    pub took: Duration,
    /// Number of submissions waiting when the commit began.
    pub waiting: usize,
}

/// The promises that a commit changes; collected only while the host watches changes.
#[derive(Debug, Default)]
pub(super) struct CommitChanges {
    watched: bool,
    ids: BTreeSet<PromiseId>,
}

impl CommitChanges {
    /// An empty set, which collects ids only if `hints` watches changes.
    pub(super) fn watched_by(hints: &dyn Hints) -> Self {
        Self { watched: hints.watches_changes(), ids: BTreeSet::new() }
    }

    /// Adds the promises of a delta: those whose rows, tasks, journals, logs or graphs it changes.
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

    /// Adds promises by id.
    pub(super) fn add_ids<'a>(&mut self, ids: impl Iterator<Item = &'a PromiseId>) {
        if self.watched {
            self.ids.extend(ids.cloned());
        }
    }

    /// Reports the changed promises, after the commit.
    pub(super) fn tell(&self, hints: &dyn Hints) {
        if !self.ids.is_empty() {
            hints.changed(&self.ids);
        }
    }
}

/// Drops `Ready` hints for tasks that a later command of the same commit already claimed.
pub(super) fn drop_stale(effects: &mut Vec<Effect>, state: &View) {
    effects.retain(|effect| match effect {
        Effect::Ready { id, version, .. } => state
            .task(id)
            .is_none_or(|task| task.version == *version && task.status() == TaskStatus::Pending),
        Effect::Settled { .. }
        | Effect::TimerChanged { .. }
        | Effect::Interrupt(_)
        | Effect::Outbox(_)
        | Effect::StreamChanged(_)
        | Effect::Wanted(_)
        | Effect::CancelRequested { .. }
        | Effect::Unread { .. }
        | Effect::Skipped { .. }
        | Effect::OccurrenceFailed { .. }
        | Effect::Count(_) => true,
    });
}
