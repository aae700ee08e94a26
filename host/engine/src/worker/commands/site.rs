//! The position of a command: its invocation, its index, and its logical time.

use std::{collections::BTreeMap, sync::Arc};

use segno_core::{
    id::{CommandIndex, ObjectId, PromiseId},
    time::{Millis, Timestamp},
};
use segno_guest::{FunctionDescription, Outbound};

/// What the rules of commands need to know of the invocation.
#[derive(Clone)]
pub struct Identity {
    /// The invocation.
    pub id: PromiseId,
    /// When the invocation was made. Only the first records of a fork are older.
    pub made_at: Timestamp,
    /// The alias under which the module was started: policies know the module by this name.
    pub module: String,
    /// The object whose function is executed, and whether the execution has its turn.
    pub object: Option<(ObjectId, bool)>,
    /// The functions of the module, for the defaults of calls within the module.
    pub functions: Arc<Vec<FunctionDescription>>,
    /// The policy that decides about calls of servers; `None`: the guest's requests go nowhere.
    pub outbound: Option<Arc<dyn Outbound>>,
}

/// The position of a command.
pub struct Site<'a> {
    /// Its invocation.
    pub identity: &'a Identity,
    /// Its index among the commands of its invocation.
    pub index: u32,
    /// The logical time at which it was issued.
    pub at: Timestamp,
    /// The promises of earlier commands that have a name of their own; the others are known by
    /// their index.
    pub named: &'a BTreeMap<u32, PromiseId>,
}

impl Site<'_> {
    /// The promise that is known by the command's index.
    pub fn promise(&self) -> PromiseId {
        self.promise_of_index(self.index)
    }

    /// The promise of an earlier command.
    pub fn promise_of(&self, command: u32) -> PromiseId {
        self.named.get(&command).cloned().unwrap_or_else(|| self.promise_of_index(command))
    }

    fn promise_of_index(&self, command: u32) -> PromiseId {
        self.identity.id.command(CommandIndex(command))
    }
}

/// The deadline of a promise that is made at an instant.
pub(super) fn deadline(timeout_ms: Option<u64>, at: Timestamp) -> Timestamp {
    timeout_ms.map_or(Timestamp::NEVER, |timeout| {
        (at + Millis(i64::try_from(timeout).unwrap_or(i64::MAX))).min(Timestamp::NEVER)
    })
}

/// An instant that a guest named.
pub(super) fn instant(ms: u64) -> Timestamp {
    Timestamp(i64::try_from(ms).unwrap_or(i64::MAX))
}
