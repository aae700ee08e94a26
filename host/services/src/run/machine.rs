//! The protocol state machine of an attempt, for both families of the protocol.

use bytes::Bytes;
use segno_restate::{
    ProtocolViolation,
    immutable::{Command, ErrorMessage, Future, Notification, NotificationId, OutputResult},
    mutable::{Entry, EntryResult},
    runtime::{immutable, mutable},
    version::{ProtocolFamily, ProtocolVersion},
    wire::{OperationOutcome, StartMessage},
};

use super::wish::{RequestedCommand, entry_result};

/// The state machine of an attempt.
pub enum AttemptMachine {
    /// For V5 and later.
    Immutable(immutable::ImmutableRuntimeAttempt),
    /// For V1 to V3.
    Mutable(mutable::MutableRuntimeAttempt),
}

/// An action of the deployment.
pub enum DeploymentAction {
    /// The deployment issued a command.
    Asked {
        /// The command.
        wish: Box<RequestedCommand>,
        /// The frame of the command.
        frame: Bytes,
        /// The index to acknowledge when the command is stored.
        acknowledge: Option<u32>,
    },
    /// The final outcome.
    Output(Option<OperationOutcome>),
    /// Proposes the outcome of a run.
    Ran {
        /// The completion id of the run.
        completion: u32,
        outcome: OperationOutcome,
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

impl AttemptMachine {
    /// Begins an attempt. Returns the first bytes to send.
    pub fn open<'a>(
        version: ProtocolVersion,
        start: StartMessage,
        frames: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(Self, Bytes), ProtocolViolation> {
        Ok(match version.family() {
            ProtocolFamily::Immutable => {
                let (attempt, first) =
                    immutable::ImmutableRuntimeAttempt::open(version, start, frames)?;
                (Self::Immutable(attempt), first)
            }
            ProtocolFamily::Mutable => {
                let (attempt, first) =
                    mutable::MutableRuntimeAttempt::open(version, start, frames)?;
                (Self::Mutable(attempt), first)
            }
        })
    }

    /// Decodes bytes from the deployment.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<DeploymentAction>, ProtocolViolation> {
        Ok(match self {
            Self::Immutable(attempt) => {
                attempt.receive(bytes)?.into_iter().filter_map(of_command).collect()
            }
            Self::Mutable(attempt) => attempt.receive(bytes)?.into_iter().map(of_entry).collect(),
        })
    }

    /// Encodes a stored notification. Returns the bytes to send.
    pub fn tell(&mut self, told: &Notification) -> Result<Bytes, ProtocolViolation> {
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
    pub fn acknowledge(&mut self, index: u32) -> Result<Bytes, ProtocolViolation> {
        match self {
            Self::Immutable(attempt) => attempt.acknowledge(index),
            Self::Mutable(attempt) => attempt.acknowledge(index),
        }
    }

    /// Encodes the answer to a read of state. Returns the bytes to send.
    pub fn answer(&mut self, read: u32, value: Option<Bytes>) -> Result<Bytes, ProtocolViolation> {
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
    pub fn end_of_input(&mut self) -> Result<(), ProtocolViolation> {
        match self {
            Self::Immutable(attempt) => attempt.end_of_input(),
            Self::Mutable(attempt) => attempt.end_of_input(),
        }
    }
}

fn of_command(action: immutable::CommandAction) -> Option<DeploymentAction> {
    use immutable::CommandAction;
    Some(match action {
        CommandAction::Append { command: Command::Output(output), .. } => {
            DeploymentAction::Output(output.result.map(OutputResult::into))
        }
        CommandAction::Append { index, command, record, requires_ack } => DeploymentAction::Asked {
            wish: Box::new(RequestedCommand::Command(command)),
            frame: record,
            acknowledge: requires_ack.then_some(index),
        },
        CommandAction::ProposeRun { completion_id, outcome, .. } => {
            DeploymentAction::Ran { completion: completion_id, outcome }
        }
        // This action is frequent, and nothing of it is stored.
        CommandAction::AwaitingOn(_) => return None,
        CommandAction::ReadState { ephemeral_completion_id, key } => {
            DeploymentAction::ReadState { read: ephemeral_completion_id, key }
        }
        CommandAction::Suspend(suspended) => {
            DeploymentAction::Suspended { awaiting: suspended.awaiting, ready: suspended.ready }
        }
        CommandAction::Failed(error) => DeploymentAction::Failed(error),
        CommandAction::Ended => DeploymentAction::Ended,
    })
}

fn of_entry(action: mutable::EntryAction) -> DeploymentAction {
    use mutable::EntryAction;
    match action {
        EntryAction::Append { entry: Entry::Output(output), .. } => {
            DeploymentAction::Output(output.result.map(|result| match result {
                EntryResult::Value(value) => OperationOutcome::Success(value),
                EntryResult::Failure(failure) => OperationOutcome::Failure(failure),
                EntryResult::Empty(_) => OperationOutcome::Success(Bytes::new()),
            }))
        }
        EntryAction::Append { index, entry, record, requires_ack } => DeploymentAction::Asked {
            wish: Box::new(RequestedCommand::of_entry(entry, index)),
            frame: record,
            acknowledge: requires_ack.then_some(index),
        },
        EntryAction::Suspend(suspended) => DeploymentAction::Suspended {
            awaiting: Future::first_of(
                suspended.indexes.into_iter().map(NotificationId::Completion),
            ),
            ready: suspended.ready,
        },
        EntryAction::Failed(error) => DeploymentAction::Failed(ErrorMessage {
            code: error.code,
            message: error.message,
            next_retry_delay_ms: error.next_retry_delay_ms,
            related_command_index: error.related_entry_index,
            related_command_name: error.related_entry_name,
            related_command_type: error.related_entry_type,
            ..ErrorMessage::default()
        }),
        EntryAction::Ended => DeploymentAction::Ended,
    }
}
