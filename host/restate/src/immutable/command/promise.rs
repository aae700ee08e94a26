//! Commands about promises of the workflow, and about awakeables.

use prost::{Message, Oneof};

use crate::wire::{Failure, Value};

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
