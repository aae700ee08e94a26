//! The protocol state machine of an attempt, for both families of the protocol.

use bytes::Bytes;
use segno_restate::{
    Violation,
    immutable::{Command, ErrorMessage, Future, Notification, NotificationId, OutputResult},
    mutable::{Entry, EntryResult},
    runtime::{immutable, mutable},
    version::{Family, ProtocolVersion},
    wire::{Outcome, Start},
};

use super::wish::{Wish, entry_result};

/// The state machine of an attempt.
pub enum Machine {
    /// For V5 and later.
    Immutable(immutable::Attempt),
    /// For V1 to V3.
    Mutable(mutable::Attempt),
}

/// An action of the deployment.
pub enum Step {
    /// The deployment issued a command.
    Asked {
        /// The command.
        wish: Box<Wish>,
        /// The frame of the command.
        frame: Bytes,
        /// The index to acknowledge when the command is stored.
        acknowledge: Option<u32>,
    },
    /// The final outcome.
    Output(Option<Outcome>),
    /// Proposes the outcome of a run.
    Ran {
        /// The completion id of the run.
        completion: u32,
        outcome: Outcome,
    },
    /// The deployment reads state without a record of it.
    ReadState {
        /// The number of the read.
        read: u32,
        key: Bytes,
    },
    /// The attempt suspended. Another one begins when the wait is over.
    Suspended {
        /// The notifications that the deployment waits for.
        awaiting: Future,
        /// True if another attempt begins immediately.
        ready: bool,
    },
    /// Reports that the attempt failed.
    Failed(ErrorMessage),
    /// The invocation has ended.
    Ended,
}

impl Machine {
    /// Begins an attempt. Returns the first bytes to send.
    pub fn open<'a>(
        version: ProtocolVersion,
        start: Start,
        frames: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(Self, Bytes), Violation> {
        Ok(match version.family() {
            Family::Immutable => {
                let (attempt, first) = immutable::Attempt::open(version, start, frames)?;
                (Self::Immutable(attempt), first)
            }
            Family::Mutable => {
                let (attempt, first) = mutable::Attempt::open(version, start, frames)?;
                (Self::Mutable(attempt), first)
            }
        })
    }

    /// Decodes bytes from the deployment.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<Step>, Violation> {
        Ok(match self {
            Self::Immutable(attempt) => {
                attempt.receive(bytes)?.into_iter().filter_map(of_command).collect()
            }
            Self::Mutable(attempt) => attempt.receive(bytes)?.into_iter().map(of_entry).collect(),
        })
    }

    /// Encodes a stored notification. Returns the bytes to send.
    pub fn tell(&mut self, told: &Notification) -> Result<Bytes, Violation> {
        match self {
            Self::Immutable(attempt) => attempt.notify(told),
            Self::Mutable(attempt) => match told.id {
                NotificationId::Completion(index) | NotificationId::Signal(index) => {
                    attempt.complete(index, &entry_result(&told.result))
                }
                NotificationId::NamedSignal(_) => Ok(Bytes::new()),
            },
        }
    }

    /// Encodes the acknowledgement that a command is stored. Returns the bytes to send.
    pub fn acknowledge(&mut self, index: u32) -> Result<Bytes, Violation> {
        match self {
            Self::Immutable(attempt) => attempt.acknowledge(index),
            Self::Mutable(attempt) => attempt.acknowledge(index),
        }
    }

    /// Encodes the answer to a read of state. Returns the bytes to send.
    pub fn answer(&mut self, read: u32, value: Option<Bytes>) -> Result<Bytes, Violation> {
        match self {
            Self::Immutable(attempt) => attempt.answer_state(read, value),
            Self::Mutable(_) => Ok(Bytes::new()),
        }
    }

    /// Closes the sending side.
    pub fn half_close(&mut self) {
        match self {
            Self::Immutable(attempt) => attempt.half_close(),
            Self::Mutable(attempt) => attempt.half_close(),
        }
    }

    /// Handles the end of the deployment's response.
    pub fn end_of_input(&mut self) -> Result<(), Violation> {
        match self {
            Self::Immutable(attempt) => attempt.end_of_input(),
            Self::Mutable(attempt) => attempt.end_of_input(),
        }
    }
}

fn of_command(action: immutable::Action) -> Option<Step> {
    use immutable::Action;
    Some(match action {
        Action::Append { command: Command::Output(output), .. } => {
            Step::Output(output.result.map(OutputResult::into))
        }
        Action::Append { index, command, record, requires_ack } => Step::Asked {
            wish: Box::new(Wish::Command(command)),
            frame: record,
            acknowledge: requires_ack.then_some(index),
        },
        Action::ProposeRun { completion_id, outcome, .. } => {
            Step::Ran { completion: completion_id, outcome }
        }
        // This action is frequent, and nothing of it is stored.
        Action::AwaitingOn(_) => return None,
        Action::ReadState { ephemeral_completion_id, key } => {
            Step::ReadState { read: ephemeral_completion_id, key }
        }
        Action::Suspend(suspended) => {
            Step::Suspended { awaiting: suspended.awaiting, ready: suspended.ready }
        }
        Action::Failed(error) => Step::Failed(error),
        Action::Ended => Step::Ended,
    })
}

fn of_entry(action: mutable::Action) -> Step {
    use mutable::Action;
    match action {
        Action::Append { entry: Entry::Output(output), .. } => {
            Step::Output(output.result.map(|result| match result {
                EntryResult::Value(value) => Outcome::Success(value),
                EntryResult::Failure(failure) => Outcome::Failure(failure),
                EntryResult::Empty(_) => Outcome::Success(Bytes::new()),
            }))
        }
        Action::Append { index, entry, record, requires_ack } => Step::Asked {
            wish: Box::new(Wish::of_entry(entry, index)),
            frame: record,
            acknowledge: requires_ack.then_some(index),
        },
        Action::Suspend(suspended) => Step::Suspended {
            awaiting: Future::first_of(
                suspended.indexes.into_iter().map(NotificationId::Completion),
            ),
            ready: suspended.ready,
        },
        Action::Failed(error) => Step::Failed(ErrorMessage {
            code: error.code,
            message: error.message,
            next_retry_delay_ms: error.next_retry_delay_ms,
            related_command_index: error.related_entry_index,
            related_command_name: error.related_entry_name,
            related_command_type: error.related_entry_type,
            ..ErrorMessage::default()
        }),
        Action::Ended => Step::Ended,
    }
}
