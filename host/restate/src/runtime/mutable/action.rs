//! Actions that a deployment's frames request from the runtime.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::mutable::{Entry, ErrorMessage};

/// An action for the runtime.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryAction {
    /// Store the entry at the end of the journal, and execute it. Do not store a fallible entry
    /// that cannot be executed: end the attempt, and retry later.
    Append {
        /// Index of the entry in the journal; the input has 0.
        index: u32,
        entry: Entry,
        /// The frame of the entry, as stored in the journal.
        record: Bytes,
        /// True if the runtime must [`acknowledge`](super::MutableRuntimeAttempt::acknowledge) the entry once
        /// stored.
        requires_ack: bool,
    },
    /// The attempt has ended. Begin another one when one of the entries has its result.
    Suspend(EntrySuspension),
    /// The attempt has ended. Retry as the policy and the message say.
    Failed(ErrorMessage),
    /// The invocation has ended, with the output in the journal.
    Ended,
}

/// A wait that the runtime has to observe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySuspension {
    /// The awaited entries; one of them has to be completed.
    pub indexes: BTreeSet<u32>,
    /// True to begin another attempt immediately: a result arrived too late to be sent, or the
    /// deployment waits for an acknowledgement, which it will see in the journal.
    pub ready: bool,
}
