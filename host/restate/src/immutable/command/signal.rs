//! Commands that send signals.

use prost::{Message, Oneof};

use crate::wire::{Failure, ValueMessage, Void};

commands! {
    /// Sends a signal to an invocation: a cancellation, the completion of an awakeable, or a named
    /// signal.
    SendSignal {
        /// Id of the receiving invocation.
        #[prost(string, tag = "1")]
        pub target_invocation_id: String,
        /// Index or name of the signal.
        #[prost(oneof = "SignalKey", tags = "2, 3")]
        pub signal: Option<SignalKey>,
        /// Payload of the signal.
        #[prost(oneof = "SignalResult", tags = "4, 5, 6")]
        pub result: Option<SignalResult>,
    }
}

/// Identifies a signal of an invocation.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum SignalKey {
    /// By index: 1 is the cancellation, 17 and above are awakeables.
    #[prost(uint32, tag = "2")]
    Index(u32),
    /// By name.
    #[prost(string, tag = "3")]
    Name(String),
}

/// Payload of a signal.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum SignalResult {
    /// No payload.
    #[prost(message, tag = "4")]
    Void(Void),
    #[prost(message, tag = "5")]
    Value(ValueMessage),
    #[prost(message, tag = "6")]
    Failure(Failure),
}
