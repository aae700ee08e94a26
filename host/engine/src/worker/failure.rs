//! How a claim ends without an outcome, and what the task is told of it.

use std::sync::{Mutex, PoisonError};

use segno_core::{
    command::Command,
    id::Claim,
    promise::{Note, ReleaseReason, TrapKey},
    reply::Refusal,
    time::Millis,
};
use serde_json::json;

use super::{pages::NotRead, recorder::Recorder, shared::Shared};
use crate::metrics::ClaimEnd;
use segno_guest::{GuestError, Stop};
use segno_store::StoreError;

/// Why an execution stopped before its end.
#[derive(Debug)]
pub enum ExecutionError {
    /// The claim is not ours any more.
    Lost,
    /// The guest trapped, or broke the contract, or diverged.
    Guest(GuestError),
    /// Another attempt makes no sense.
    Halt(HaltReport),
    /// An attempt failed that is not the guest's to see.
    Failed {
        /// What went wrong.
        error: Note,
        /// The wait the call's own policy asks for.
        retry_after: Option<Millis>,
    },
    /// The store did not answer; the lease will run out.
    Store(StoreError),
}

/// Why a person should look.
#[derive(Debug)]
pub struct HaltReport {
    /// A short stable word.
    pub kind: &'static str,
    /// One sentence.
    pub message: String,
}

impl HaltReport {
    /// A reason to halt.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl ExecutionError {
    /// What a refused write under a claim means.
    pub fn refused(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Conflict(_) | Refusal::NotFound(_) => Self::Lost,
            Refusal::JournalMismatch { .. } => {
                tracing::warn!(%refusal, "another execution wrote this journal; this one is dropped");
                Self::Lost
            }
            Refusal::BadRequest(_)
            | Refusal::Unprocessable(_)
            | Refusal::IdTaken { .. }
            | Refusal::Unreadable { .. }
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

impl From<NotRead> for ExecutionError {
    fn from(not_read: NotRead) -> Self {
        match not_read {
            NotRead::Short { at } => {
                HaltReport::new("damaged", format!("the journal ends at record {at} already"))
                    .into()
            }
            NotRead::Refused(refused) => HaltReport::new("damaged", refused.to_string()).into(),
            NotRead::Store(error) => error.into(),
        }
    }
}

impl From<HaltReport> for ExecutionError {
    fn from(halt: HaltReport) -> Self {
        Self::Halt(halt)
    }
}

/// Gives the claim back with the reason. `stored_len` is the length of the journal, where traps are counted.
pub async fn give_back(
    shared: &Shared,
    claim: &Claim,
    stopped: ExecutionError,
    stored_len: u32,
    recorder: Option<&Mutex<Recorder>>,
) -> ClaimEnd {
    leave(shared, claim, Vec::new(), stopped, stored_len, recorder).await
}

/// The same, with what is done under the claim just before, in one transaction: sent again since nobody knows what became
/// of it, all of it is refused if it was done.
pub async fn leave(
    shared: &Shared,
    claim: &Claim,
    before: Vec<Command>,
    stopped: ExecutionError,
    stored_len: u32,
    recorder: Option<&Mutex<Recorder>>,
) -> ClaimEnd {
    let metrics = &shared.host.notifier.metrics().worker;
    let reason = match stopped {
        ExecutionError::Lost => return ClaimEnd::Lost,
        ExecutionError::Store(error) => {
            tracing::error!(invocation = %claim.id, %error, "the store did not answer; the claim is left to its lease");
            return ClaimEnd::Lost;
        }
        ExecutionError::Halt(HaltReport { kind, message }) => {
            tracing::error!(invocation = %claim.id, kind, message, "the execution is halted");
            ReleaseReason::Halt { report: note(kind, &message, None) }
        }
        ExecutionError::Failed { error, retry_after } => {
            ReleaseReason::Failed { retry_after, error, trap: None }
        }
        ExecutionError::Guest(error @ GuestError::Crowded { .. }) => {
            tracing::debug!(invocation = %claim.id, %error, "the execution is put off");
            metrics.put_off();
            ReleaseReason::NoRoom { wait: shared.put_off.wait(shared.now()) }
        }
        ExecutionError::Guest(error) => guest(claim, error, stored_len, recorder),
    };
    match &reason {
        ReleaseReason::Halt { report } if *report.kind == *"divergence" => metrics.diverged(),
        ReleaseReason::Failed { trap: Some(_), .. } => metrics.trapped(),
        ReleaseReason::Halt { .. }
        | ReleaseReason::Failed { .. }
        | ReleaseReason::Yield
        | ReleaseReason::NoRoom { .. }
        | ReleaseReason::Shutdown => {}
    }
    let release = Command::TaskRelease { claim: claim.clone(), reason };
    match shared.submit(before.into_iter().chain([release]).collect()).await {
        Ok(_) => ClaimEnd::Released,
        Err(_) => ClaimEnd::Lost,
    }
}

fn guest(
    claim: &Claim,
    error: GuestError,
    stored_len: u32,
    recorder: Option<&Mutex<Recorder>>,
) -> ReleaseReason {
    let message = error.to_string();
    match error {
        GuestError::Stopped { stop: Stop::Divergence, backtrace } => {
            let report = recorder.and_then(|recorder| {
                recorder.lock().unwrap_or_else(PoisonError::into_inner).divergence().cloned()
            });
            let message = report.as_ref().map_or(message, ToString::to_string);
            tracing::error!(invocation = %claim.id, %message, "the execution diverged from its journal and is halted");
            let details = json!({ "divergence": report, "backtrace": backtrace });
            ReleaseReason::Halt { report: note("divergence", &message, Some(&details)) }
        }
        GuestError::Stopped { stop: Stop::Damaged(_), .. } => {
            tracing::error!(invocation = %claim.id, %message, "the journal is damaged; the execution is halted");
            ReleaseReason::Halt { report: note("damaged", &message, None) }
        }
        GuestError::NoSuchModule(_) | GuestError::NoSuchFunction { .. } => {
            ReleaseReason::Halt { report: note("module", &message, None) }
        }
        GuestError::OtherEngine(_) => {
            ReleaseReason::Halt { report: note("other-engine", &message, None) }
        }
        GuestError::Host(_) | GuestError::Crowded { .. } => {
            tracing::warn!(invocation = %claim.id, %message, "the host could not run the guest; it will be tried again");
            ReleaseReason::Failed {
                retry_after: None,
                error: note("host", &message, None),
                trap: None,
            }
        }
        GuestError::Stopped { stop: Stop::Contract(_), backtrace }
        | GuestError::Trap { backtrace, .. }
        | GuestError::OutOfTime { backtrace, .. } => {
            tracing::warn!(invocation = %claim.id, %message, "the guest trapped");
            let error = note(
                "trap",
                &message,
                backtrace.map(|trace| json!({ "backtrace": trace })).as_ref(),
            );
            trapped(error, stored_len)
        }
        GuestError::OutputTooLarge { .. } => {
            trapped(note("output-too-large", &message, None), stored_len)
        }
    }
}

fn trapped(error: Note, journal_len: u32) -> ReleaseReason {
    let trap = Some(TrapKey { journal_len, message: error.message.clone() });
    ReleaseReason::Failed { retry_after: None, error, trap }
}

/// A note for a task.
pub fn note(kind: &str, message: &str, details: Option<&serde_json::Value>) -> Note {
    let details = details.map(|details| details.to_string().into_bytes()).unwrap_or_default();
    Note { kind: kind.into(), message: message.into(), details: details.into() }
}
