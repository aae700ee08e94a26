//! What a deployment's frames ask of the runtime.

use bytes::Bytes;

use crate::{
    immutable::{AwaitingOn, Command, ErrorMessage, Future},
    wire::Outcome,
};

/// What the runtime has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Store this at the end of the journal, and begin what it asks for.
    Append {
        /// Its index among the commands; the input has 0.
        index: u32,
        /// The command.
        command: Command,
        /// Its frame, as the journal keeps it.
        record: Bytes,
        /// Whether to [`acknowledge`](super::Attempt::acknowledge) it when it is stored.
        requires_ack: bool,
    },
    /// Store this as the result of a run, then [`notify`](super::Attempt::notify) it.
    ProposeRun {
        /// The completion id of the run.
        completion_id: u32,
        /// The outcome.
        outcome: Outcome,
        /// Whether only that it is stored will be told, and not what. `notify` sees to it.
        requires_ack: bool,
    },
    /// Show what is waited for now. It changes often, and nothing is to be stored for it.
    AwaitingOn(AwaitingOn),
    /// Read state and [`answer`](super::Attempt::answer_state).
    ReadState {
        /// The number of the read in this attempt.
        ephemeral_completion_id: u32,
        /// The key.
        key: Bytes,
    },
    /// The attempt is over. Begin another when the wait is satisfied.
    Suspend(Suspended),
    /// The attempt is over. Try again, as the policy and the message say.
    Failed(ErrorMessage),
    /// The invocation is over, with the output that the journal has.
    Ended,
}

/// A wait that is left to the runtime.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspended {
    /// What is waited for. Ask [`Future::is_satisfied`] with what is stored after the attempt, and
    /// not told in it.
    pub awaiting: Future,
    /// Whether to begin another attempt at once: what is waited for came when it could no longer be
    /// told, or only another attempt can bring it, since it is a run without an outcome.
    pub ready: bool,
}
