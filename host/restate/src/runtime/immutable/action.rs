//! Actions that a deployment's frames request from the runtime.

use bytes::Bytes;

use crate::{
    immutable::{AwaitingOn, Command, ErrorMessage, Future},
    wire::OperationOutcome,
};

/// An action for the runtime.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandAction {
    /// Store the command at the end of the journal, and execute it.
    Append {
        /// Index of the command; the input has 0.
        index: u32,
        command: Command,
        /// The frame of the command, as stored in the journal.
        record: Bytes,
        /// True if the runtime must [`acknowledge`](super::ImmutableRuntimeAttempt::acknowledge) the command once
        /// stored.
        requires_ack: bool,
    },
    /// Store the outcome as the result of a run, then [`notify`](super::ImmutableRuntimeAttempt::notify) it.
    ProposeRun {
        /// The completion id of the run.
        completion_id: u32,
        outcome: OperationOutcome,
        /// True if the runtime sends only an acknowledgement, without the outcome. `notify` handles
        /// this.
        requires_ack: bool,
    },
    /// Display the current wait. It changes often and is not stored.
    AwaitingOn(AwaitingOn),
    /// Read a state key and [`answer`](super::ImmutableRuntimeAttempt::answer_state).
    ReadState {
        /// Number of the read in this attempt.
        ephemeral_completion_id: u32,
        key: Bytes,
    },
    /// The attempt has ended. Begin another one when the wait is satisfied.
    Suspend(FutureSuspension),
    /// The attempt has ended. Retry as the policy and the message say.
    Failed(ErrorMessage),
    /// The invocation has ended, with the output in the journal.
    Ended,
}

/// A wait that the runtime has to observe.
#[derive(Clone, Debug, PartialEq)]
pub struct FutureSuspension {
    /// The wait. Evaluate [`Future::is_satisfied`] with the notifications stored after the attempt
    /// and not sent in it.
    pub awaiting: Future,
    /// True to begin another attempt immediately: an awaited notification arrived too late to be
    /// sent, or the awaited run has no outcome and only another attempt can execute it.
    pub ready: bool,
}
