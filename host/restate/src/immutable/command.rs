//! Messages of commands: the operations of an invocation, in order.
//!
//! Field 12 is the name of every command, for display. Field 11 is the completion id under which
//! its result arrives, chosen by the deployment.

/// Declares the messages of commands: structs with a name in field 12 and, after `answered`, the
/// completion id of their result in field 11.
macro_rules! commands {
    ($($(#[$about:meta])* $command:ident $($answered:ident)? { $($own:tt)* })*) => {
        $(commands! { @one $(#[$about])* $command $($answered)? { $($own)* } })*
    };
    (@one $(#[$about:meta])* $command:ident answered { $($own:tt)* }) => {
        commands! { @one $(#[$about])* $command {
            $($own)*
            /// The completion id of the result.
            #[prost(uint32, tag = "11")]
            pub result_completion_id: u32,
        } }
    };
    (@one $(#[$about:meta])* $command:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, Hash, Message)]
        pub struct $command {
            $($own)*
            #[prost(string, tag = "12")]
            pub name: String,
        }
    };
}

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

commands! {
    /// The input of the invocation: the first command, written by the runtime.
    Input {
        #[prost(message, repeated, tag = "1")]
        pub headers: Vec<Header>,
        /// The argument of the call.
        #[prost(message, optional, tag = "14")]
        pub value: Option<ValueMessage>,
    }

    /// The outcome of the invocation: the last command.
    Output {
        #[prost(oneof = "OutputResult", tags = "14, 15")]
        pub result: Option<OutputResult>,
    }

    /// Waits until an instant.
    Sleep answered {
        /// The instant, in milliseconds since the Unix epoch.
        #[prost(uint64, tag = "1")]
        pub wake_up_at_ms: u64,
    }

    /// Executes an action in the deployment and keeps its outcome. The deployment proposes the
    /// outcome in a separate frame.
    Run answered {}
}

/// Outcome in an [`Output`].
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum OutputResult {
    #[prost(message, tag = "14")]
    Value(ValueMessage),
    #[prost(message, tag = "15")]
    Failure(Failure),
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
