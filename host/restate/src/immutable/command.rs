//! The messages of commands: what an invocation asked for, one after the other.
//!
//! Field 12 is the command's name in all of them, for people; field 11 the number under which its
//! result comes, a completion id that the deployment chose.

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
use crate::wire::{Failure, Header, Outcome, Value};

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
