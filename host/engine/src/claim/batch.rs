//! The data of commits under a claim, and their results.

use segno_core::{
    command::FenceAction,
    id::{CommandIndex, PromiseId},
    invocation::{LogLine, Record},
    reply::{FenceResult, Refusal},
};

/// The data of one fence. Of several batches in one commit, the last one is written by the command
/// that ends the claim if it has no actions.
#[derive(Debug, Default)]
pub struct ClaimBatch {
    /// Records to append to the journal.
    pub records: Vec<Record>,
    /// Log lines to store with the records.
    pub logs: Vec<LogLine>,
    /// Actions to execute in the same transaction.
    pub actions: Vec<FenceAction>,
}

/// The results of the actions of a commit, in their order.
pub type ActionResults = Vec<(CommandIndex, Result<FenceResult, Refusal>)>;

/// The state of a claim after a command to suspend its task.
#[derive(Debug)]
pub enum SuspensionResult {
    /// The task is suspended, and the claim has ended.
    Suspended,
    /// The claim continues: these awaited promises have settled, or a cancellation was requested.
    Ready(Vec<PromiseId>),
    /// The claim continues: a promise cannot be awaited, such as one whose creation was refused.
    Refused(Refusal),
}
