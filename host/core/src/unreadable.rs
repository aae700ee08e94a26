//! Rows that exist but cannot be read: external damage, or the format of a newer host.
//!
//! Such a row affects only its subject. A view lists the subjects with unreadable rows, and refuses
//! any command that names one of them: no decision is based on half of a composite. A command that
//! merely touches such a subject indirectly continues: an awaiter keeps its consumed callback for
//! later.

use std::fmt;

use crate::{
    command::Command,
    id::{ObjectId, PromiseId, ResourceName, ScheduleId, StreamId},
    limit::LimitName,
    promise::OutboxKey,
};

/// Subject of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A promise, its task, or another part of its composite.
    Promise(PromiseId),
    Schedule(ScheduleId),
    /// A message in the outbox.
    Message(OutboxKey),
    /// A resource or its lease.
    Resource(ResourceName),
    /// The queue of an object.
    Object(ObjectId),
    /// A limit or one of its partitions.
    Limit(LimitName),
    Stream(StreamId),
}

impl Subject {
    /// Kind of the subject, for metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Promise(_) => "promise",
            Self::Schedule(_) => "schedule",
            Self::Message(_) => "message",
            Self::Resource(_) => "resource",
            Self::Object(_) => "object",
            Self::Limit(_) => "limit",
            Self::Stream(_) => "stream",
        }
    }

    /// Id of the subject; for a message, that of its promise.
    pub fn id(&self) -> &str {
        match self {
            Self::Promise(id) => id.as_str(),
            Self::Schedule(id) => id.as_str(),
            Self::Message(key) => key.promise().as_str(),
            Self::Resource(name) => name.as_str(),
            Self::Object(object) => object.as_str(),
            Self::Limit(name) => name.as_str(),
            Self::Stream(id) => id.as_str(),
        }
    }

    pub const KINDS: [&str; 7] =
        ["promise", "schedule", "message", "resource", "object", "limit", "stream"];

    /// Subject of a command of the engine itself. `None` for commands of clients and workers.
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
            Command::StreamDue { id } => Some(Self::Stream(id.clone())),
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
            Self::Stream(id) => write!(f, "the stream `{id}`"),
        }
    }
}
