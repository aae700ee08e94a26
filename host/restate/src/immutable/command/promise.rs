//! Commands on promises of the workflow and on awakeables.

use prost::{Message, Oneof};

use crate::wire::{Failure, ValueMessage};

/// Waits for a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetPromise {
    /// Key of the promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Reads a promise of the workflow without waiting.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct PeekPromise {
    /// Key of the promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Completes a promise of the workflow.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CompletePromise {
    /// Key of the promise.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value or failure of the promise.
    #[prost(oneof = "Completion", tags = "2, 3")]
    pub completion: Option<Completion>,
    /// The completion id of the result, which says if this command completed the promise first.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Completes an awakeable, of this or another invocation.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CompleteAwakeable {
    /// The awakeable's id, in either form (`prom_1…` or `sign_1…`).
    #[prost(string, tag = "1")]
    pub awakeable_id: String,
    /// The value or failure of the awakeable.
    #[prost(oneof = "Completion", tags = "2, 3")]
    pub result: Option<Completion>,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// The value or failure that completes a promise or an awakeable.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum Completion {
    #[prost(message, tag = "2")]
    Value(ValueMessage),
    #[prost(message, tag = "3")]
    Failure(Failure),
}
