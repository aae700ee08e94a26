//! Commands on promises of the workflow and on awakeables.

use prost::{Message, Oneof};

use crate::wire::{Failure, ValueMessage};

commands! {
    /// Waits for a promise of the workflow.
    GetPromise answered {
        /// Key of the promise.
        #[prost(string, tag = "1")]
        pub key: String,
    }

    /// Reads a promise of the workflow without waiting.
    PeekPromise answered {
        /// Key of the promise.
        #[prost(string, tag = "1")]
        pub key: String,
    }

    /// Completes a promise of the workflow. The result says if this command completed the promise
    /// first.
    CompletePromise answered {
        /// Key of the promise.
        #[prost(string, tag = "1")]
        pub key: String,
        /// The value or failure of the promise.
        #[prost(oneof = "Completion", tags = "2, 3")]
        pub completion: Option<Completion>,
    }

    /// Completes an awakeable, of this or another invocation.
    CompleteAwakeable {
        /// The awakeable's id, in either form (`prom_1…` or `sign_1…`).
        #[prost(string, tag = "1")]
        pub awakeable_id: String,
        /// The value or failure of the awakeable.
        #[prost(oneof = "Completion", tags = "2, 3")]
        pub result: Option<Completion>,
    }
}

/// The value or failure that completes a promise or an awakeable.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum Completion {
    #[prost(message, tag = "2")]
    Value(ValueMessage),
    #[prost(message, tag = "3")]
    Failure(Failure),
}
