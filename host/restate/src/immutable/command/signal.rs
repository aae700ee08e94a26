//! Commands that tell an invocation something.

use prost::{Message, Oneof};

use crate::wire::{Failure, Value, Void};

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
