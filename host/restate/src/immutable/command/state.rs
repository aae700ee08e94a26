//! Commands on the state of the key.

use bytes::Bytes;
use prost::{Message, Oneof};

use crate::wire::{StateKeys, ValueMessage, Void};

commands! {
    /// Reads a state key that the deployment does not know.
    GetLazyState answered {
        #[prost(bytes = "bytes", tag = "1")]
        pub key: Bytes,
    }

    /// Writes a state key.
    SetState {
        #[prost(bytes = "bytes", tag = "1")]
        pub key: Bytes,
        #[prost(message, optional, tag = "3")]
        pub value: Option<ValueMessage>,
    }

    /// Removes a state key.
    ClearState {
        #[prost(bytes = "bytes", tag = "1")]
        pub key: Bytes,
    }

    /// Removes all state.
    ClearAllState {}

    /// Reads the keys of the state, which the deployment does not know.
    GetLazyStateKeys answered {}

    /// A read of a state key that the deployment answered from its local state, with the answer.
    GetEagerState {
        #[prost(bytes = "bytes", tag = "1")]
        pub key: Bytes,
        #[prost(oneof = "EagerState", tags = "13, 14")]
        pub result: Option<EagerState>,
    }

    /// A read of the state's keys that the deployment answered from its local state, with the
    /// answer.
    GetEagerStateKeys {
        #[prost(message, optional, tag = "14")]
        pub value: Option<StateKeys>,
    }
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
