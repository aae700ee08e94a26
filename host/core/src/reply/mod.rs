//! What a command is answered.

mod refusal;

use crate::{
    id::{CommandIndex, ObjectId, PromiseId},
    invocation::JournalHead,
    promise::{Delivery, Promise, Resource, ResourceLease, Schedule, Task},
    time::Timestamp,
    value::Text,
};

pub use refusal::{Conflict, JournalMismatch, Refusal};

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A promise as it is now.
    Promise {
        /// The promise.
        promise: Promise,
        /// Whether this command made or settled it.
        changed: bool,
    },
    /// A task as it is now, with its promise and the end of its journal.
    Task(Box<TaskReply>),
    /// An invocation that was to begin, as it is now.
    Begun {
        /// Its task.
        task: Box<TaskReply>,
        /// What its first run was answered, in order; none: it was there, was born settled, or runs
        /// another module, and nothing was done under the claim.
        first: Option<Vec<Reply>>,
    },
    /// For each claim of a heartbeat, in its order.
    Heartbeat(Vec<Beat>),
    /// For each action of a fence, in its order.
    Fenced {
        /// The result of each action.
        outcomes: Vec<(CommandIndex, Result<Acted, Refusal>)>,
        /// The end of the journal now.
        head: JournalHead,
        /// Whether the invocation was asked to stop and has not been told.
        cancelled: bool,
    },
    /// The claim was given back; a settlement offers the task again.
    Suspended,
    /// It is another execution's turn, or there is no room: the task waits, and is offered again
    /// then.
    Parked {
        /// Who is before it; none: it waits behind a limit, or is not to begin at all and has
        /// settled.
        behind: Option<PromiseId>,
    },
    /// There is something to do already: the claim goes on. The records of a suspension were
    /// appended; those of an end were not.
    Ready {
        /// Those awaited that have settled.
        settled: Vec<PromiseId>,
        /// Whether the invocation was asked to stop and has not been told.
        cancelled: bool,
    },
    /// Done, and there is nothing more to say.
    Done,
    /// The signal is the `n`-th of this invocation: the newest generation of the one that was named.
    Signalled {
        /// Which invocation.
        invocation: PromiseId,
        /// Which signal of it.
        n: u32,
        /// Whether this command made the invocation.
        started: bool,
    },
    /// The next generation was made.
    HandedOver {
        /// It.
        to: PromiseId,
    },
    /// A schedule as it is now.
    Schedule {
        /// The schedule.
        schedule: Box<Schedule>,
        /// Whether this command made it.
        created: bool,
    },
    /// A resource and the lease on it, as far as they exist.
    Resource {
        /// The resource.
        resource: Option<Box<Resource>>,
        /// The lease.
        lease: Option<Box<ResourceLease>>,
    },
    /// The results of a page of past occurrences.
    Backfilled {
        /// How many promises were made.
        made: u32,
        /// How many occurrences had theirs already.
        existing: u32,
        /// How many were left out.
        skipped: u32,
        /// Why the last of them was.
        because: Option<Text>,
        /// From where to ask for the next page; none: this was the last.
        next: Option<Timestamp>,
    },
    /// A message to deliver now; none if it is not due, gone, or the engine dealt with it.
    Message(Option<Box<Delivery>>),
    /// A host's new life.
    Host {
        /// Its number.
        incarnation: u64,
        /// Tasks its earlier lives hold.
        held: Vec<PromiseId>,
    },
    /// The result of removing a tree.
    Pruned(Pruned),
    /// What a look for damage found and mended.
    Reconciled {
        /// The damage.
        orphans: Vec<Orphan>,
    },
    /// Refused; nothing was changed, but that overdue promises were settled.
    Refused(Refusal),
}

impl Reply {
    /// The answer to the `n`-th signal of an invocation that was there before.
    pub fn signalled(invocation: impl Into<PromiseId>, n: u32) -> Self {
        Self::Signalled { invocation: invocation.into(), n, started: false }
    }
}

/// A task with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskReply {
    /// The task.
    pub task: Task,
    /// Its promise.
    pub promise: Promise,
    /// The end of its journal.
    pub head: JournalHead,
    /// How many promises it waits for, or waited for, settled since it was last taken or suspended.
    pub resumes: u32,
    /// Whether this command made the promise.
    pub created: bool,
}

/// The result of a heartbeat for one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beat {
    /// It goes on.
    Extended {
        /// The lease's new end.
        until: Timestamp,
        /// Whether the invocation was asked to stop and has not been told.
        cancel: bool,
    },
    /// It is no longer the caller's: drop the work and write nothing.
    Stale,
    /// It made no progress for too long and is not extended: interrupt it.
    Stalled,
}

/// What an action under a claim did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acted {
    /// The promise as it is now.
    Promise {
        /// The promise.
        promise: Promise,
        /// Whether this action made or settled it.
        changed: bool,
    },
    /// Done.
    Done,
}

/// The result of removing a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// The tree is gone: this number of promises, with all that belonged to them.
    Gone {
        /// How many.
        promises: u32,
    },
    /// Nothing was removed.
    Kept(Kept),
}

/// Why a tree stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Kept {
    /// The rows of a member cannot be read.
    #[error("the rows of `{id}` cannot be read")]
    Unreadable {
        /// The member.
        id: PromiseId,
    },
    /// There is no such promise.
    #[error("it does not exist")]
    Absent,
    /// It was made by an invocation, and goes with it.
    #[error("it is a part of what `{maker}` made")]
    Part {
        /// The invocation.
        maker: PromiseId,
    },
    /// It is a promise of an object, and goes with the object's state.
    #[error("it belongs to `{object}`, and goes with its state")]
    OfObject {
        /// The object.
        object: ObjectId,
    },
    /// A member has no outcome.
    #[error("`{id}` is not settled")]
    Pending {
        /// The member.
        id: PromiseId,
    },
    /// A member settled later than that.
    #[error("`{id}` settled too recently")]
    Recent {
        /// The member.
        id: PromiseId,
    },
    /// A message about a member is owed.
    #[error("a message about `{id}` is not delivered")]
    Owes {
        /// The member.
        id: PromiseId,
    },
    /// A task that has not ended waits for a member, or was woken by one and has not read it yet.
    #[error("`{by}`, which has not ended, waits for `{id}`")]
    Awaited {
        /// The member.
        id: PromiseId,
        /// Who waits.
        by: PromiseId,
    },
    /// It has more members than one command removes.
    #[error("it is too large for one command")]
    Large,
}

/// A kind of damage, found and mended by `Reconcile`. None of them can arise from commands alone,
/// but `ChildRuns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Orphan {
    /// A promise with a target has no task: it is made again, halted, since its module is not
    /// known.
    TaskMissing,
    /// A settled promise has an open task, listeners or unconsumed callbacks: the chain is
    /// finished.
    ChainUnfinished,
    /// A pending attached promise of a settled invocation, and no message to cancel it: it is
    /// cancelled.
    ChildRuns,
    /// A suspended task waits for nothing: it is offered again.
    SuspendedOnNothing,
    /// A suspended task has been woken: it is offered again.
    WokenButSuspended,
    /// A task has no promise: it is halted.
    TaskWithoutPromise,
    /// A journal's end contradicts itself or is not there: the task is halted.
    JournalDamaged,
    /// A step of a saga is both undone and not: the task is halted.
    FactsContradict,
}
