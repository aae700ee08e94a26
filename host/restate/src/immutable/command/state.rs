//! Commands on the state of the key.

use bytes::Bytes;
use prost::{Message, Oneof};

use crate::wire::{StateKeys, ValueMessage, Void};

/// Reads a state key that the deployment does not know.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetLazyState {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Writes a state key.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SetState {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(message, optional, tag = "3")]
    pub value: Option<ValueMessage>,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Removes a state key.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearState {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Removes all state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearAllState {
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Reads the keys of the state, which the deployment does not know.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetLazyStateKeys {
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// A read of a state key that the deployment answered from its local state, with the answer.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetEagerState {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(oneof = "EagerState", tags = "13, 14")]
    pub result: Option<EagerState>,
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Answer in a [`GetEagerState`].
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum EagerState {
    /// The key has no value.
    #[prost(message, tag = "13")]
    Void(Void),
    #[prost(message, tag = "14")]
    Value(ValueMessage),
}

/// A read of the state's keys that the deployment answered from its local state, with the answer.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetEagerStateKeys {
    #[prost(message, optional, tag = "14")]
    pub value: Option<StateKeys>,
    #[prost(string, tag = "12")]
    pub name: String,
}
