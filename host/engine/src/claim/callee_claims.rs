//! Claims on the tasks that a commit creates, as far as this host has slots for them. The tasks need
//! not be offered and then acquired.

use std::{collections::HashMap, sync::Arc};

use segno_core::{
    address::Address,
    command::{Command, FenceOperation},
    id::PromiseId,
    promise::NewPromise,
    reply::{FenceResult, Reply},
    tags,
};

use crate::slots::{ClaimedTask, ExecutionSlots, Slot};

/// Maximum number of tasks claimed in one commit.
const TOGETHER: usize = 64;

/// Claims on tasks that a commit creates.
#[derive(Default)]
pub(super) struct CalleeClaims {
    pool: Option<Arc<ExecutionSlots>>,
    slots: HashMap<PromiseId, Slot>,
}

impl CalleeClaims {
    /// Requests claims on the tasks that `commands` create and for which slots are free.
    pub(super) fn of(commands: &mut [Command], pool: Option<Arc<ExecutionSlots>>) -> Self {
        let mut slots = HashMap::new();
        let Some(pool) = pool else { return Self::default() };
        for command in commands {
            let Command::TaskFence { actions, .. } = command else { continue };
            for action in actions {
                if let FenceOperation::Create { new, request: request @ None } = &mut action.act
                    && slots.len() < TOGETHER
                    && is_run_at_once(new)
                    && let Some((slot, requested)) = pool.slot_of_call(new)
                {
                    *request = Some(requested);
                    slots.insert(new.id.clone(), slot);
                }
            }
        }
        Self { pool: Some(pool), slots }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Runs the tasks that were born claimed. Their results become those of promises.
    pub(super) fn run(mut self, replies: &mut [Reply]) {
        let Some(pool) = self.pool else { return };
        let mut claimed = Vec::with_capacity(self.slots.len());
        for reply in replies {
            let Reply::Fenced { outcomes, .. } = reply else { continue };
            for (_, outcome) in outcomes {
                let Ok(FenceResult::Held(task)) = outcome else { continue };
                let (promise, changed) = (task.promise.clone(), task.created);
                let promise = Ok(FenceResult::Promise { promise, changed });
                let Ok(FenceResult::Held(task)) = std::mem::replace(outcome, promise) else {
                    continue;
                };
                if let Some(slot) = self.slots.remove(&task.task.id) {
                    claimed.push(ClaimedTask { slot, acquired: *task, settled: Vec::new() });
                }
            }
        }
        if !claimed.is_empty() {
            pool.run_now(claimed);
        }
    }
}

/// True if hosts run the function, without a delay.
fn is_run_at_once(new: &NewPromise) -> bool {
    let target = tags::target(&new.tags).map(Address::parse);
    let is_internal = matches!(target, Some(Ok(address)) if address.is_internal());
    is_internal && !tags::is_timer(&new.tags) && !new.tags.contains_key(tags::DELAY)
}
