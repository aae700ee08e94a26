//! The messages of commands: what an invocation asked for, one after the other.
//!
//! Field 12 is the command's name in all of them, for people; field 11 the number under which its
//! result comes, a completion id that the deployment chose.

use bytes::Bytes;
use prost::{Message, Oneof};

use crate::wire::{
    Failure, Header, IdempotentRequestTarget, Outcome, StateKeys, Value, Void, WorkflowTarget,
};

/// What the invocation was called with. The runtime writes it, first of all.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Input {
    /// The headers of the call.
    #[prost(message, repeated, tag = "1")]
    pub headers: Vec<Header>,
    /// The argument.
    #[prost(message, optional, tag = "14")]
    pub value: Option<Value>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// How the invocation ended. The last command.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Output {
    /// The outcome.
    #[prost(oneof = "OutputResult", tags = "14, 15")]
    pub result: Option<OutputResult>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// An outcome in an [`Output`].
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum OutputResult {
    /// Bytes.
    #[prost(message, tag = "14")]
    Value(Value),
    /// A failure.
    #[prost(message, tag = "15")]
    Failure(Failure),
}

/// Reads a key of state that the deployment does not have.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetLazyState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Writes a key of state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SetState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The value.
    #[prost(message, optional, tag = "3")]
    pub value: Option<Value>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Removes a key of state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Removes all state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearAllState {
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Reads the keys of state, which the deployment does not have.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetLazyStateKeys {
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// A read of state that the deployment answered itself, with the answer.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetEagerState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The answer.
    #[prost(oneof = "EagerState", tags = "13, 14")]
    pub result: Option<EagerState>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// An answer in a [`GetEagerState`].
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum EagerState {
    /// The key has no value.
    #[prost(message, tag = "13")]
    Void(Void),
    /// The value.
    #[prost(message, tag = "14")]
    Value(Value),
}

/// A read of the keys of state that the deployment answered itself, with the answer.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetEagerStateKeys {
    /// The answer.
    #[prost(message, optional, tag = "14")]
    pub value: Option<StateKeys>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Waits for a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetPromise {
    /// The promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Looks at a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct PeekPromise {
    /// The promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Completes a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CompletePromise {
    /// The promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// What it is completed with.
    #[prost(oneof = "Completion", tags = "2, 3")]
    pub completion: Option<Completion>,
    /// The completion id of the result: whether this was the first.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// What a promise or an awakeable is completed with.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum Completion {
    /// Bytes.
    #[prost(message, tag = "2")]
    Value(Value),
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
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
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
    /// Calls with the same key are one.
    #[prost(string, optional, tag = "6")]
    pub idempotency_key: Option<String>,
    /// The scope of the callee. From V7.
    #[prost(string, optional, tag = "7")]
    pub scope: Option<String>,
    /// The limit that the callee counts under. From V7.
    #[prost(string, optional, tag = "8")]
    pub limit_key: Option<String>,
    /// The completion id under which the callee's id comes.
    #[prost(uint32, tag = "10")]
    pub invocation_id_completion_id: u32,
    /// The completion id of the callee's result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
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
    /// Calls with the same key are one.
    #[prost(string, optional, tag = "7")]
    pub idempotency_key: Option<String>,
    /// The scope of the callee. From V7.
    #[prost(string, optional, tag = "8")]
    pub scope: Option<String>,
    /// The limit that the callee counts under. From V7.
    #[prost(string, optional, tag = "9")]
    pub limit_key: Option<String>,
    /// The completion id under which the callee's id comes.
    #[prost(uint32, tag = "10")]
    pub invocation_id_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Sends a signal to an invocation: to cancel it, to complete its awakeable, or by a name.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SendSignal {
    /// The invocation.
    #[prost(string, tag = "1")]
    pub target_invocation_id: String,
    /// Which signal.
    #[prost(oneof = "SignalKey", tags = "2, 3")]
    pub signal: Option<SignalKey>,
    /// What it carries.
    #[prost(oneof = "SignalResult", tags = "4, 5, 6")]
    pub result: Option<SignalResult>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Which signal of an invocation.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum SignalKey {
    /// By its index: 1 cancels, 17 and above are awakeables.
    #[prost(uint32, tag = "2")]
    Index(u32),
    /// By its name.
    #[prost(string, tag = "3")]
    Name(String),
}

/// What a signal carries.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum SignalResult {
    /// Nothing.
    #[prost(message, tag = "4")]
    Void(Void),
    /// Bytes.
    #[prost(message, tag = "5")]
    Value(Value),
    /// A failure.
    #[prost(message, tag = "6")]
    Failure(Failure),
}

/// Does something in the deployment whose outcome is then kept. The outcome is proposed in a frame
/// of its own.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Run {
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Waits for the result of another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct AttachInvocation {
    /// Which.
    #[prost(oneof = "InvocationTarget", tags = "1, 3, 4")]
    pub target: Option<InvocationTarget>,
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Looks at the result of another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetInvocationOutput {
    /// Which.
    #[prost(oneof = "InvocationTarget", tags = "1, 3, 4")]
    pub target: Option<InvocationTarget>,
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum InvocationTarget {
    /// By its id.
    #[prost(string, tag = "1")]
    InvocationId(String),
    /// By the idempotency key that it was called with.
    #[prost(message, tag = "3")]
    IdempotentRequest(IdempotentRequestTarget),
    /// By its workflow and key.
    #[prost(message, tag = "4")]
    Workflow(WorkflowTarget),
}

/// Completes an awakeable, of this or another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CompleteAwakeable {
    /// The awakeable's id, in either form.
    #[prost(string, tag = "1")]
    pub awakeable_id: String,
    /// What it is completed with.
    #[prost(oneof = "Completion", tags = "2, 3")]
    pub result: Option<Completion>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

macro_rules! outcomes {
    ($($oneof:ident),*) => {$(
        impl From<Outcome> for $oneof {
            fn from(outcome: Outcome) -> Self {
                match outcome {
                    Outcome::Success(content) => Self::Value(Value { content }),
                    Outcome::Failure(failure) => Self::Failure(failure),
                }
            }
        }

        impl From<$oneof> for Outcome {
            fn from(result: $oneof) -> Self {
                match result {
                    $oneof::Value(value) => Self::Success(value.content),
                    $oneof::Failure(failure) => Self::Failure(failure),
                }
            }
        }
    )*};
}
outcomes!(OutputResult, Completion);
