//! Commands that call handlers, or access other invocations.

use bytes::Bytes;
use prost::{Message, Oneof};

use crate::wire::{Header, IdempotentRequestTarget, WorkflowTarget};

commands! {
    /// Calls a handler and awaits its result.
    Call answered {
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
        /// Calls with the same key are deduplicated.
        #[prost(string, optional, tag = "6")]
        pub idempotency_key: Option<String>,
        /// The scope of the callee. From V7.
        #[prost(string, optional, tag = "7")]
        pub scope: Option<String>,
        /// The concurrency limit that applies to the callee. From V7.
        #[prost(string, optional, tag = "8")]
        pub limit_key: Option<String>,
        /// The completion id of the notification with the callee's invocation id.
        #[prost(uint32, tag = "10")]
        pub invocation_id_completion_id: u32,
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
        /// Calls with the same key are deduplicated.
        #[prost(string, optional, tag = "7")]
        pub idempotency_key: Option<String>,
        /// The scope of the callee. From V7.
        #[prost(string, optional, tag = "8")]
        pub scope: Option<String>,
        /// The concurrency limit that applies to the callee. From V7.
        #[prost(string, optional, tag = "9")]
        pub limit_key: Option<String>,
        /// The completion id of the notification with the callee's invocation id.
        #[prost(uint32, tag = "10")]
        pub invocation_id_completion_id: u32,
    }

    /// Waits for the result of another invocation.
    AttachInvocation answered {
        /// The invocation to attach to.
        #[prost(oneof = "InvocationTarget", tags = "1, 3, 4")]
        pub target: Option<InvocationTarget>,
    }

    /// Reads the result of another invocation without waiting.
    GetInvocationOutput answered {
        /// The invocation to read.
        #[prost(oneof = "InvocationTarget", tags = "1, 3, 4")]
        pub target: Option<InvocationTarget>,
    }
}

/// A reference to another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum InvocationTarget {
    /// By invocation id.
    #[prost(string, tag = "1")]
    InvocationId(String),
    /// By the idempotency key of its call.
    #[prost(message, tag = "3")]
    IdempotentRequest(IdempotentRequestTarget),
    /// By workflow name and key.
    #[prost(message, tag = "4")]
    Workflow(WorkflowTarget),
}
