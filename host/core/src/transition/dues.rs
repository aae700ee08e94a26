//! Actions of the engine when a row is due. Each command checks the row again, so early, late and
//! repeated commands are harmless.

use super::draft::DecisionDraft;
use crate::{
    effect::{Metric, RequeueCause},
    id::PromiseId,
    promise::{Task, TaskState},
    reply::{Refusal, Reply},
};

pub(super) fn promise(draft: &mut DecisionDraft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    Ok(Reply::Done)
}

pub(super) fn lease(draft: &mut DecisionDraft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    let expired = draft
        .task(id)
        .filter(|task| task.lease().is_some_and(|lease| lease.until <= draft.now))
        .cloned();
    if let Some(task) = expired {
        draft.count(Metric::LeaseExpired);
        draft.lost(task, RequeueCause::Expiry);
    }
    Ok(Reply::Done)
}

pub(super) fn retry(draft: &mut DecisionDraft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    let due = draft.task(id).filter(|task| match &task.state {
        TaskState::Pending { retry_at, .. } => *retry_at <= draft.now,
        TaskState::Acquired { .. }
        | TaskState::Suspended
        | TaskState::Halted { .. }
        | TaskState::Fulfilled => false,
    });
    if let Some(task) = due.cloned()
        && let TaskState::Pending { since, offered, .. } = task.state
    {
        // A wait for the next attempt or for the start time is not a wait for a worker.
        let since = if offered { since } else { draft.now };
        let (retry_at, offered) = draft.offer(id, since);
        draft.put_task(Task { state: TaskState::Pending { since, retry_at, offered }, ..task });
        draft.execute(id);
    }
    Ok(Reply::Done)
}
