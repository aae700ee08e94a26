//! Replies to commands.

mod refusal;
mod stream_refusal;

use crate::{
    id::{CommandIndex, ObjectId, PromiseId},
    invocation::JournalHead,
    promise::{Delivery, Promise, Resource, ResourceLease, Schedule, Task},
    stream::DurableStream,
    time::Timestamp,
    value::Text,
};

pub use refusal::{Conflict, JournalMismatch, Refusal};
pub use stream_refusal::StreamRefusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The current state of a promise.
    Promise {
        promise: Promise,
        /// True if this command created or settled it.
        changed: bool,
    },
    /// The current state of a task, with its promise and the head of its journal.
    Task(Box<TaskReply>),
    /// The current state of an invocation created by `TaskBegin`.
    Begun {
        task: Box<TaskReply>,
        /// Replies to the commands of the first run, in order. `None` if they were skipped: the
        /// invocation already existed, was born settled, or runs another module.
        first: Option<Vec<Reply>>,
    },
    /// Results of a heartbeat, in the order of its claims.
    Heartbeat(Vec<HeartbeatResult>),
    /// Results of a fence.
    Fenced {
        /// The result of each action, in order.
        outcomes: Vec<(CommandIndex, Result<FenceResult, Refusal>)>,
        /// The new head of the journal.
        head: JournalHead,
        /// True if the invocation has a stop request that it was not yet notified of.
        cancelled: bool,
    },
    /// The claim was released; a settlement offers the task again.
    Suspended,
    /// Another execution has the turn, or there is no capacity. The task waits and is offered again
    /// later.
    Parked {
        /// Predecessor in the queue. `None`: it waits behind a limit, or it was settled instead
        /// of admitted, because a budget is spent for example.
        behind: Option<PromiseId>,
    },
    /// There is work to do, so the claim continues. The records of a suspension were appended;
    /// those of an end were not.
    Ready {
        /// The awaited promises that have settled.
        settled: Vec<PromiseId>,
        /// True if the invocation has a stop request that it was not yet notified of.
        cancelled: bool,
    },
    /// Success without a result.
    Done,
    /// The signal was sent, as the `n`-th to this invocation, which is the newest generation of the
    /// named one.
    Signalled {
        /// The newest generation.
        invocation: PromiseId,
        /// Number of the signal.
        n: u32,
        /// True if this command created the invocation.
        started: bool,
    },
    /// The next generation was created.
    HandedOver {
        /// Id of the next generation.
        to: PromiseId,
    },
    /// The current state of a schedule.
    Schedule {
        schedule: Box<Schedule>,
        /// True if this command created it.
        created: bool,
    },
    /// A resource and its lease, as far as they exist.
    Resource { resource: Option<Box<Resource>>, lease: Option<Box<ResourceLease>> },
    /// The current state of a stream.
    Stream(Box<StreamReply>),
    /// Result of a page of past occurrences.
    Backfilled {
        /// Number of promises created.
        made: u32,
        /// Number of occurrences that already had a promise.
        existing: u32,
        /// Number of occurrences skipped.
        skipped: u32,
        /// Reason for the last skip.
        because: Option<Text>,
        /// Start of the next page. `None`: this was the last.
        next: Option<Timestamp>,
    },
    /// A message to deliver now. `None` if it is not due, is gone, or was processed by the engine.
    Message(Option<Box<Delivery>>),
    /// A new incarnation of a host.
    Host {
        incarnation: u64,
        /// Tasks held by earlier incarnations.
        held: Vec<PromiseId>,
    },
    /// Result of removing a tree.
    Pruned(PruneResult),
    /// Result of a check for damage.
    Reconciled {
        /// The damage that was found and repaired.
        orphans: Vec<DamageKind>,
    },
    /// Refused. Nothing was changed, except that overdue promises were settled.
    Refused(Refusal),
}

impl Reply {
    /// The reply for the `n`-th signal to an existing invocation.
    pub fn signalled(invocation: impl Into<PromiseId>, n: u32) -> Self {
        Self::Signalled { invocation: invocation.into(), n, started: false }
    }
}

