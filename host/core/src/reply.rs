//! What a command is answered.

use crate::id::{CommandIndex, NodeName, PromiseId, ResourceName, ScheduleId, Version};
use crate::invocation::{AppendRefused, JournalHead};
use crate::promise::{
    Delivery, FenceToken, Promise, Resource, ResourceLease, Schedule, Task, TaskStatus,
};
use crate::time::Timestamp;
use crate::value::Text;

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
        /// What its first run was answered, in order; none: it was there, was born settled, or runs another module, and
        /// nothing was done under the claim.
        first: Option<Vec<Reply>>,
    },
    /// For each claim of a heartbeat, in its order.
    Heartbeat(Vec<Beat>),
    /// For each action of a fence, in its order.
    Fenced {
        /// What became of each action.
        outcomes: Vec<(CommandIndex, Result<Acted, Refusal>)>,
        /// The end of the journal now.
        head: JournalHead,
    },
    /// The claim was given back; a settlement offers the task again.
    Suspended,
    /// There is something to do already: the claim goes on. The records were appended.
    Ready {
        /// Those awaited that have settled.
        settled: Vec<PromiseId>,
        /// Whether the invocation was asked to stop and has not been told.
        cancelled: bool,
    },
    /// Done, and there is nothing more to say.
    Done,
    /// The signal is the `n`-th of its invocation.
    Signalled {
        /// Which.
        n: u32,
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
    /// What became of a page of past occurrences.
    Backfilled {
        /// How many promises were made.
        made: u32,
        /// How many occurrences had theirs already.
        existing: u32,
        /// How many the overlap rule left out.
        skipped: u32,
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
    /// What became of a tree.
    Pruned(Pruned),
    /// What a look for damage found and mended.
    Reconciled {
        /// The damage.
        orphans: Vec<Orphan>,
    },
    /// Refused; nothing was changed, but that overdue promises were settled.
    Refused(Refusal),
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

/// What became of one claim in a heartbeat.
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
        /// Set if its task is held as asked: the version of that claim.
        held: Option<Version>,
    },
    /// Done.
    Done,
}

/// What became of a tree that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// It is gone: so many promises, with all that belonged to them.
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
    /// There is no such promise.
    #[error("it does not exist")]
    Absent,
    /// It was made by an invocation, and goes with it.
    #[error("it is a part of what `{maker}` made")]
    Part {
        /// The invocation.
        maker: PromiseId,
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
    /// Somebody who is not done waits for a member, or was woken by it and has not looked yet.
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

/// A kind of damage, found and mended by `Reconcile`. None of them can arise from commands alone, but `ChildRuns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Orphan {
    /// A promise with a target has no task: it is made again, halted, since its module is not known.
    TaskMissing,
    /// A settled promise has an open task, listeners or unconsumed callbacks: the chain is finished.
    ChainUnfinished,
    /// A pending attached promise of a settled invocation, and no message to cancel it: it is cancelled.
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

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The command makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// There is no such promise, task or module.
    #[error("`{0}` does not exist")]
    NotFound(PromiseId),
    /// There is no such schedule.
    #[error("there is no schedule `{0}`")]
    NoSchedule(ScheduleId),
    /// The command makes sense, but names something that cannot be used so.
    #[error("{0}")]
    Unprocessable(String),
    /// The command came too late, or somebody else was faster.
    #[error(transparent)]
    Conflict(Conflict),
    /// An id under the claim's own exists, and somebody else made it.
    #[error(
        "`{id}` is taken: it was not made by the invocation it lies under; start the invocation under another id"
    )]
    IdTaken {
        /// The id.
        id: PromiseId,
    },
    /// The records do not continue the stored journal.
    #[error("the records do not continue the journal of `{invocation}`: {reason}")]
    JournalMismatch {
        /// The journal.
        invocation: PromiseId,
        /// Why they do not.
        reason: JournalMismatch,
    },
}

/// Why records do not continue a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalMismatch {
    /// A record at this place is stored already, and differs; or only part of the batch is stored.
    #[error("record {seq} is stored and is another")]
    Differs {
        /// The first place that differs.
        seq: u32,
    },
    /// A record cannot follow.
    #[error(transparent)]
    Append(#[from] AppendRefused),
}

/// Who or what was faster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The task's state does not allow it.
    #[error("the task `{id}` is {status}")]
    WrongState {
        /// The task.
        id: PromiseId,
        /// Its state.
        status: TaskStatus,
    },
    /// The claim is not the present one.
    #[error("the claim on `{id}` is stale: version {offered} was given, {current} is current")]
    StaleVersion {
        /// The task.
        id: PromiseId,
        /// The version given.
        offered: Version,
        /// The present one.
        current: Version,
    },
    /// The promise has its outcome.
    #[error("the promise `{0}` is settled")]
    PromiseSettled(PromiseId),
    /// Somebody else holds it.
    #[error("the task `{0}` is held by another")]
    NotHolder(PromiseId),
    /// Somebody else holds the resource.
    #[error("the resource `{name}` is held by `{holder}` until {until}")]
    Busy {
        /// The resource.
        name: ResourceName,
        /// Who holds it.
        holder: Text,
        /// Until when.
        until: Timestamp,
    },
    /// A later writer has written the resource: this one must stop.
    #[error("the token {given} for `{name}` is stale: {current} has written it")]
    StaleToken {
        /// The resource.
        name: ResourceName,
        /// The token given.
        given: FenceToken,
        /// That of the last write.
        current: FenceToken,
    },
    /// The host has a successor of the same name.
    #[error("two hosts share the node name `{node}`: life {given} was succeeded by life {current}")]
    Superseded {
        /// The node.
        node: NodeName,
        /// The life that spoke.
        given: u64,
        /// The present one.
        current: u64,
    },
    /// A worker outside cannot take it.
    #[error("hosts execute the function of `{0}` themselves; wait for its promise instead")]
    Hosted(PromiseId),
}

impl Refusal {
    /// The code of the protocol: 400, 404, 409, 422 or 570.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::NotFound(_) | Self::NoSchedule(_) => 404,
            Self::Conflict(_) | Self::IdTaken { .. } => 409,
            Self::Unprocessable(_) => 422,
            Self::JournalMismatch { .. } => 570,
        }
    }

    /// A short stable word for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "bad-request",
            Self::NotFound(_) | Self::NoSchedule(_) => "not-found",
            Self::Unprocessable(_) => "unprocessable",
            Self::Conflict(Conflict::WrongState { .. }) => "wrong-state",
            Self::Conflict(Conflict::StaleVersion { .. }) => "stale-version",
            Self::Conflict(Conflict::PromiseSettled(_)) => "promise-settled",
            Self::Conflict(Conflict::NotHolder(_)) => "not-holder",
            Self::Conflict(Conflict::Busy { .. }) => "resource-busy",
            Self::Conflict(Conflict::StaleToken { .. }) => "stale-token",
            Self::Conflict(Conflict::Superseded { .. }) => "superseded",
            Self::Conflict(Conflict::Hosted(_)) => "hosted",
            Self::IdTaken { .. } => "id-taken",
            Self::JournalMismatch { .. } => "journal-mismatch",
        }
    }
}

impl From<Conflict> for Refusal {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}
