//! Commands on all claims of an external worker. A worker extends all its claims in one heartbeat,
//! and the claims of one that appears to be gone are offered to others before the leases expire.

use super::draft::DecisionDraft;
use crate::{
    effect::{Metric, RequeueCause},
    id::Holder,
    promise::{Lease, Task, TaskState},
    reply::{HeartbeatResult, Refusal, Reply},
    time::Timestamp,
};

pub(super) fn heartbeat(draft: &mut DecisionDraft<'_>, holder: &Holder) -> Result<Reply, Refusal> {
    let mut beats = Vec::new();
    for task in draft.held_by(holder) {
        let TaskState::Acquired { lease } = &task.state else { continue };
        let until = lease.extended_until(&task.progress, task.stall_limit, draft.now);
        if until <= draft.now {
            draft.count(Metric::HeartbeatStalled);
            beats.push(HeartbeatResult::Stalled);
            continue;
        }
        let lease = Lease { until, ..lease.clone() };
        let last_heartbeat = Some(draft.now);
        draft.put_task(Task { state: TaskState::Acquired { lease }, last_heartbeat, ..task });
        draft.count(Metric::HeartbeatExtended);
        beats.push(HeartbeatResult::Extended { until, cancel: false });
    }
    Ok(Reply::Heartbeat(beats))
}

pub(super) fn gone(
    draft: &mut DecisionDraft<'_>,
    holder: &Holder,
    unheard_since: Timestamp,
) -> Result<Reply, Refusal> {
    for task in draft.held_by(holder) {
        if task.last_heartbeat.unwrap_or(task.progress.at) < unheard_since {
            draft.lost(task, RequeueCause::WorkerGone);
        }
    }
    Ok(Reply::Done)
}

impl DecisionDraft<'_> {
    /// The tasks claimed by a holder, by id. Excludes those past their deadline, which their own
    /// timer ends.
    fn held_by(&self, holder: &Holder) -> Vec<Task> {
        let held = |task: &&Task| task.lease().is_some_and(|lease| lease.holder == *holder);
        let alive = |task: &&Task| {
            let promise = self.promise(&task.id);
            promise.is_some_and(|promise| promise.is_pending() && !promise.is_overdue(self.now))
        };
        self.view.tasks().filter(held).filter(alive).cloned().collect()
    }
}
