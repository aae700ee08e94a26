//! Refusals of commands. They are part of the reply, since the caller acts on them.

use super::StreamRefusal;
use crate::{
    budget::SpentBudget,
    id::{
        Digest, HostName, MalformedName, NameLengthError, ObjectId, PromiseId, ResourceName,
        ScheduleId, Version,
    },
    invocation::AppendRefusal,
    keyed_request::KeyReuseError,
    promise::{FenceToken, TaskStatus},
    time::Timestamp,
    tree::TreeStop,
    unreadable::Subject,
    value::Text,
};

/// Reason why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The command is invalid.
    #[error("{0}")]
    BadRequest(String),
    /// There is no such promise, task or module.
    #[error("`{0}` does not exist")]
    NotFound(PromiseId),
    /// There is no such schedule.
    #[error("there is no schedule `{0}`")]
    NoSchedule(ScheduleId),
    /// The command is valid, but refers to an item that cannot be used this way.
    #[error("{0}")]
    Unprocessable(String),
    /// The command came too late, or another caller was faster.
    #[error(transparent)]
    Conflict(Conflict),
    /// The tree of the new execution accepts no more executions.
    #[error("the tree of `{root}` accepts no further executions: {stop}")]
    Tree { root: PromiseId, stop: TreeStop },
    /// An id below the claim's own id exists, and was created by another owner.
    #[error(
        "`{id}` is taken: it was not made by the invocation it lies under; start the invocation under another id"
    )]
    IdTaken { id: PromiseId },
    /// A fence was to settle another task under its claim, and that was refused.
    #[error("the outcome of `{id}` was not stored: {reason}")]
    NotFulfilled {
        /// The other task.
        id: PromiseId,
        reason: Box<Refusal>,
    },
    /// The records of a fence depend on a deadline that has not settled its promise.
    #[error("the deadline of `{id}` has not settled it")]
    NotElapsed { id: PromiseId },
    /// The records do not continue the stored journal.
    #[error("the records do not continue the journal of `{invocation}`: {reason}")]
    JournalMismatch {
        /// The invocation.
        invocation: PromiseId,
        reason: JournalMismatch,
    },
    /// A budget that the attempt draws on has nothing left.
    #[error(transparent)]
    BudgetSpent(Box<SpentBudget>),
    /// A command on a stream was refused.
    #[error(transparent)]
    Stream(Box<StreamRefusal>),
    /// A row that the command needs exists but cannot be read, due to external damage.
    #[error("the rows of {subject} cannot be read: {why}; `segno doctor` names all such rows")]
    Unreadable {
        /// The item that the row describes.
        subject: Box<Subject>,
        /// The defect.
        why: Text,
    },
}

/// Reason why records do not continue a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalMismatch {
    /// The stored record at this position differs, or only part of the batch is stored.
    #[error("record {seq} is stored already, and differs")]
    Differs {
        /// The first position that differs.
        seq: u32,
    },
    /// A record cannot follow.
    #[error(transparent)]
    Append(#[from] AppendRefusal),
}

/// Conflict with the stored state or with a faster caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The task's status does not allow the command.
    #[error("the task `{id}` is {status}")]
    WrongState { id: PromiseId, status: TaskStatus },
    /// The claim is not the current one.
    #[error("the claim on `{id}` is stale: version {offered} was given, {current} is current")]
    StaleVersion {
        id: PromiseId,
        /// Version of the given claim.
        offered: Version,
        /// Current version.
        current: Version,
    },
    /// The journal has grown since it was compared.
    #[error(
        "the journal of `{id}` now has {current} records, and {given} were compared: ask again"
    )]
    JournalGrew {
        id: PromiseId,
        /// Number of records that were compared.
        given: u32,
        /// Current number of records.
        current: u32,
    },
    /// The key, or the id, is already used by a different request.
    #[error(transparent)]
    KeyReused(Box<KeyReuseError>),
    /// The promise is already settled.
    #[error("the promise `{0}` is settled")]
    PromiseSettled(PromiseId),
    /// Another holder has the task.
    #[error("the task `{0}` is held by another")]
    NotHolder(PromiseId),
    /// Another holder has the resource.
    #[error("the resource `{name}` is held by `{holder}` until {}", .until.in_utc())]
    Busy {
        name: ResourceName,
        holder: Text,
        /// Expiry of the lease.
        until: Timestamp,
    },
    /// An execution has the turn of the object.
    #[error(
        "`{object}` belongs to the execution `{holder}`: wait until it has ended, or cancel it"
    )]
    ObjectBusy {
        object: ObjectId,
        /// The execution that has the turn.
        holder: PromiseId,
    },
    /// The object's key runs only once and has had its run.
    #[error(
        "`{object}` has had its run, and runs once: read it by its id, `{run}`, or use another key"
    )]
    RanAlready { object: ObjectId, run: PromiseId },
    /// A later token has written the resource. The writer must stop.
    #[error("the token {given} for `{name}` is stale: {current} has written it")]
    StaleToken {
        name: ResourceName,
        /// The given token.
        given: FenceToken,
        /// Token of the last write.
        current: FenceToken,
    },
    /// The alias refers to another module by now.
    #[error("`{alias}` now names the module `{current}`, no longer `{given}`: look again")]
    AliasMoved {
        alias: Text,
        /// The module given by the caller.
        given: Digest,
        /// The current module.
        current: Digest,
    },
    /// The host has a newer incarnation.
    #[error("two hosts share the node name `{node}`: life {given} was succeeded by life {current}")]
    Superseded {
        node: HostName,
        /// The caller's incarnation.
        given: u64,
        /// The current incarnation.
        current: u64,
    },
    /// The previous promise of the schedule is pending, and the schedule does not allow overlap.
    #[error(
        "the schedule `{schedule}` starts one execution at a time, and its last one, `{last}`, has not ended"
    )]
    Overlaps {
        schedule: ScheduleId,
        /// The pending promise.
        last: PromiseId,
    },
    /// External workers cannot acquire the task, since hosts execute it.
    #[error("hosts execute the function of `{0}` themselves; wait for its promise instead")]
    Hosted(PromiseId),
}

