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
        },
        exports: { default: async },
        additional_derives: [PartialEq, Clone, serde::Serialize, serde::Deserialize],
    });
}

pub use bindings::segno::workflow::sagas::Step as SagaStep;
pub use bindings::segno::workflow::types::{
    ActivityContext, CallOptions, Completion, Context, Event, Failure, FunctionDescription,
    FunctionKind, HttpRequest, HttpResponse, Level, Outcome, Payload, PromiseOptions, RetryOptions,
    RunAnswer, Signal,
};

/// One call of an import of the interface `journal`.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// A command, which makes a record.
    Command(GuestCommand),
    /// The guest does not wait for this command any more.
    Forget {
        /// The index of the command.
        command: u32,
    },
    /// The result of a `run` that the guest executed.
    RunDone {
        /// The index of the command.
        command: u32,
        /// The result.
        outcome: Outcome,
    },
    /// Asks for the logical time.
    Now,
    /// Logs a line.
    Log {
        /// The level of the line.
        level: Level,
        /// The text of the line.
        message: String,
    },
    /// The invocation ends.
    Finish {
        /// The outcome of the invocation.
        outcome: Outcome,
    },
}

impl<C: Into<GuestCommand>> From<C> for Ask {
    fn from(command: C) -> Self {
        Self::Command(command.into())
    }
}

impl Ask {
    /// Number of bytes of the texts and payloads.
    pub fn size(&self) -> usize {
        match self {
            Self::Command(command) => command.size(),
            Self::RunDone { outcome, .. } | Self::Finish { outcome } => outcome_size(outcome),
            Self::Log { message, .. } => message.len(),
            Self::Forget { .. } | Self::Now => 0,
        }
    }
}

/// Number of bytes of a payload.
pub(super) fn size(payload: &Payload) -> usize {
    match payload {
        Payload::Json(text) => text.len(),
        Payload::Bytes(bytes) => bytes.len(),
    }
}

/// Number of bytes of an outcome.
pub(super) fn outcome_size(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Success(payload) => size(payload),
        Outcome::Failure(failure) => {
            failure.message.len() + failure.details.as_ref().map_or(0, size)
        }
    }
}

/// The answer to an [`Ask`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The index of the new command.
    Command(u32),
    /// The index of a promise command and the promise's id.
    Promise(u32, String),
    /// Whether to execute a `run` now.
    Run(RunAnswer),
    /// Logical time in milliseconds since the Unix epoch.
    Now(u64),
    /// No value.
    Done,
}
