//! Messages that are not part of the journal.

use bytes::Bytes;
use prost::{Enumeration, Message, Oneof};

use super::future::Future;
use crate::{
    version::ProtocolVersion,
    wire::{Failure, Outcome, Value, Void},
};

/// The attempt ends here, and the invocation goes on when its wait is satisfied.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Suspension {
    /// What it waits for.
    pub awaiting: Future,
}

/// A suspension of V5 and V6.
#[derive(Clone, PartialEq, Message)]
struct SuspensionList {
    #[prost(uint32, repeated, tag = "1")]
    waiting_completions: Vec<u32>,
    #[prost(uint32, repeated, tag = "2")]
    waiting_signals: Vec<u32>,
    #[prost(string, repeated, tag = "3")]
    waiting_named_signals: Vec<String>,
}

/// A suspension of V7 and later.
#[derive(Clone, PartialEq, Message)]
struct SuspensionTree {
    #[prost(message, optional, tag = "4")]
    awaiting_on: Option<Future>,
}

impl Suspension {
    pub(crate) fn decode(payload: Bytes, version: ProtocolVersion) -> Result<Self, String> {
        let broken = |error: prost::DecodeError| format!("cannot be decoded: {error}");
        if version >= ProtocolVersion::V7 {
            let tree = SuspensionTree::decode(payload).map_err(broken)?;
            let awaiting = tree.awaiting_on.ok_or("waits for nothing")?;
            return Ok(Self { awaiting });
        }
        let list = SuspensionList::decode(payload).map_err(broken)?;
        let awaiting = Future {
            completions: list.waiting_completions,
            signals: list.waiting_signals,
            named_signals: list.waiting_named_signals,
            ..Future::default()
        };
        // A list says nothing by its order, or by saying something twice.
        Ok(Self { awaiting: Future::first_of(awaiting.leaves()) })
    }

    pub(crate) fn payload(&self, version: ProtocolVersion) -> Bytes {
        if version >= ProtocolVersion::V7 {
            let tree = SuspensionTree { awaiting_on: Some(self.awaiting.clone()) };
            return tree.encode_to_vec().into();
        }
        let flat = Future::first_of(self.awaiting.leaves());
        let list = SuspensionList {
            waiting_completions: flat.completions,
            waiting_signals: flat.signals,
            waiting_named_signals: flat.named_signals,
        };
        list.encode_to_vec().into()
    }
}

/// The attempt failed.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ErrorMessage {
    /// The code, one of HTTP or of [`failure`](crate::failure).
    #[prost(uint32, tag = "1")]
    pub code: u32,
    /// The message.
    #[prost(string, tag = "2")]
    pub message: String,
    /// More of it, for the author of the handler.
    #[prost(string, tag = "3")]
    pub stacktrace: String,
    /// The command that it is about.
    #[prost(uint32, optional, tag = "4")]
    pub related_command_index: Option<u32>,
    /// That command's name.
    #[prost(string, optional, tag = "5")]
    pub related_command_name: Option<String>,
    /// That command's type.
    #[prost(uint32, optional, tag = "6")]
    pub related_command_type: Option<u32>,
    /// Milliseconds until the next attempt, instead of what the policy says.
    #[prost(uint64, optional, tag = "8")]
    pub next_retry_delay_ms: Option<u64>,
    /// What to do now. From V7.
    #[prost(enumeration = "ErrorBehavior", tag = "9")]
    pub behavior: i32,
}

/// What to do after an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum ErrorBehavior {
    /// Try again, as the policy says.
    Retry = 0,
    /// Stop until a person says to go on.
    Pause = 1,
    /// Fail the invocation for good.
    Fail = 2,
}

impl ErrorMessage {
    /// An error with a code and a message.
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), ..Self::default() }
    }

    pub(crate) fn trim(&mut self, version: ProtocolVersion) {
        if version < ProtocolVersion::V7 {
            self.behavior = ErrorBehavior::Retry.into();
        }
    }
}

/// A command is stored, which asked to hear so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct CommandAck {
    /// The index among the commands.
    #[prost(uint32, tag = "1")]
    pub command_index: u32,
}

/// The outcome of a run, which becomes its result when the runtime has stored it.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ProposeRunCompletion {
    /// The completion id of the run.
    #[prost(uint32, tag = "1")]
    pub result_completion_id: u32,
    /// The outcome.
    #[prost(oneof = "Proposal", tags = "14, 15")]
    pub result: Option<Proposal>,
}

/// An outcome in a [`ProposeRunCompletion`]. Its bytes are not in a message of their own.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum Proposal {
    /// Bytes.
    #[prost(bytes = "bytes", tag = "14")]
    Value(Bytes),
    /// A failure.
    #[prost(message, tag = "15")]
    Failure(Failure),
}

impl From<Outcome> for Proposal {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success(value) => Self::Value(value),
            Outcome::Failure(failure) => Self::Failure(failure),
        }
    }
}

impl From<Proposal> for Outcome {
    fn from(proposal: Proposal) -> Self {
        match proposal {
            Proposal::Value(value) => Self::Success(value),
            Proposal::Failure(failure) => Self::Failure(failure),
        }
    }
}

/// What the invocation waits for now: a hint, from V7.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct AwaitingOn {
    /// What it waits for.
    #[prost(message, optional, tag = "1")]
    pub awaiting: Option<Future>,
    /// Whether a run that it waits for is going on.
    #[prost(bool, tag = "2")]
    pub executing_side_effects: bool,
}

/// The outcome of a run is stored, as it was proposed. From V7.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct ProposeRunCompletionAck {
    /// The completion id of the run.
    #[prost(uint32, tag = "1")]
    pub completion_id: u32,
}

/// A read of state that is not journaled. From V8.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetStateEphemeral {
    /// A number that this attempt did not use for such a read before.
    #[prost(uint32, tag = "1")]
    pub ephemeral_completion_id: u32,
    /// The key.
    #[prost(bytes = "bytes", tag = "2")]
    pub key: Bytes,
}

/// The answer to a [`GetStateEphemeral`].
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct EphemeralState {
    /// The number of the read.
    #[prost(uint32, tag = "1")]
    pub ephemeral_completion_id: u32,
    /// The answer.
    #[prost(oneof = "EphemeralResult", tags = "4, 5")]
    pub result: Option<EphemeralResult>,
}

/// An answer in an [`EphemeralState`].
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum EphemeralResult {
    /// The key has no value.
    #[prost(message, tag = "4")]
    Void(Void),
    /// The value.
    #[prost(message, tag = "5")]
    Value(Value),
}
