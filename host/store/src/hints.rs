//! Hints: what a commit led to, told to the host after the commit. A lost hint loses no work.

use std::time::Duration;

use segno_core::{effect::Effect, id::PromiseId, promise::TaskStatus, view::View};

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
        | Effect::Count(_) => true,
    });
}
