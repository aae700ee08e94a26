//! Why a command was refused: part of the reply, since it is the caller who acts on it.

use crate::{
    id::{
        BadName, Digest, NodeName, ObjectId, PromiseId, ResourceName, ScheduleId, TooLong, Version,
    },
    invocation::AppendRefused,
    keyed_request::KeyReused,
    promise::{FenceToken, TaskStatus},
    time::Timestamp,
    tree::TreeStop,
    unreadable::Subject,
    value::Text,
};

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
    /// The command came too late, or another caller was faster.
    #[error(transparent)]
    Conflict(Conflict),
    /// The tree to which the new execution would belong makes no more.
    #[error("nothing more is made in the tree of `{root}`: {stop}")]
    Tree {
        /// The root of the tree.
        root: PromiseId,
        /// Why.
        stop: TreeStop,
    },
    /// An id under the claim's own exists, and another owner made it.
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
    /// A row that the command needs is there and cannot be read: damage from outside.
    #[error("the rows of {subject} cannot be read: {why}; `segno doctor` names all such rows")]
    Unreadable {
        /// What the row is about.
        subject: Box<Subject>,
        /// What is wrong with it.
        why: Text,
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
    /// The journal is not the one that was looked at.
    #[error(
        "the journal of `{id}` has {current} records by now, and {given} were compared: ask again"
    )]
    JournalGrew {
        /// The invocation.
        id: PromiseId,
        /// Number of records that were compared.
        given: u32,
        /// Number of records that there are.
        current: u32,
    },
    /// The key, or the id, stands for another request.
    #[error(transparent)]
    KeyReused(Box<KeyReused>),
    /// The promise has its outcome.
    #[error("the promise `{0}` is settled")]
    PromiseSettled(PromiseId),
    /// Another holder has the task.
    #[error("the task `{0}` is held by another")]
    NotHolder(PromiseId),
    /// Another holder has the resource.
    #[error("the resource `{name}` is held by `{holder}` until {}", .until.in_utc())]
    Busy {
        /// The resource.
        name: ResourceName,
        /// Who holds it.
        holder: Text,
        /// Until when.
        until: Timestamp,
    },
    /// It is the turn of an execution of the object.
    #[error(
        "`{object}` belongs to the execution `{holder}`: wait until it has ended, or cancel it"
    )]
    ObjectBusy {
        /// The object.
        object: ObjectId,
        /// Whose turn it is.
        holder: PromiseId,
    },
    /// The key of the object has its run, and runs once.
    #[error(
        "`{object}` has had its run, and runs once: read it by its id, `{run}`, or use another key"
    )]
    RanAlready {
        /// The object.
        object: ObjectId,
        /// Its run.
        run: PromiseId,
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
    /// The alias stands for another module by now.
    #[error(
        "`{alias}` stands for the module `{current}` by now, and no more for `{given}`: look again"
    )]
    AliasMoved {
        /// The alias.
        alias: Text,
        /// The module that was named.
        given: Digest,
        /// The present one.
        current: Digest,
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
    /// What the schedule made last has not ended, and it makes one at a time.
    #[error(
        "`{last}`, which the schedule `{schedule}` started before, has not ended, and it starts one at a time"
    )]
    Overlaps {
        /// The schedule.
        schedule: ScheduleId,
        /// What has not ended.
        last: PromiseId,
    },
    /// A external worker cannot take it.
    #[error("hosts execute the function of `{0}` themselves; wait for its promise instead")]
    Hosted(PromiseId),
}

impl Refusal {
    /// The code of the protocol: 400, 404, 409, 422, 429, 500 or 570.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::NotFound(_) | Self::NoSchedule(_) => 404,
            Self::Conflict(_) | Self::IdTaken { .. } => 409,
            Self::Unprocessable(_) => 422,
            Self::Tree { stop, .. } => match stop {
                TreeStop::Depth(_) | TreeStop::Executions(_) => 422,
                TreeStop::Births(_) => 429,
                TreeStop::Killed => 409,
            },
            Self::Unreadable { .. } => 500,
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
            Self::Tree { .. } => "tree-bound",
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

impl From<TooLong> for Refusal {
    fn from(too_long: TooLong) -> Self {
        Self::BadRequest(too_long.to_string())
    }
}

impl From<BadName> for Refusal {
    fn from(bad: BadName) -> Self {
        Self::BadRequest(bad.to_string())
    }
}

impl From<KeyReused> for Refusal {
    fn from(reused: KeyReused) -> Self {
        Conflict::KeyReused(Box::new(reused)).into()
    }
}