impl Refusal {
    /// Code in the protocol: 400, 402, 404, 409, 422, 429, 500 or 570; 403, 405, 410, 413 and 429 for streams.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::NotFound(_) | Self::NoSchedule(_) => 404,
            Self::Conflict(_)
            | Self::IdTaken { .. }
            | Self::NotFulfilled { .. }
            | Self::NotElapsed { .. } => 409,
            Self::Unprocessable(_) => 422,
            Self::Tree { stop, .. } => match stop {
                TreeStop::Depth(_) | TreeStop::Executions(_) => 422,
                TreeStop::Births(_) => 429,
                TreeStop::Killed => 409,
            },
            Self::BudgetSpent(_) => 402,
            Self::Stream(refusal) => refusal.code(),
            Self::Unreadable { .. } => 500,
            Self::JournalMismatch { .. } => 570,
        }
    }

    /// A short stable identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "bad-request",
            Self::NotFound(_) | Self::NoSchedule(_) => "not-found",
            Self::Unprocessable(_) => "unprocessable",
            Self::Conflict(Conflict::WrongState { .. }) => "wrong-state",
            Self::Conflict(Conflict::StaleVersion { .. }) => "stale-version",
            Self::Conflict(Conflict::JournalGrew { .. }) => "journal-grew",
            Self::Conflict(Conflict::KeyReused(_)) => "key-reused",
            Self::Conflict(Conflict::PromiseSettled(_)) => "promise-settled",
            Self::Conflict(Conflict::NotHolder(_)) => "not-holder",
            Self::Conflict(Conflict::Busy { .. }) => "resource-busy",
            Self::Conflict(Conflict::ObjectBusy { .. }) => "object-busy",
            Self::Conflict(Conflict::RanAlready { .. }) => "ran-already",
            Self::Conflict(Conflict::StaleToken { .. }) => "stale-token",
            Self::Conflict(Conflict::AliasMoved { .. }) => "alias-moved",
            Self::Conflict(Conflict::Superseded { .. }) => "superseded",
            Self::Conflict(Conflict::Overlaps { .. }) => "schedule-overlaps",
            Self::Conflict(Conflict::Hosted(_)) => "hosted",
            Self::IdTaken { .. } => "id-taken",
            Self::NotFulfilled { .. } => "not-fulfilled",
            Self::NotElapsed { .. } => "not-elapsed",
            Self::Tree { .. } => "tree-bound",
            Self::BudgetSpent(_) => "budget-spent",
            Self::Stream(refusal) => refusal.kind(),
            Self::JournalMismatch { .. } => "journal-mismatch",
            Self::Unreadable { .. } => "unreadable",
        }
    }
}

impl From<Conflict> for Refusal {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}

impl From<SpentBudget> for Refusal {
    fn from(spent: SpentBudget) -> Self {
        Self::BudgetSpent(Box::new(spent))
    }
}

impl From<StreamRefusal> for Refusal {
    fn from(refusal: StreamRefusal) -> Self {
        Self::Stream(Box::new(refusal))
    }
}

impl From<NameLengthError> for Refusal {
    fn from(too_long: NameLengthError) -> Self {
        Self::BadRequest(too_long.to_string())
    }
}

impl From<MalformedName> for Refusal {
    fn from(bad: MalformedName) -> Self {
        Self::BadRequest(bad.to_string())
    }
}

impl From<KeyReuseError> for Refusal {
    fn from(reused: KeyReuseError) -> Self {
        Conflict::KeyReused(Box::new(reused)).into()
    }
}
