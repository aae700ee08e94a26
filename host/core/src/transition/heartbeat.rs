//! Heartbeats: a holder extends all its claims in one command.

use super::draft::DecisionDraft;
use crate::{
    command::HeartbeatItem,
    effect::Metric,
    id::Holder,
    promise::{CancelState, ClaimProgress, Lease, Task, TaskState},
    reply::{Conflict, HeartbeatResult, Refusal, Reply},
};

pub(super) fn extend(
    draft: &mut DecisionDraft<'_>,
    holder: &Holder,
    items: &[HeartbeatItem],
) -> Result<Reply, Refusal> {
    // Incarnation 0 belongs to external workers.
    let current = draft.view.incarnation(&holder.node);
    if (1..current).contains(&holder.incarnation) {
        let (node, given) = (holder.node.clone(), holder.incarnation);
        return Err(Conflict::Superseded { node, given, current }.into());
    }
    let mut beats = Vec::with_capacity(items.len());
    for item in items {
        draft.touch(&item.claim.id);
        let beat = draft.beat(holder, item);
        match beat {
            HeartbeatResult::Extended { .. } => draft.count(Metric::HeartbeatExtended),
            HeartbeatResult::Stale => draft.count(Metric::HeartbeatStale),
            HeartbeatResult::Stalled => draft.count(Metric::HeartbeatStalled),
            // Only a store of several databases answers so.
            HeartbeatResult::Unanswered => {}
        }
        beats.push(beat);
    }
    Ok(Reply::Heartbeat(beats))
}

impl DecisionDraft<'_> {
    fn beat(&mut self, holder: &Holder, item: &HeartbeatItem) -> HeartbeatResult {
        let Some(task) = self.task(&item.claim.id) else { return HeartbeatResult::Stale };
        let TaskState::Acquired { lease } = &task.state else { return HeartbeatResult::Stale };
        if task.version != item.claim.version || lease.holder != *holder {
            return HeartbeatResult::Stale;
        }
        let progress = match &item.progress {
            Some((seq, payload)) if *seq > task.progress.seq => {
                let payload = payload.clone().or_else(|| task.progress.payload.clone());
                ClaimProgress { seq: *seq, at: self.now, payload }
            }
            _ => task.progress.clone(),
        };
        let until = lease.extended_until(&progress, task.stall_limit, self.now);
        if until <= self.now {
            return HeartbeatResult::Stalled;
        }
        let cancel = task.cancel == CancelState::Requested;
        let lease = Lease { until, ..lease.clone() };
        let last_heartbeat = Some(self.now);
        let task =
            Task { state: TaskState::Acquired { lease }, progress, last_heartbeat, ..task.clone() };
        self.put_task(task);
        HeartbeatResult::Extended { until, cancel }
    }
}
