//! The position of a command: its invocation, its index, and its logical time.

use std::{collections::BTreeMap, sync::Arc};

use segno_core::{
    id::{CommandIndex, ObjectId, PromiseId},
    time::{Millis, Timestamp},
};
use segno_guest::{FunctionDescription, Outbound};

/// The facts about the invocation that the rules of commands need.
#[derive(Clone)]
pub struct InvocationFacts {
    pub id: PromiseId,
    /// The creation time of the invocation. Only the first records of a fork are older.
    pub made_at: Timestamp,
    /// The alias under which the module was started. Policies refer to the module by this name.
    pub module: String,
    /// The object whose function is executed, and true if the execution has exclusive access to it.
    pub object: Option<(ObjectId, bool)>,
    /// The functions of the module, for the defaults of calls within the module.
    pub functions: Arc<Vec<FunctionDescription>>,
    /// The policy for the servers that the guest may call. `None`: the guest's requests are not
    /// sent.
    pub outbound: Option<Arc<dyn Outbound>>,
}

/// The position of a command.
pub struct CommandContext<'a> {
    pub identity: &'a InvocationFacts,
    /// The index among the commands of the invocation.
    pub index: u32,
    /// The logical time at which the command was issued.
    pub at: Timestamp,
    /// The ids of promises of earlier commands that have a name. Other promises have ids derived
    /// from the index of their command.
    pub named: &'a BTreeMap<u32, PromiseId>,
}

impl CommandContext<'_> {
    /// The promise whose id is derived from the command's index.
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

/// The deadline of a promise that is created at `at`.
pub(super) fn deadline(timeout_ms: Option<u64>, at: Timestamp) -> Timestamp {
    timeout_ms.map_or(Timestamp::NEVER, |timeout| {
        (at + Millis(i64::try_from(timeout).unwrap_or(i64::MAX))).min(Timestamp::NEVER)
    })
}

/// An instant that a guest specified, in milliseconds since the Unix epoch.
pub(super) fn instant(ms: u64) -> Timestamp {
    Timestamp(i64::try_from(ms).unwrap_or(i64::MAX))
}
