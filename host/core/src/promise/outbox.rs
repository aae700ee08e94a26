//! Messages committed, not yet delivered. Rows are keyed, not appended: a newer one for the same purpose replaces the
//! older one.

use serde::{Deserialize, Serialize};

use crate::id::{CommandIndex, PromiseId, Version};
use crate::time::Timestamp;
use crate::value::{Text, Value};

use super::Promise;

/// What a message is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OutboxKey {
    /// Run this task: to a worker outside.
    Execute(PromiseId),
    /// This promise settled: to this address.
    Unblock(PromiseId, Text),
    /// Published by this command of this invocation.
    Event(PromiseId, CommandIndex),
    /// Cancel what this settled invocation left pending; the engine's message to itself.
    CancelChildren(PromiseId),
}

/// What a row holds beside its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Run this task.
    Execute {
        /// The version it may be acquired at.
        version: Version,
    },
    /// The promise settled; its record is read when the message is sent, for it can no longer change.
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
    },
}

impl OutboxRow {
    /// A message owed from now on.
    pub fn new(message: Message, now: Timestamp) -> Self {
        Self { message, created_at: now, attempts: 0, next_at: now }
    }
}

impl OutboxKey {
    /// The promise the message is about.
    pub fn promise(&self) -> &PromiseId {
        match self {
            Self::Execute(id)
            | Self::Unblock(id, _)
            | Self::Event(id, _)
            | Self::CancelChildren(id) => id,
        }
    }
}
