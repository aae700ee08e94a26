//! What a deployment's frames ask of the runtime.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::mutable::{Entry, ErrorMessage};

/// What the runtime has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Store this at the end of the journal, and begin what it asks for. A fallible entry that
    /// cannot be done is not stored: end the attempt, and try again later.
    Append {
        /// Its index in the journal; the input has 0.
        index: u32,
        /// The entry.
        entry: Entry,
        /// Its frame, as the journal keeps it.
        record: Bytes,
        /// Whether to [`acknowledge`](super::Attempt::acknowledge) it when it is stored.
        requires_ack: bool,
    },
    /// The attempt is over. Begin another when one of the entries has its result.
    Suspend(Suspended),
    /// The attempt is over. Try again, as the policy and the message say.
    Failed(ErrorMessage),
    /// The invocation is over, with the output that the journal has.
    Ended,
}

/// A wait that is left to the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspended {
    /// The entries of which one has to be completed.
    pub indexes: BTreeSet<u32>,
    /// Whether to begin another attempt at once: a result came when it could no longer be told, or
    /// the deployment waits to hear that an entry is stored, which it will see in the journal.
    pub ready: bool,
}
