//! Messages of entries: the operations of an invocation, each with its result once available.
//!
//! All messages share fields 12 to 15: the entry's name, for display, and its result. Values that
//! contain text or a list are decoded as bytes here; their form depends on the entry's
//! [kind](super::EntryKind).

use bytes::Bytes;
use prost::{Message, Oneof};

use crate::wire::{
    Failure, Header, IdempotentRequestTarget, OperationOutcome, Void, WorkflowTarget,
};

/// Result of an entry.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum EntryResult {
    /// No value.
    #[prost(message, tag = "13")]
    Empty(Void),
    /// Bytes, whose form depends on the entry's kind.
    #[prost(bytes = "bytes", tag = "14")]
    Value(Bytes),
    #[prost(message, tag = "15")]
    Failure(Failure),
}

impl EntryResult {
    /// The result without a value.
    pub const EMPTY: Self = Self::Empty(Void {});
}

impl From<OperationOutcome> for EntryResult {
    fn from(outcome: OperationOutcome) -> Self {
        match outcome {
            OperationOutcome::Success(value) => Self::Value(value),
            OperationOutcome::Failure(failure) => Self::Failure(failure),
        }
    }
}

/// The input of the invocation: the first entry, written by the runtime.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Input {
    #[prost(message, repeated, tag = "1")]
    pub headers: Vec<Header>,
    #[prost(string, tag = "12")]
    pub name: String,
    /// The argument of the call.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// The outcome of the invocation: the last entry.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Output {
    #[prost(string, tag = "12")]
    pub name: String,
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Reads a state key.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetState {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(string, tag = "12")]
    pub name: String,
    /// The value, or [`EntryResult::Empty`] if the key has none.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Writes a state key.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SetState {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub value: Bytes,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Always `None`: the entry has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Removes a state key.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearState {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Always `None`: the entry has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Removes all state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearAllState {
    #[prost(string, tag = "12")]
    pub name: String,
    /// Always `None`: the entry has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Reads the keys of the state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetStateKeys {
    #[prost(string, tag = "12")]
    pub name: String,
    /// The keys, as a [`StateKeys`](crate::wire::StateKeys).
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Waits for a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetPromise {
    /// Key of the promise.
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Outcome of the promise.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Reads a promise of the workflow without waiting.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct PeekPromise {
    /// Key of the promise.
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Outcome of the promise, if it is settled.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Completes a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CompletePromise {
    /// Key of the promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value or failure of the promise.
    #[prost(oneof = "PromiseCompletion", tags = "2, 3")]
    pub completion: Option<PromiseCompletion>,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Empty if this entry completed the promise first, otherwise a failure.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// The value or failure that completes a promise.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum PromiseCompletion {
    #[prost(bytes = "bytes", tag = "2")]
    Value(Bytes),
    #[prost(message, tag = "3")]
    Failure(Failure),
}

/// Waits until an instant.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Sleep {
    /// The instant, in milliseconds since the Unix epoch.
    #[prost(uint64, tag = "1")]
    pub wake_up_at_ms: u64,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Empty, or a failure if the invocation was cancelled.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Calls a handler and awaits its result.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Call {
    #[prost(string, tag = "1")]
    pub service_name: String,
    #[prost(string, tag = "2")]
    pub handler_name: String,
    /// The argument of the call.
    #[prost(bytes = "bytes", tag = "3")]
    pub parameter: Bytes,
    /// Headers for the callee.
    #[prost(message, repeated, tag = "4")]
    pub headers: Vec<Header>,
    /// The key of an object or a workflow; empty for other services.
    #[prost(string, tag = "5")]
    pub key: String,
    /// Calls with the same key are deduplicated. From V3.
    #[prost(string, optional, tag = "6")]
    pub idempotency_key: Option<String>,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Outcome of the callee.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Calls a handler without awaiting its result.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct OneWayCall {
    #[prost(string, tag = "1")]
    pub service_name: String,
    #[prost(string, tag = "2")]
    pub handler_name: String,
    /// The argument of the call.
    #[prost(bytes = "bytes", tag = "3")]
    pub parameter: Bytes,
    /// Start time in milliseconds since the Unix epoch; 0 starts the callee immediately.
    #[prost(uint64, tag = "4")]
    pub invoke_at_ms: u64,
    /// Headers for the callee.
    #[prost(message, repeated, tag = "5")]
    pub headers: Vec<Header>,
    /// The key of an object or a workflow; empty for other services.
    #[prost(string, tag = "6")]
    pub key: String,
    /// Calls with the same key are deduplicated. From V3.
    #[prost(string, optional, tag = "7")]
    pub idempotency_key: Option<String>,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Always `None`: the entry has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Waits for completion by another party. The awakeable's id contains the entry's index.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Awakeable {
    #[prost(string, tag = "12")]
    pub name: String,
    /// The value or failure of the awakeable.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Completes an awakeable, of this or another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CompleteAwakeable {
    /// Id of the awakeable.
    #[prost(string, tag = "1")]
    pub id: String,
    #[prost(string, tag = "12")]
    pub name: String,
    /// The value or failure of the awakeable.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// An action executed in the deployment, with its outcome.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Run {
    #[prost(string, tag = "12")]
    pub name: String,
    /// Outcome of the action.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Cancels an invocation. From V3.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CancelInvocation {
    /// The invocation, by its id or by the entry that called it.
    #[prost(oneof = "CancelTarget", tags = "1, 2")]
    pub target: Option<CancelTarget>,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Always `None`: the entry has no result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// A reference to the invocation to cancel.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum CancelTarget {
    /// By invocation id.
    #[prost(string, tag = "1")]
    InvocationId(String),
    /// By the index of the calling entry.
    #[prost(uint32, tag = "2")]
    CallEntryIndex(u32),
}

/// Requests the id of a called invocation. From V3.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetCallInvocationId {
    /// Index of the calling entry.
    #[prost(uint32, tag = "1")]
    pub call_entry_index: u32,
    #[prost(string, tag = "12")]
    pub name: String,
    /// The invocation id, as text.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Waits for the result of another invocation. From V3.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct AttachInvocation {
    /// The invocation to attach to.
    #[prost(oneof = "InvocationTarget", tags = "1, 2, 3, 4")]
    pub target: Option<InvocationTarget>,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Outcome of the invocation.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Reads the result of another invocation without waiting. From V3.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetInvocationOutput {
    /// The invocation to read.
    #[prost(oneof = "InvocationTarget", tags = "1, 2, 3, 4")]
    pub target: Option<InvocationTarget>,
    #[prost(string, tag = "12")]
    pub name: String,
    /// Outcome of the invocation, if it has ended.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// A reference to another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum InvocationTarget {
    /// By invocation id.
    #[prost(string, tag = "1")]
    InvocationId(String),
    /// By the index of the calling entry.
    #[prost(uint32, tag = "2")]
    CallEntryIndex(u32),
    /// By the idempotency key of its call.
    #[prost(message, tag = "3")]
    IdempotentRequest(IdempotentRequestTarget),
    /// By workflow name and key.
    #[prost(message, tag = "4")]
    Workflow(WorkflowTarget),
}
