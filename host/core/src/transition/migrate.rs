//! Migration of an execution to another module. An execution keeps the module it began with;
//! another one takes over only while no worker holds the task, and only if it was verified to
//! replay the current journal.

use super::draft::{DecisionDraft, wrong_state};
use crate::{
    id::{Digest, PromiseId},
    promise::{Task, TaskState},
    reply::{Conflict, Refusal, Reply},
};

pub(super) fn migrate(
    draft: &mut DecisionDraft<'_>,
    id: &PromiseId,
    module: &Digest,
    records: u32,
) -> Result<Reply, Refusal> {
    draft.touch(id);
    let task = draft.movable_task(id)?;
    if task.module.is_none() {
        return Err(Refusal::Unprocessable(format!(
            "`{id}` runs on no module: what an external worker or a host itself does is not moved"
        )));
    }
    if !draft.view.has_module(module) {
        return Err(Refusal::Unprocessable(format!(
            "the module `{module}` was never uploaded; upload it first"
        )));
    }
    let current = draft.view.head(id).len;
    if current != records {
        return Err(Conflict::JournalGrew { id: id.clone(), given: records, current }.into());
    }
    let is_there = task.module == Some(*module);
    let task = Task { module: Some(*module), traps: None, ..task };
    match task.state {
        // The other module may issue more commands than are awaited now: it runs up to its wait.
        TaskState::Suspended if current > 0 && !is_there => draft.offer_again(task),
        TaskState::Halted { .. } => draft.offer_again(task),
        // It waits for its start, its turn, capacity or its next attempt, and continues to wait.
        TaskState::Suspended
        | TaskState::Pending { .. }
        | TaskState::Acquired { .. }
        | TaskState::Fulfilled => draft.put_task(task),
    }
    Ok(Reply::Done)
}

impl DecisionDraft<'_> {
    /// The task, if no worker holds it and it has not ended.
    fn movable_task(&self, id: &PromiseId) -> Result<Task, Refusal> {
        let task = self.existing_task(id)?;
        match &task.state {
            TaskState::Halted { .. } | TaskState::Suspended | TaskState::Pending { .. } => {
                Ok(task.clone())
            }
            TaskState::Acquired { .. } | TaskState::Fulfilled => Err(wrong_state(task).into()),
        }
    }
}
