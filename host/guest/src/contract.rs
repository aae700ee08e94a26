//! The contract's types in Rust, generated from `guest-sdk/wit`, and the single entry point of a
//! workflow's imports.

use super::commands::GuestCommand;

/// Generated from the contract.
pub mod bindings {
    wasmtime::component::bindgen!({
        path: "../../guest-sdk/wit",
        world: "module",
        imports: {
            default: trappable,
            "segno:workflow/activity": async | trappable,
            "segno:workflow/files": async | trappable,
            "segno:workflow/activity-streams": async | trappable,
            "segno:workflow/http-bodies": async | trappable,
            "segno:workflow/blobs": async | trappable,
        },
        exports: { default: async },
        additional_derives: [PartialEq, Clone, serde::Serialize, serde::Deserialize],
    });
}

pub use bindings::segno::workflow::sagas::Step as SagaStep;
pub use bindings::segno::workflow::types::{
    ActivityContext, CallOptions, Completion, Context, Event, Failure,
    FunctionDescription as DescribedFunction, FunctionKind, HttpRequest, HttpResponse, Level,
    Outcome, Payload, PromiseOptions, RetryOptions, RunAnswer, Signal,
};

/// One call of an import of the interface `journal`.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalCall {
    /// A command, which writes a record.
    Command(GuestCommand),
    /// The guest no longer waits for this command.
    Forget {
        /// Index of the command to forget.
        command: u32,
    },
    /// The result of a `run` that the guest executed.
    RunDone {
        /// Index of the `run` command.
        command: u32,
        outcome: Outcome,
    },
    /// Reads the logical time.
    Now,
    /// Logs a line.
    Log {
        level: Level,
        /// The text, uncut.
        message: String,
    },
    /// Ends the invocation.
    Finish {
        /// The final outcome.
        outcome: Outcome,
    },
}

impl<C: Into<GuestCommand>> From<C> for JournalCall {
    fn from(command: C) -> Self {
        Self::Command(command.into())
    }
}

impl JournalCall {
    /// Size of the texts and payloads, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Command(command) => command.size(),
            Self::RunDone { outcome, .. } | Self::Finish { outcome } => outcome_size(outcome),
            Self::Log { message, .. } => message.len(),
            Self::Forget { .. } | Self::Now => 0,
        }
    }
}

/// Size of a payload, in bytes.
pub(super) fn size(payload: &Payload) -> usize {
    match payload {
        Payload::Json(text) => text.len(),
        Payload::Bytes(bytes) => bytes.len(),
    }
}

/// Size of an outcome, in bytes.
pub(super) fn outcome_size(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Success(payload) => size(payload),
        Outcome::Failure(failure) => {
            failure.message.len() + failure.details.as_ref().map_or(0, size)
        }
    }
}

/// The answer to an [`JournalCall`].
#[derive(Debug, Clone, PartialEq)]
pub enum JournalAnswer {
    /// The index of the new command.
    Command(u32),
    /// The index of a promise command and the promise's id.
    Promise(u32, String),
    /// Index of a `run`, with the decision to execute it now or to use its recorded result.
    Run(RunAnswer),
    /// Logical time in milliseconds since the Unix epoch.
    Now(u64),
    Done,
}
