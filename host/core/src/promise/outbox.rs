//! Messages that are committed but not yet delivered. Rows are keyed, not appended: a newer one for
//! the same purpose replaces the older one.

use serde::{Deserialize, Serialize};

use super::Promise;
use crate::{
    id::{CommandIndex, PromiseId, Version},
    limit::LimitName,
    time::{Millis, Timestamp},
    value::{Text, Value},
};

/// Key of a message: its purpose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OutboxKey {
    /// Run this task. Addressed to an external worker.
    Execute(PromiseId),
    /// This promise settled. Addressed to a listener.
    Unblock(PromiseId, Text),
    /// An event published by this command of this invocation.
    Event(PromiseId, CommandIndex),
    /// Cancel the pending children of this settled invocation. Processed by the engine itself.
    CancelChildren(PromiseId),
    /// This execution has settled and leaves the counts of this limit. Processed by the engine
    /// itself.
    LeaveLimit(PromiseId, LimitName),
}

/// Kinds of messages. The numbers are stored and must never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutboxMessageKind {
    /// Run a task.
    Execute = 1,
    /// A promise settled.
    Unblock = 2,
    /// An event was published.
    Event = 3,
    /// Internal: cancel children.
    CancelChildren = 4,
    /// Internal: an execution leaves the counts of a limit.
    LeaveLimit = 5,
}

/// Duration for which a message is postponed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Delivery failed: wait for the back-off, and at least for `at_least`.
    Failed {
        /// Minimum wait.
        at_least: Millis,
    },
    /// No delay: a channel can take the message now.
    Offered,
    /// No receiver listens at this host. Other hosts are notified by a hint; if the message is
    /// still pending, it waits for its back-off.
    Elsewhere,
    /// No channel takes the message. It waits, at no cost, until a receiver asks for it or it is
    /// offered again.
    Unclaimed,
}

/// Content of a message, beside its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutboxMessage {
    /// Run this task.
    Execute {
        /// Version at which it can be acquired.
        version: Version,
    },
    /// The promise settled. Its record is read when the message is sent, since it no longer
    /// changes.
    Unblock,
    /// Publish an event.
    Event { topic: Text, payload: Value },
    /// Cancel the pending children after this one, in order of id.
    CancelChildren {
        /// Cursor: the last child that was processed.
        after: Option<PromiseId>,
    },
    /// Remove the execution from the counts of the limit, and admit the next.
    LeaveLimit {
        /// True if it had been admitted; false if it was waiting.
        admitted: bool,
    },
}

/// A message in the outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRow {
    pub message: OutboxMessage,
    /// Creation time.
    pub created_at: Timestamp,
    /// Number of deliveries attempted.
    pub attempts: u32,
    /// Next delivery attempt.
    pub next_at: Timestamp,
}

/// A message in the form handed out for delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Run this task. Handed out once; the retry of the task covers a loss.
    Execute {
        task: PromiseId,
        /// Version at which it can be acquired.
        version: Version,
        /// Address of the worker.
        target: Text,
    },
    /// A promise settled. Handed out until acknowledged.
    Unblock {
        promise: Promise,
        /// Address of the listener.
        address: Text,
        /// Number of delivery attempts, including this one. Periods in which no host could try do
        /// not count.
        attempt: u32,
    },
    /// An event was published. Handed out until acknowledged.
    Event {
        /// The invocation that published it.
        source: PromiseId,
        /// Index of the publishing command. Together with `source`, a key for deduplication.
        index: CommandIndex,
        topic: Text,
        payload: Value,
        published_at: Timestamp,
    },
}

impl OutboxRow {
    /// A message that is due immediately.
    pub fn new(message: OutboxMessage, now: Timestamp) -> Self {
        Self { message, created_at: now, attempts: 0, next_at: now }
    }
}

impl OutboxMessageKind {
    pub const ALL: [Self; 5] =
        [Self::Execute, Self::Unblock, Self::Event, Self::CancelChildren, Self::LeaveLimit];

    /// True if the engine processes such messages itself instead of delivering them.
    pub fn is_own(self) -> bool {
        matches!(self, Self::CancelChildren | Self::LeaveLimit)
    }

    /// Stored number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Name for logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Unblock => "unblock",
            Self::Event => "event",
            Self::CancelChildren => "cancel-children",
            Self::LeaveLimit => "leave-limit",
        }
    }
}

impl OutboxKey {
    pub fn kind(&self) -> OutboxMessageKind {
        match self {
            Self::Execute(_) => OutboxMessageKind::Execute,
            Self::Unblock(..) => OutboxMessageKind::Unblock,
            Self::Event(..) => OutboxMessageKind::Event,
            Self::CancelChildren(_) => OutboxMessageKind::CancelChildren,
            Self::LeaveLimit(..) => OutboxMessageKind::LeaveLimit,
        }
    }

    /// The promise that the message is about.
    pub fn promise(&self) -> &PromiseId {
        match self {
            Self::Execute(id)
            | Self::Unblock(id, _)
            | Self::Event(id, _)
            | Self::CancelChildren(id)
            | Self::LeaveLimit(id, _) => id,
        }
    }
}