/// A task with its promise and journal head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskReply {
    pub task: Task,
    pub promise: Promise,
    /// Head of its journal.
    pub head: JournalHead,
    /// Number of awaited promises that settled since the task was last acquired or suspended.
    pub resumes: u32,
    /// True if this command created the promise.
    pub created: bool,
}

/// A stream after a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamReply {
    pub stream: DurableStream,
    /// True if it is closed, by a request or by the end of its execution.
    pub closed: bool,
    /// True if the command created it.
    pub created: bool,
    /// True if the batch of the producer was stored before.
    pub duplicate: bool,
}

/// Result of a heartbeat for one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeartbeatResult {
    /// The claim was extended.
    Extended {
        /// New expiry of the lease.
        until: Timestamp,
        /// True if the invocation has a stop request that it was not yet notified of.
        cancel: bool,
    },
    /// The caller no longer holds the claim: stop the work and write nothing.
    Stale,
    /// There was no progress for too long, and the lease is not extended: interrupt the work.
    Stalled,
    /// The database of the claim did not answer. The claim is as before, as far as anyone knows.
    Unanswered,
}

/// Result of an action under a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FenceResult {
    /// The current state of the promise.
    Promise {
        promise: Promise,
        /// True if this action created or settled it.
        changed: bool,
    },
    /// The current state of a task that was born under the requested claim.
    Held(Box<TaskReply>),
    /// Success without a result.
    Done,
}

/// Result of removing a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PruneResult {
    /// The tree was removed, with all rows that belonged to its promises.
    Gone {
        /// Number of removed promises.
        promises: u32,
    },
    /// Nothing was removed.
    Kept(RetentionReason),
}

/// Reason why a tree was not removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RetentionReason {
    /// The rows of a member cannot be read.
    #[error("the rows of `{id}` cannot be read")]
    Unreadable { id: PromiseId },
    /// The promise does not exist.
    #[error("it does not exist")]
    Absent,
    /// The promise was created by an invocation, and is removed with it.
    #[error("it is a part of what `{maker}` made")]
    Part {
        /// The creating invocation.
        maker: PromiseId,
    },
    /// The promise belongs to an object, and is removed with the object's state.
    #[error("it belongs to `{object}`, and goes with its state")]
    OfObject { object: ObjectId },
    /// A member is pending.
    #[error("`{id}` is not settled")]
    Pending { id: PromiseId },
    /// A member settled after the given instant.
    #[error("`{id}` settled too recently")]
    Recent { id: PromiseId },
    /// A message about a member is pending.
    #[error("a message about `{id}` is not delivered")]
    Owes { id: PromiseId },
    /// A task that has not ended waits for a member, or was resumed by one and has not read it yet.
    #[error("`{by}`, which has not ended, waits for `{id}`")]
    Awaited {
        /// The awaited member.
        id: PromiseId,
        /// The waiting task.
        by: PromiseId,
    },
    /// The tree has more members than one command removes.
    #[error("it is too large for one command")]
    Large,
}

/// Kinds of damage that `Reconcile` finds and repairs. Commands alone can only cause `ChildRuns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DamageKind {
    /// A promise with a target has no task. Repair: the task is created again, halted, since its
    /// module is unknown.
    TaskMissing,
    /// A settled promise has an open task, listeners or unconsumed callbacks. Repair: the
    /// settlement chain is completed.
    ChainUnfinished,
    /// An attached promise of a settled invocation is pending, without a message to cancel it.
    /// Repair: it is cancelled.
    ChildRuns,
    /// A suspended task waits for nothing. Repair: it is offered again.
    SuspendedOnNothing,
    /// A suspended task has been resumed. Repair: it is offered again.
    WokenButSuspended,
    /// A task has no promise. Repair: it is halted.
    TaskWithoutPromise,
    /// The head of a journal is contradictory or missing. Repair: the task is halted.
    JournalDamaged,
    /// A step of a saga is recorded both as compensated and as failed to compensate. Repair: the
    /// task is halted.
    FactsContradict,
}
