//! Actions of a deployment, in one form for both families of the protocol.

use bytes::Bytes;
use segno_restate::{
    immutable::{Command, ErrorMessage, Future, NotificationId, OutputResult},
    mutable::{Entry, EntryResult},
    runtime::{immutable, mutable},
    wire::OperationOutcome,
};

use super::wish::RequestedCommand;

/// An action of the deployment.
pub(super) enum DeploymentAction {
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

impl DeploymentAction {
    /// The action behind a command or another frame of V5 and later. `None` for the current wait.
    pub(super) fn of_command(action: immutable::CommandAction) -> Option<Self> {
        use immutable::CommandAction;
        Some(match action {
            CommandAction::Append { command: Command::Output(output), .. } => {
                Self::Output(output.result.map(OutputResult::into))
            }
            CommandAction::Append { index, command, record, requires_ack } => Self::Asked {
                wish: Box::new(RequestedCommand::Command(command)),
                frame: record,
                acknowledge: requires_ack.then_some(index),
            },
            CommandAction::ProposeRun { completion_id, outcome, .. } => {
                Self::Ran { completion: completion_id, outcome }
            }
            // This action is frequent, and nothing of it is stored.
            CommandAction::AwaitingOn(_) => return None,
            CommandAction::ReadState { ephemeral_completion_id, key } => {
                Self::ReadState { read: ephemeral_completion_id, key }
            }
            CommandAction::Suspend(suspended) => {
                Self::Suspended { awaiting: suspended.awaiting, ready: suspended.ready }
            }
            CommandAction::Failed(error) => Self::Failed(error),
            CommandAction::Ended => Self::Ended,
        })
    }

    /// The action behind an entry or another frame of V1 to V3.
    pub(super) fn of_entry(action: mutable::EntryAction) -> Self {
        use mutable::EntryAction;
        match action {
            EntryAction::Append { entry: Entry::Output(output), .. } => {
                Self::Output(output.result.map(|result| match result {
                    EntryResult::Value(value) => OperationOutcome::Success(value),
                    EntryResult::Failure(failure) => OperationOutcome::Failure(failure),
                    EntryResult::Empty(_) => OperationOutcome::Success(Bytes::new()),
                }))
            }
            EntryAction::Append { index, entry, record, requires_ack } => Self::Asked {
                wish: Box::new(RequestedCommand::of_entry(entry, index)),
                frame: record,
                acknowledge: requires_ack.then_some(index),
            },
            EntryAction::Suspend(suspended) => Self::Suspended {
                awaiting: Future::first_of(
                    suspended.indexes.into_iter().map(NotificationId::Completion),
                ),
                ready: suspended.ready,
            },
            EntryAction::Failed(error) => Self::Failed(ErrorMessage {
                code: error.code,
                message: error.message,
                next_retry_delay_ms: error.next_retry_delay_ms,
                related_command_index: error.related_entry_index,
                related_command_name: error.related_entry_name,
                related_command_type: error.related_entry_type,
                ..ErrorMessage::default()
            }),
            EntryAction::Ended => Self::Ended,
        }
    }
}
