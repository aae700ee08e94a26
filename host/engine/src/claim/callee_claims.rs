//! Claims on the tasks that a commit creates, as far as this host has slots for them. The same
//! commit takes them, so that the tasks need not be offered and then acquired.

use std::sync::Arc;

use segno_core::{
    address::Address,
    command::{Command, FenceOperation},
    id::{Claim, Version},
    promise::NewPromise,
    reply::Reply,
    tags,
};

use crate::slots::{ClaimedTask, ExecutionSlots, Slot};

/// Maximum number of tasks claimed in one commit.
const TOGETHER: usize = 64;

/// Claims on tasks that the same commit creates.
#[derive(Default)]
pub(super) struct CalleeClaims {
    slots: Option<Arc<ExecutionSlots>>,
    taken: Vec<(Slot, Command)>,
}

impl CalleeClaims {
    /// Claims on the tasks that `commands` create, for which slots are free. New tasks begin at
    /// `version`, as far as this host knows: a claim at another version is refused, and its task is
    /// offered.
    pub(super) fn of(
        commands: &[Command],
        slots: Option<Arc<ExecutionSlots>>,
        version: Version,
    ) -> Self {
        let Some(pool) = slots else { return Self::default() };
        let created =
            commands.iter().flat_map(Command::actions).filter_map(|action| match &action.act {
                FenceOperation::Create { new } if is_run_at_once(new) => Some(new),
                _ => None,
            });
        let taken = created.take(TOGETHER).map_while(|new| {
            let (slot, request) = pool.slot(new)?;
            let claim = Claim { id: new.id.clone(), version };
            Some((slot, Command::TaskAcquire { claim, request, stall_limit: None }))
        });
        let taken = taken.collect();
        Self { slots: Some(pool), taken }
    }

    /// The commands that take the claims.
    pub(super) fn commands(&self) -> impl Iterator<Item = Command> {
        self.taken.iter().map(|(_, acquire)| acquire.clone())
    }

    /// Runs the tasks whose claims were taken, according to the replies to the commands.
    pub(super) fn run(self, replies: Vec<Reply>) {
        let Some(pool) = self.slots else { return };
        let claimed = self.taken.into_iter().zip(replies).filter_map(|((slot, _), reply)| {
            match reply {
                Reply::Task(acquired) => {
                    Some(ClaimedTask { slot, acquired: *acquired, settled: Vec::new() })
                }
                _ => None, // It waits for its turn, or is offered.
            }
        });
        pool.run(claimed.collect());
    }
}

/// True if hosts run the function, without a delay.
fn is_run_at_once(new: &NewPromise) -> bool {
    let target = tags::target(&new.tags).map(Address::parse);
    let is_internal = matches!(target, Some(Ok(address)) if address.is_internal());
    is_internal && !tags::is_timer(&new.tags) && !new.tags.contains_key(tags::DELAY)
}
