//! Messages of commands: the operations of an invocation, in order.
//!
//! Field 12 is the name of every command, for display. Field 11 is the completion id under which
//! its result arrives, chosen by the deployment.

mod call;
mod promise;
mod signal;
mod state;

use prost::{Message, Oneof};

pub use self::{
    call::{AttachInvocation, Call, GetInvocationOutput, InvocationTarget, OneWayCall},
    promise::{CompleteAwakeable, CompletePromise, Completion, GetPromise, PeekPromise},
    signal::{SendSignal, SignalKey, SignalResult},
    state::{
        ClearAllState, ClearState, EagerState, GetEagerState, GetEagerStateKeys, GetLazyState,
        GetLazyStateKeys, SetState,
    },
};
use crate::wire::{Failure, Header, OperationOutcome, ValueMessage};

/// The input of the invocation: the first command, written by the runtime.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Input {
    #[prost(message, repeated, tag = "1")]
    pub headers: Vec<Header>,
    /// The argument of the call.
    #[prost(message, optional, tag = "14")]
    pub value: Option<ValueMessage>,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// The outcome of the invocation: the last command.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Output {
    #[prost(oneof = "OutputResult", tags = "14, 15")]
    pub result: Option<OutputResult>,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Outcome in an [`Output`].
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum OutputResult {
    #[prost(message, tag = "14")]
    Value(ValueMessage),
    #[prost(message, tag = "15")]
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
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Executes an action in the deployment and keeps its outcome. The deployment proposes the outcome
/// in a separate frame.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Run {
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    #[prost(string, tag = "12")]
    pub name: String,
}

macro_rules! outcomes {
    ($($oneof:ident),*) => {$(
        impl From<OperationOutcome> for $oneof {
            fn from(outcome: OperationOutcome) -> Self {
                match outcome {
                    OperationOutcome::Success(content) => Self::Value(ValueMessage { content }),
                    OperationOutcome::Failure(failure) => Self::Failure(failure),
                }
            }
        }

        impl From<$oneof> for OperationOutcome {
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
