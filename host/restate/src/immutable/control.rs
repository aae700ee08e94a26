//! Messages outside the journal.

use bytes::Bytes;
use prost::{Enumeration, Message, Oneof};

use super::future::Future;
use crate::{
    version::ProtocolVersion,
    wire::{Failure, OperationOutcome, ValueMessage, Void},
};

/// Ends the attempt; the invocation continues when its wait is satisfied.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Suspension {
    /// The wait of the invocation.
    pub awaiting: Future,
}

/// Encoding of a suspension in V5 and V6.
#[derive(Clone, PartialEq, Message)]
struct SuspensionList {
    #[prost(uint32, repeated, tag = "1")]
    waiting_completions: Vec<u32>,
    #[prost(uint32, repeated, tag = "2")]
    waiting_signals: Vec<u32>,
    #[prost(string, repeated, tag = "3")]
    waiting_named_signals: Vec<String>,
}

/// Encoding of a suspension in V7 and later.
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
        // In a list, order and duplicates have no meaning.
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

/// Reports that the attempt failed.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ErrorMessage {
    /// The code: an HTTP status, or one of [`failure`](crate::failure).
    #[prost(uint32, tag = "1")]
    pub code: u32,
    #[prost(string, tag = "2")]
    pub message: String,
    /// Details for the author of the handler.
    #[prost(string, tag = "3")]
    pub stacktrace: String,
    /// Index of the related command.
    #[prost(uint32, optional, tag = "4")]
    pub related_command_index: Option<u32>,
    /// Name of the related command.
    #[prost(string, optional, tag = "5")]
    pub related_command_name: Option<String>,
    /// Type of the related command.
    #[prost(uint32, optional, tag = "6")]
    pub related_command_type: Option<u32>,
    /// Milliseconds until the next attempt; overrides the retry policy.
    #[prost(uint64, optional, tag = "8")]
    pub next_retry_delay_ms: Option<u64>,
    /// Reaction of the runtime, an [`ErrorBehavior`]. From V7.
    #[prost(enumeration = "ErrorBehavior", tag = "9")]
    pub behavior: i32,
}

/// Reaction of the runtime to a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum ErrorBehavior {
    /// Retry according to the retry policy.
    Retry = 0,
    /// Pause until an operator resumes the invocation.
    Pause = 1,
    /// Fail the invocation permanently.
    Fail = 2,
}

impl ErrorMessage {
    /// Creates an error with a code and a message.
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), ..Self::default() }
    }

    pub(crate) fn trim(&mut self, version: ProtocolVersion) {
        if version < ProtocolVersion::V7 {
            self.behavior = ErrorBehavior::Retry.into();
        }
    }
}

/// Acknowledges that a command is stored, if its sender requested it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct CommandAck {
    /// Index of the command.
    #[prost(uint32, tag = "1")]
    pub command_index: u32,
}

/// Proposes the outcome of a run. It becomes the run's result when the runtime has stored it.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ProposeRunCompletion {
    /// The completion id of the run.
    #[prost(uint32, tag = "1")]
    pub result_completion_id: u32,
    #[prost(oneof = "Proposal", tags = "14, 15")]
    pub result: Option<Proposal>,
}

/// Outcome in a [`ProposeRunCompletion`]. Its bytes are not wrapped in a message.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum Proposal {
    #[prost(bytes = "bytes", tag = "14")]
    Value(Bytes),
    #[prost(message, tag = "15")]
    Failure(Failure),
}

impl From<OperationOutcome> for Proposal {
    fn from(outcome: OperationOutcome) -> Self {
        match outcome {
            OperationOutcome::Success(value) => Self::Value(value),
            OperationOutcome::Failure(failure) => Self::Failure(failure),
        }
    }
}

impl From<Proposal> for OperationOutcome {
    fn from(proposal: Proposal) -> Self {
        match proposal {
            Proposal::Value(value) => Self::Success(value),
            Proposal::Failure(failure) => Self::Failure(failure),
        }
    }
}

/// Reports the current wait of the invocation, as a hint. From V7.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct AwaitingOn {
    /// The current wait.
    #[prost(message, optional, tag = "1")]
    pub awaiting: Option<Future>,
    /// True if a run that the invocation waits for is executing.
    #[prost(bool, tag = "2")]
    pub executing_side_effects: bool,
}

/// Acknowledges that the outcome of a run is stored as proposed. From V7.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct ProposeRunCompletionAck {
    /// The completion id of the run.
    #[prost(uint32, tag = "1")]
    pub completion_id: u32,
}

/// Reads a state key without journaling the read. From V8.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetStateEphemeral {
    /// Number of the read, not used before in this attempt.
    #[prost(uint32, tag = "1")]
    pub ephemeral_completion_id: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub key: Bytes,
}

/// Answers a [`GetStateEphemeral`].
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct EphemeralState {
    /// The number of the read.
    #[prost(uint32, tag = "1")]
    pub ephemeral_completion_id: u32,
    #[prost(oneof = "EphemeralResult", tags = "4, 5")]
    pub result: Option<EphemeralResult>,
}

/// Answer in an [`EphemeralState`].
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum EphemeralResult {
    /// The key has no value.
    #[prost(message, tag = "4")]
    Void(Void),
    #[prost(message, tag = "5")]
    Value(ValueMessage),
}
