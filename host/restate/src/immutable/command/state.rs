//! Commands about the state under the key.

use bytes::Bytes;
use prost::{Message, Oneof};

use crate::wire::{StateKeys, Value, Void};

/// Reads a key of state that the deployment does not have.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetLazyState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Writes a key of state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SetState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The value.
    #[prost(message, optional, tag = "3")]
    pub value: Option<Value>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Removes a key of state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Removes all state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ClearAllState {
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// Reads the keys of state, which the deployment does not have.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetLazyStateKeys {
    /// The completion id of the result.
    #[prost(uint32, tag = "11")]
    pub result_completion_id: u32,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// A read of state that the deployment answered itself, with the answer.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetEagerState {
    /// The key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// The answer.
    #[prost(oneof = "EagerState", tags = "13, 14")]
    pub result: Option<EagerState>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}

/// An answer in a [`GetEagerState`].
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum EagerState {
    /// The key has no value.
    #[prost(message, tag = "13")]
    Void(Void),
    /// The value.
    #[prost(message, tag = "14")]
    Value(Value),
}

/// A read of the keys of state that the deployment answered itself, with the answer.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetEagerStateKeys {
    /// The answer.
    #[prost(message, optional, tag = "14")]
    pub value: Option<StateKeys>,
    /// The command's name.
    #[prost(string, tag = "12")]
    pub name: String,
}
