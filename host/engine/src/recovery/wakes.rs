//! Executes due commands. If a deadline resumes a workflow and this host has free slots, the same
//! commit claims it. The task need not be offered and then acquired, and the promise that it waited
//! for is passed along with the claim.

use std::collections::HashMap;

use segno_core::{
    command::Command,
    id::{Claim, PromiseId},
    reply::Reply,
    time::Millis,
};
use segno_store::{DueWork, StoreError, TaskWake};

use super::isolate;
use crate::{
    host::Host,
    slots::{ClaimedTask, Slot},
};

/// Maximum number of due commands in one commit.
const TOGETHER: usize = 256;
/// The number of free slots that justifies a commit. With fewer, the commit waits up to
/// `SLOT_TIMEOUT` for more, if more are needed.
const ENOUGH: usize = 64;
/// Maximum time that a commit waits for slots. If none becomes free in this time, the deadlines are
/// executed without claims, and the tasks that they resume are offered in the usual way.
const SLOT_TIMEOUT: Millis = Millis(50);

/// Executes due commands.
pub(super) async fn carry_out(host: &Host, due: DueWork) -> Result<(), StoreError> {
    let mut wakes: HashMap<PromiseId, Claim> = HashMap::with_capacity(due.wakes.len());
    for TaskWake { awaited, task } in due.wakes {
        wakes.insert(awaited, task);
    }
    let mut left = due.commands.into_iter().peekable();
    while left.peek().is_some() {
        let slots = host.slots();
        let wanted = wakes.len().min(TOGETHER);
        let mut free = match &slots {
            Some(slots) if wanted > 0 => slots.slots(wanted, ENOUGH, SLOT_TIMEOUT).await,
            _ => Vec::new(),
        };
        let flows = wanted > 0 && free.len() >= ENOUGH.min(wanted);
        // One group: a deadline, the claim on the task that it resumes, and the promise that the
        // task waited for.
        let mut groups = Vec::with_capacity(TOGETHER);
        let mut claimed = Vec::new();
        // While slots become free, tasks without a slot wait for the next commit.
        while groups.len() < TOGETHER && !(flows && free.is_empty()) {
            let Some(command) = left.next() else { break };
            let wake = match &command {
                Command::PromiseDue { id } => wakes.remove_entry(id),
                _ => None,
            };
            let mut group = vec![command];
            if let Some((id, claim)) = wake
                && let Some((slot, request)) = free.pop()
            {
                claimed.push((groups.len(), slot));
                group.push(Command::TaskAcquire { claim, request, stall_limit: None });
                group.push(Command::PromiseGet { id });
            }
            groups.push(group);
        }
        let replies = isolate::each(host, groups).await?;
        if let Some(slots) = &slots {
            slots.run(arrivals(replies, claimed));
        }
    }
    Ok(())
}

/// The tasks that were claimed. The others changed in the meantime, and are offered in the usual
/// way.
fn arrivals(mut replies: Vec<Option<Vec<Reply>>>, claimed: Vec<(usize, Slot)>) -> Vec<ClaimedTask> {
    let arrived = claimed.into_iter().filter_map(|(place, slot)| {
        let mut of_group = replies[place].take()?.into_iter().skip(1);
        let Some(Reply::Task(acquired)) = of_group.next() else { return None };
        let settled = match of_group.next() {
            Some(Reply::Promise { promise, .. }) if !promise.is_pending() => vec![promise],
            _ => Vec::new(),
        };
        Some(ClaimedTask { slot, acquired: *acquired, settled })
    });
    arrived.collect()
}
