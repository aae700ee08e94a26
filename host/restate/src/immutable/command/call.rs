//! Commands that call handlers, or look at invocations.

use bytes::Bytes;
use prost::{Message, Oneof};

use crate::wire::{Header, IdempotentRequestTarget, WorkflowTarget};

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
