//! Heartbeats: a holder extends all its claims in one command.

use super::draft::Draft;
use crate::{
    command::HeartbeatItem,
    effect::Metric,
    id::Holder,
    promise::{CancelState, Lease, Progress, Task, TaskState},
    reply::{Beat, Conflict, Refusal, Reply},
};

pub(super) fn extend(
    draft: &mut Draft<'_>,
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
        draft.count(match beat {
            Beat::Extended { .. } => Metric::HeartbeatExtended,
            Beat::Stale => Metric::HeartbeatStale,
            Beat::Stalled => Metric::HeartbeatStalled,
        });
        beats.push(beat);
    }
    Ok(Reply::Heartbeat(beats))
}

impl Draft<'_> {
    fn beat(&mut self, holder: &Holder, item: &HeartbeatItem) -> Beat {
        let Some(task) = self.task(&item.claim.id) else { return Beat::Stale };
        let TaskState::Acquired { lease } = &task.state else { return Beat::Stale };
        if task.version != item.claim.version || lease.holder != *holder {
            return Beat::Stale;
        }
        let progress = match &item.progress {
            Some((seq, payload)) if *seq > task.progress.seq => {
                let payload = payload.clone().or_else(|| task.progress.payload.clone());
                Progress { seq: *seq, at: self.now, payload }
            }
            _ => task.progress.clone(),
        };
        let until = lease.extended_until(&progress, task.stall_limit, self.now);
        if until <= self.now {
            return Beat::Stalled;
        }
        let cancel = task.cancel == CancelState::Requested;
        let lease = Lease { until, ..lease.clone() };
        let last_heartbeat = Some(self.now);
        let task =
            Task { state: TaskState::Acquired { lease }, progress, last_heartbeat, ..task.clone() };
        self.put_task(task);
        Beat::Extended { until, cancel }
    }
}
