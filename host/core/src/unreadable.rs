//! Rows that are there and cannot be read: damage from outside, or a format of a newer host.
//!
//! Such a row spoils only what it is about. A view says of what it holds rows that could not be
//! read, and a command that names any of that is refused, whatever it would have done; nothing is
//! decided on half of a composite. A command that only meets it at the other end of something goes
//! on: an awaiter keeps its resume for later.

use std::fmt;

use crate::{
    command::Command,
    id::{ObjectId, PromiseId, ResourceName, ScheduleId},
    limit::LimitName,
    promise::OutboxKey,
};

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A promise, its task, or something else of its composite.
    Promise(PromiseId),
    /// A schedule.
    Schedule(ScheduleId),
    /// A message owed.
    Message(OutboxKey),
    /// A resource, or the lease on it.
    Resource(ResourceName),
    /// The line of an object.
    Object(ObjectId),
    /// A limit, or one of its keys.
    Limit(LimitName),
}

impl Subject {
    /// What kind of thing it is, for figures.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Promise(_) => "promise",
            Self::Schedule(_) => "schedule",
            Self::Message(_) => "message",
            Self::Resource(_) => "resource",
            Self::Object(_) => "object",
            Self::Limit(_) => "limit",
        }
    }

    /// Its id; of a message, that of the promise it is about.
    pub fn id(&self) -> &str {
        match self {
            Self::Promise(id) => id.as_str(),
            Self::Schedule(id) => id.as_str(),
            Self::Message(key) => key.promise().as_str(),
            Self::Resource(name) => name.as_str(),
            Self::Object(object) => object.as_str(),
            Self::Limit(name) => name.as_str(),
        }
    }

    /// All kinds.
    pub const KINDS: [&str; 6] = ["promise", "schedule", "message", "resource", "object", "limit"];

    /// What a command of the engine's own is about; none for what clients and workers ask.
    pub fn of(command: &Command) -> Option<Self> {
        match command {
            Command::PromiseDue { id }
            | Command::LeaseDue { id }
            | Command::RetryDue { id }
            | Command::Reconcile { id }
            | Command::HostRelease { id, .. }
            | Command::Prune { top: id, .. } => Some(Self::Promise(id.clone())),
            Command::ScheduleDue { id } => Some(Self::Schedule(id.clone())),
            Command::OutboxDue { key } => Some(Self::Message(key.clone())),
            Command::LimitDue { name } => Some(Self::Limit(name.clone())),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Promise(id) => write!(f, "the promise `{id}`"),
            Self::Schedule(id) => write!(f, "the schedule `{id}`"),
            Self::Message(key) => {
                write!(f, "a message ({}) about `{}`", key.kind().name(), key.promise())
            }
            Self::Resource(name) => write!(f, "the resource `{name}`"),
            Self::Object(object) => write!(f, "the line of the object `{object}`"),
            Self::Limit(name) => write!(f, "the limit `{name}`"),
        }
    }
}
