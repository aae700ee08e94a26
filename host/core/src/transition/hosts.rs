//! Incarnations of hosts. A restarted host immediately releases the tasks of its earlier
//! incarnations; those of other hosts are left to their leases.

use super::draft::DecisionDraft;
use crate::{
    effect::RequeueCause,
    id::{HostName, PromiseId, fits},
    promise::Task,
    reply::{Refusal, Reply},
};

pub(super) fn start(draft: &mut DecisionDraft<'_>, node: &HostName) -> Result<Reply, Refusal> {
    if node.worker_pid().is_some() {
        return Err(Refusal::BadRequest(format!(
            "`{node}` is the name of a worker, not of a host"
        )));
    }
    fits("the name of the host", node.as_str())?;
    let incarnation = draft.view.incarnation(node).saturating_add(1);
    draft.delta.hosts.insert(node.clone(), incarnation);
    let held = draft.view.tasks().filter(|task| is_left_over(task, node, incarnation));
    let held = held.map(|task| task.id.clone()).collect();
    Ok(Reply::Host { incarnation, held })
}

pub(super) fn release(
    draft: &mut DecisionDraft<'_>,
    id: &PromiseId,
    node: &HostName,
    below: u64,
) -> Result<Reply, Refusal> {
    draft.touch(id);
    if let Some(task) = draft.task(id).filter(|task| is_left_over(task, node, below)).cloned() {
        draft.lost(task, RequeueCause::HostReset);
    }
    Ok(Reply::Done)
}

fn is_left_over(task: &Task, node: &HostName, below: u64) -> bool {
    task.lease().is_some_and(|lease| lease.holder.node == *node && lease.holder.incarnation < below)
}
