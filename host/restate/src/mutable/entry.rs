//! Messages of entries: the operations of an invocation, each with its result once available.
//!
//! All messages share fields 12 to 15: the entry's name, for display, and its result. Values that
//! contain text or a list are decoded as bytes here; their form depends on the entry's
//! [kind](super::EntryKind), which also says if there is a result at all.

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

macro_rules! entries {
    ($($(#[$about:meta])* $entry:ident { $($own:tt)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, Hash, Message)]
        pub struct $entry {
            $($own)*
            #[prost(string, tag = "12")]
            pub name: String,
            #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
            pub result: Option<EntryResult>,
        }
    )*};
}

entries! {
    /// The input of the invocation: the first entry, written by the runtime. Result: the argument
    /// of the call.
    Input {
        #[prost(message, repeated, tag = "1")]
        pub headers: Vec<Header>,
    }

    /// The outcome of the invocation: the last entry.
    Output {}

    /// Reads a state key. Result: the value, or [`EntryResult::Empty`] if the key has none.
    GetState {
        #[prost(bytes = "bytes", tag = "1")]
        pub key: Bytes,
    }

    /// Writes a state key.
    SetState {
        #[prost(bytes = "bytes", tag = "1")]
        pub key: Bytes,
        #[prost(bytes = "bytes", tag = "3")]
        pub value: Bytes,
    }

    /// Removes a state key.
    ClearState {
        #[prost(bytes = "bytes", tag = "1")]
        pub key: Bytes,
    }

    /// Removes all state.
    ClearAllState {}

    /// Reads the keys of the state. Result: the keys, as a [`StateKeys`](crate::wire::StateKeys).
    GetStateKeys {}

    /// Waits for a promise of the workflow. Result: outcome of the promise.
    GetPromise {
        /// Key of the promise.
        #[prost(string, tag = "1")]
        pub key: String,
    }

    /// Reads a promise of the workflow without waiting. Result: outcome of the promise, if it is
    /// settled.
    PeekPromise {
        /// Key of the promise.
        #[prost(string, tag = "1")]
        pub key: String,
    }

    /// Completes a promise of the workflow. Result: empty if this entry completed the promise
    /// first, otherwise a failure.
    CompletePromise {
        /// Key of the promise.
        #[prost(string, tag = "1")]
        pub key: String,
        /// The value or failure of the promise.
        #[prost(oneof = "PromiseCompletion", tags = "2, 3")]
        pub completion: Option<PromiseCompletion>,
    }

    /// Waits until an instant. Result: empty, or a failure if the invocation was cancelled.
    Sleep {
        /// The instant, in milliseconds since the Unix epoch.
        #[prost(uint64, tag = "1")]
        pub wake_up_at_ms: u64,
    }

    /// Calls a handler and awaits its result. Result: outcome of the callee.
    Call {
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
    }

    /// Calls a handler without awaiting its result.
    OneWayCall {
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
    }

    /// Waits for completion by another party. The awakeable's id contains the entry's index.
    /// Result: the value or failure of the awakeable.
    Awakeable {}

    /// Completes an awakeable, of this or another invocation. Result: the value or failure of the
    /// awakeable.
    CompleteAwakeable {
        /// Id of the awakeable.
        #[prost(string, tag = "1")]
        pub id: String,
    }

    /// An action executed in the deployment, with its outcome. Result: outcome of the action.
    Run {}

    /// Cancels an invocation. From V3.
    CancelInvocation {
        /// The invocation, by its id or by the entry that called it.
        #[prost(oneof = "CancelTarget", tags = "1, 2")]
        pub target: Option<CancelTarget>,
    }

    /// Requests the id of a called invocation. From V3. Result: the invocation id, as text.
    GetCallInvocationId {
        /// Index of the calling entry.
        #[prost(uint32, tag = "1")]
        pub call_entry_index: u32,
    }

    /// Waits for the result of another invocation. From V3. Result: outcome of the invocation.
    AttachInvocation {
        /// The invocation to attach to.
        #[prost(oneof = "InvocationTarget", tags = "1, 2, 3, 4")]
        pub target: Option<InvocationTarget>,
    }

    /// Reads the result of another invocation without waiting. From V3. Result: outcome of the
    /// invocation, if it has ended.
    GetInvocationOutput {
        /// The invocation to read.
        #[prost(oneof = "InvocationTarget", tags = "1, 2, 3, 4")]
        pub target: Option<InvocationTarget>,
    }
}

/// The value or failure that completes a promise.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum PromiseCompletion {
    #[prost(bytes = "bytes", tag = "2")]
    Value(Bytes),
    #[prost(message, tag = "3")]
    Failure(Failure),
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
