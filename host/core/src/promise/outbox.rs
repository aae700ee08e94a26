//! Messages committed, not yet delivered. Rows are keyed, not appended: a newer one for the same
//! purpose replaces the older one.

use serde::{Deserialize, Serialize};

use super::Promise;
use crate::{
    id::{CommandIndex, PromiseId, Version},
    limit::LimitName,
    time::{Millis, Timestamp},
    value::{Text, Value},
};

/// What a message is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OutboxKey {
    /// Run this task: to a external worker.
    Execute(PromiseId),
    /// This promise settled: to this address.
    Unblock(PromiseId, Text),
    /// Published by this command of this invocation.
    Event(PromiseId, CommandIndex),
    /// Cancel what this settled invocation left pending; the engine's message to itself.
    CancelChildren(PromiseId),
    /// This execution has settled and is not counted by this limit any more; the engine's message to
    /// itself.
    LeaveLimit(PromiseId, LimitName),
}

/// The kinds of messages. The numbers are stored and outlive the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageKind {
    /// Run a task.
    Execute = 1,
    /// A promise settled.
    Unblock = 2,
    /// Something published.
    Event = 3,
    /// The engine's own: cancel children.
    CancelChildren = 4,
    /// The engine's own: an execution is not counted by a limit any more.
    LeaveLimit = 5,
}

/// Until when a message is put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Its delivery failed: until its back-off is over, and at least for so long.
    Failed {
        /// The least wait.
        at_least: Millis,
    },
    /// Not at all: a channel can take the message now.
    Offered,
    /// No receiver of the message listens at this host: other hosts are told, as a hint. For its
    /// back-off, if it is still owed.
    Elsewhere,
    /// No channel takes the message: until a receiver asks for it or it is offered again. It costs
    /// nothing while it lies there.
    Unclaimed,
}

/// What a row holds beside its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Run this task.
    Execute {
        /// The version it may be acquired at.
        version: Version,
    },
    /// The promise settled; its record is read when the message is sent, for it can no longer
    /// change.
    Unblock,
    /// Something to publish.
    Event {
        /// Where.
        topic: Text,
        /// What.
        payload: Value,
    },
    /// Cancel the pending children after this one, in the order of their ids.
    CancelChildren {
        /// The last child dealt with.
        after: Option<PromiseId>,
    },
    /// Count it no more, and admit who is next.
    LeaveLimit {
        /// Whether it had been admitted, and did not wait.
        admitted: bool,
    },
}

/// A message owed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRow {
    /// What it says.
    pub message: Message,
    /// Since when it is owed.
    pub created_at: Timestamp,
    /// How often it was handed over.
    pub attempts: u32,
    /// When it is handed over next.
    pub next_at: Timestamp,
}

/// A message as it is handed over for delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Run this task. Handed over once; the task's retry covers a loss.
    Execute {
        /// The task.
        task: PromiseId,
        /// The version it may be acquired at.
        version: Version,
        /// Where to.
        target: Text,
    },
    /// This promise settled. Handed over until acknowledged.
    Unblock {
        /// The settled promise.
        promise: Promise,
        /// Where to.
        address: Text,
        /// How often it has been handed over, this time included: the time in which no host was
        /// there to try does not count.
        attempt: u32,
    },
    /// Something published. Handed over until acknowledged.
    Event {
        /// The invocation that published it.
        source: PromiseId,
        /// By which command; with the source, a key that tells duplicates.
        index: CommandIndex,
        /// Where.
        topic: Text,
        /// What.
        payload: Value,
        /// When.
        published_at: Timestamp,
    },
}

impl OutboxRow {
    /// A message owed from now on.
    pub fn new(message: Message, now: Timestamp) -> Self {
        Self { message, created_at: now, attempts: 0, next_at: now }
    }
}

impl MessageKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Execute, Self::Unblock, Self::Event, Self::CancelChildren, Self::LeaveLimit];

    /// Whether the engine itself carries such messages out, and nobody else is told.
    pub fn is_own(self) -> bool {
        matches!(self, Self::CancelChildren | Self::LeaveLimit)
    }

    /// Its number in a store.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Its name, for logs and metrics.
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
    /// What kind of message it names.
    pub fn kind(&self) -> MessageKind {
        match self {
            Self::Execute(_) => MessageKind::Execute,
            Self::Unblock(..) => MessageKind::Unblock,
            Self::Event(..) => MessageKind::Event,
            Self::CancelChildren(_) => MessageKind::CancelChildren,
            Self::LeaveLimit(..) => MessageKind::LeaveLimit,
        }
    }

    /// The promise the message is about.
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
