//! The messages of entries: what an invocation asked for, with its result when it has come.
//!
//! Fields 12 to 15 are the same in all: the entry's name, for people, and its result. A value that
//! is not bytes but text or a list is still read as bytes here, and its form is a matter of the
//! entry's [kind](super::EntryKind).

use bytes::Bytes;
use prost::{Message, Oneof};

use crate::wire::{Failure, Header, IdempotentRequestTarget, Outcome, Void, WorkflowTarget};

/// A result of an entry.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum EntryResult {
    /// There is nothing, or nothing to say.
    #[prost(message, tag = "13")]
    Empty(Void),
    /// Bytes, in the form of the entry's kind.
    #[prost(bytes = "bytes", tag = "14")]
    Value(Bytes),
    /// A failure.
    #[prost(message, tag = "15")]
    Failure(Failure),
}

impl EntryResult {
    /// No value.
    pub const EMPTY: Self = Self::Empty(Void {});
}

impl From<Outcome> for EntryResult {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success(value) => Self::Value(value),
            Outcome::Failure(failure) => Self::Failure(failure),
        }
    }
}

/// What the invocation was called with. The runtime writes it, first of all.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Input {
    /// The headers of the call.
    #[prost(message, repeated, tag = "1")]
    pub headers: Vec<Header>,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// The argument.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// How the invocation ended. The last entry.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Output {
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// The outcome.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Reads a key of state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// The value, if there is one.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Writes a key of state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SetState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The value.
    #[prost(bytes = "bytes", tag = "3")]
    pub value: Bytes,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// None: it has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Removes a key of state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// None: it has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Removes all state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearAllState {
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// None: it has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Reads the keys of state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetStateKeys {
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// The keys, as a [`StateKeys`](crate::wire::StateKeys).
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Waits for a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetPromise {
    /// The promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// The promise's outcome.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Looks at a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct PeekPromise {
    /// The promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// The promise's outcome, if it has one.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Completes a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CompletePromise {
    /// The promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// What it is completed with.
    #[prost(oneof = "PromiseCompletion", tags = "2, 3")]
    pub completion: Option<PromiseCompletion>,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// Whether this was the first.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// What a promise is completed with.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum PromiseCompletion {
    /// Bytes.
    #[prost(bytes = "bytes", tag = "2")]
    Value(Bytes),
    /// A failure.
    #[prost(message, tag = "3")]
    Failure(Failure),
}

/// Waits until an instant.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Sleep {
    /// The instant, in milliseconds since the Unix epoch.
    #[prost(uint64, tag = "1")]
    pub wake_up_at_ms: u64,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// Nothing, or a failure when the invocation was cancelled.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Calls a handler and gets its result.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Call {
    /// The service.
    #[prost(string, tag = "1")]
    pub service_name: String,
    /// The handler.
    #[prost(string, tag = "2")]
    pub handler_name: String,
    /// The argument.
    #[prost(bytes = "bytes", tag = "3")]
    pub parameter: Bytes,
    /// Headers for the callee.
    #[prost(message, repeated, tag = "4")]
    pub headers: Vec<Header>,
    /// The key of an object or a workflow. Empty for others.
    #[prost(string, tag = "5")]
    pub key: String,
    /// Calls with the same key are one. From V3.
    #[prost(string, optional, tag = "6")]
    pub idempotency_key: Option<String>,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// The callee's outcome.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Calls a handler and does not get its result.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct OneWayCall {
    /// The service.
    #[prost(string, tag = "1")]
    pub service_name: String,
    /// The handler.
    #[prost(string, tag = "2")]
    pub handler_name: String,
    /// The argument.
    #[prost(bytes = "bytes", tag = "3")]
    pub parameter: Bytes,
    /// When to begin, in milliseconds since the Unix epoch; 0 is at once.
    #[prost(uint64, tag = "4")]
    pub invoke_at_ms: u64,
    /// Headers for the callee.
    #[prost(message, repeated, tag = "5")]
    pub headers: Vec<Header>,
    /// The key of an object or a workflow. Empty for others.
    #[prost(string, tag = "6")]
    pub key: String,
    /// Calls with the same key are one. From V3.
    #[prost(string, optional, tag = "7")]
    pub idempotency_key: Option<String>,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// None: it has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Waits for another to complete it. Its id has the entry's index.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Awakeable {
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// What it was completed with.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Completes an awakeable, of this or another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CompleteAwakeable {
    /// The awakeable's id.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// What it is completed with.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Something that was done in the deployment, with its outcome.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Run {
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// The outcome.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Asks an invocation to stop. From V3.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CancelInvocation {
    /// Which: by its id, or by the entry that called it.
    #[prost(oneof = "CancelTarget", tags = "1, 2")]
    pub target: Option<CancelTarget>,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// None: it has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// The invocation that is to stop.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum CancelTarget {
    /// By its id.
    #[prost(string, tag = "1")]
    InvocationId(String),
    /// By the index of the entry that called it.
    #[prost(uint32, tag = "2")]
    CallEntryIndex(u32),
}

/// Asks for the id of an invocation that was called. From V3.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetCallInvocationId {
    /// The index of the entry that called it.
    #[prost(uint32, tag = "1")]
    pub call_entry_index: u32,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// The id, as text.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Waits for the result of another invocation. From V3.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct AttachInvocation {
    /// Which.
    #[prost(oneof = "InvocationTarget", tags = "1, 2, 3, 4")]
    pub target: Option<InvocationTarget>,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// Its outcome.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Looks at the result of another invocation. From V3.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetInvocationOutput {
    /// Which.
    #[prost(oneof = "InvocationTarget", tags = "1, 2, 3, 4")]
    pub target: Option<InvocationTarget>,
    /// The entry's name.
    #[prost(string, tag = "12")]
    pub name: String,
    /// Its outcome, if it has one.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum InvocationTarget {
    /// By its id.
    #[prost(string, tag = "1")]
    InvocationId(String),
    /// By the index of the entry that called it.
    #[prost(uint32, tag = "2")]
    CallEntryIndex(u32),
    /// By the idempotency key that it was called with.
    #[prost(message, tag = "3")]
    IdempotentRequest(IdempotentRequestTarget),
    /// By its workflow and key.
    #[prost(message, tag = "4")]
    Workflow(WorkflowTarget),
}
