//! The turn of an object, passed on: the commit that ends an execution also claims the one that waits
//! for the turn.

use segno_core::{
    command::{ClaimRequest, Command},
    id::{Claim, ObjectId},
    promise::TaskStatus,
    reply::Reply,
    transition::turn_in,
};
use segno_store::PromiseRow;

use super::ClaimSession;
use crate::slots::{ClaimedTask, Slot};

/// The execution that gets the turn when the claim ends, with a slot of this host.
pub struct TurnSuccessor {
    offered: Claim,
    slot: Slot,
    request: ClaimRequest,
}

impl ClaimSession {
    /// The execution that waits for the turn of `object`, which ends with this claim. `None` if
    /// there is none, or if this host has no slot for it.
    pub async fn successor(&self, object: &ObjectId) -> Option<TurnSuccessor> {
        let slots = self.host().slots()?;
        // Without an answer, the end of this claim offers the execution in the usual way.
        let waits = self.host().store.read().waits(&self.active.claim.id).await.ok()?;
        let rows = self.promises(&waits.awaited_by).await.ok()?;
        let waiting = rows.into_iter().flatten().find_map(|PromiseRow { promise, task }| {
            let task = task.filter(|task| task.status() == TaskStatus::Suspended)?;
            (turn_in(&promise).as_ref() == Some(object)).then_some((promise, task))
        });
        let (promise, task) = waiting?;
        let (slot, request) = slots.slot_of_waiting(&promise)?;
        let offered = Claim { id: task.id, version: task.version };
        Some(TurnSuccessor { offered, slot, request })
    }
}

impl TurnSuccessor {
    /// The command that claims the execution. It comes after the end of its predecessor.
    pub(super) fn acquire(&self) -> Command {
        let (claim, request) = (self.offered.clone(), self.request.clone());
        Command::TaskAcquire { claim, request, stall_limit: None }
    }

    /// The task, if it was claimed. Otherwise it is offered in the usual way.
    pub(super) fn claimed(self, acquired: Reply) -> Option<ClaimedTask> {
        let Reply::Task(acquired) = acquired else { return None };
        Some(ClaimedTask { slot: self.slot, acquired: *acquired, settled: Vec::new() })
    }
}
