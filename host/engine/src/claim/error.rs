//! The reasons why an execution stopped before its end.

use segno_core::{promise::Note, reply::Refusal, time::Millis};
use segno_guest::{GuestError, StopReason};
use segno_store::StoreError;

use crate::worker::replay::{JournalReadError, ReplayFailure};

/// The reason why an execution stopped before its end.
#[derive(Debug)]
pub enum ExecutionError {
    /// The claim has ended and no longer belongs to this host.
    Lost,
    /// The execution reached its end, but its cancellation was requested before the last event that
    /// it received. The cancellation must be delivered first.
    Asked,
    /// The execution received an outcome that was not stored. It is replayed.
    Superseded,
    /// The guest trapped, broke the contract, or diverged.
    Guest(GuestError),
    /// A retry would not help: an operator has to act.
    Halt(HaltReport),
    /// An attempt failed for a reason that the guest must not observe.
    Failed {
        /// The failure, in the form of a task's note.
        error: Note,
        /// The delay from the retry policy of the call.
        retry_after: Option<Millis>,
    },
    /// This host has no capacity for the execution now. Nothing has begun.
    NoRoom,
    /// The store did not answer. The lease will run out.
    Store(StoreError),
}

/// The reason why a task was halted, for operators.
#[derive(Debug)]
pub struct HaltReport {
    /// A short stable word for the reason.
    pub kind: &'static str,
    /// The reason in one sentence.
    pub message: String,
}

impl HaltReport {
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl ExecutionError {
    /// The error that a refused write under a claim means.
    pub fn refused(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Conflict(_) | Refusal::NotFound(_) => Self::Lost,
            Refusal::NotFulfilled { .. } | Refusal::NotElapsed { .. } => {
                tracing::debug!(%refusal, "an execution is replayed");
                Self::Superseded
            }
            Refusal::JournalMismatch { .. } => {
                tracing::warn!(%refusal, "another execution wrote this journal; this one is dropped");
                Self::Lost
            }
            Refusal::BadRequest(_)
            | Refusal::Unprocessable(_)
            | Refusal::IdTaken { .. }
            | Refusal::Tree { .. }
            | Refusal::Unreadable { .. }
            | Refusal::Stream(_)
            | Refusal::BudgetSpent(_)
            | Refusal::NoSchedule(_) => Self::Halt(HaltReport::new("refused", refusal.to_string())),
        }
    }
}

impl From<GuestError> for ExecutionError {
    fn from(error: GuestError) -> Self {
        Self::Guest(error)
    }
}

impl From<StoreError> for ExecutionError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<JournalReadError> for ExecutionError {
    fn from(not_read: JournalReadError) -> Self {
        match not_read {
            JournalReadError::Short { at } => {
                HaltReport::new("damaged", format!("the journal ends at record {at} already"))
                    .into()
            }
            JournalReadError::Refused(refused) => {
                HaltReport::new("damaged", refused.to_string()).into()
            }
            JournalReadError::NoValue(id) => {
                let message = format!("the journal refers to the value of `{id}`, which has none");
                HaltReport::new("damaged", message).into()
            }
            JournalReadError::Store(error) => error.into(),
        }
    }
}

impl From<HaltReport> for ExecutionError {
    fn from(halt: HaltReport) -> Self {
        Self::Halt(halt)
    }
}

pub fn note(kind: &str, message: &str, details: Option<&serde_json::Value>) -> Note {
    let details = details.map(|details| details.to_string().into_bytes()).unwrap_or_default();
    Note { kind: kind.into(), message: message.into(), details: details.into() }
}

impl From<ReplayFailure> for ExecutionError {
    fn from(stopped: ReplayFailure) -> Self {
        match stopped {
            ReplayFailure::Unread(not_read) => not_read.into(),
            ReplayFailure::Guest(error) => error.into(),
        }
    }
}

impl From<StopReason> for ExecutionError {
    fn from(stop: StopReason) -> Self {
        Self::Guest(GuestError::Stopped { stop, backtrace: None })
    }
}
