//! Releases a claim without an outcome, and stores the reason in the task's note.

use std::sync::PoisonError;

use segno_core::{
    command::Command,
    promise::{Note, ReleaseReason, TrapKey},
    time::Millis,
};
use segno_guest::{GuestError, StopReason};
use serde_json::json;

use super::{ClaimSession, ExecutionError, HaltReport, note};
use crate::{
    metrics::ClaimEnd,
    worker::{TrapReport, recording::SharedRecorder},
};

/// The delay after which an execution is offered again if this host had no capacity for it. It
/// waits without a claim.
const NO_ROOM: Millis = Millis(100);

/// The position that an execution reached in its journal.
#[derive(Default)]
pub(crate) struct JournalEnd<'a> {
    /// The length of the stored journal, by which repeated traps are recognised.
    pub len: u32,
    /// The recorder, with the first difference and the log lines.
    pub recorder: Option<&'a SharedRecorder>,
}

impl ClaimSession {
    /// Releases the claim without settling the task, because of `error`.
    pub async fn give_back(&self, error: ExecutionError) -> ClaimEnd {
        self.give_back_after(Vec::new(), error, &JournalEnd::default()).await
    }

    /// Releases the claim, and executes `before` under the claim in the same transaction. The
    /// transaction is refused as a whole if an earlier one did the same, so it can be sent again
    /// after an unknown outcome.
    pub(crate) async fn give_back_after(
        &self,
        before: Vec<Command>,
        error: ExecutionError,
        journal: &JournalEnd<'_>,
    ) -> ClaimEnd {
        // A claim must be stored before it can be released.
        if self.store().await.is_err() {
            return ClaimEnd::Lost;
        }
        let metrics = &self.worker.host.metrics.worker;
        let reason = match error {
            ExecutionError::Lost => return ClaimEnd::Lost,
            ExecutionError::Store(error) => {
                tracing::error!(%error, "the store did not answer; the claim is left to its lease");
                return ClaimEnd::Lost;
            }
            ExecutionError::Asked => ReleaseReason::Yield,
            ExecutionError::Superseded => {
                metrics.not_stored();
                ReleaseReason::Yield
            }
            ExecutionError::Halt(HaltReport { kind, message }) => {
                tracing::error!(kind, message, "the execution is halted");
                ReleaseReason::Halt { report: note(kind, &message, None) }
            }
            ExecutionError::Failed { error, retry_after } => {
                ReleaseReason::Failed { retry_after, error, trap: None }
            }
            ExecutionError::NoRoom => ReleaseReason::NoRoom { wait: NO_ROOM },
            ExecutionError::Guest(error @ GuestError::Crowded { .. }) => {
                tracing::debug!(%error, "the execution is put off");
                metrics.put_off();
                ReleaseReason::NoRoom { wait: self.worker.put_off.wait(self.now()) }
            }
            ExecutionError::Guest(error) => guest(error, journal),
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
        let release = Command::TaskRelease { claim: self.active.claim.clone(), reason };
        match self.submit(before.into_iter().chain([release]).collect()).await {
            Ok(_) => ClaimEnd::Released,
            Err(_) => ClaimEnd::Lost,
        }
    }
}

fn guest(error: GuestError, journal: &JournalEnd<'_>) -> ReleaseReason {
    let (message, cause) = (error.message(), error.cause());
    match error {
        GuestError::Stopped { stop: StopReason::Divergence, backtrace } => {
            let report = journal.recorder.and_then(|recorder| {
                recorder.lock().unwrap_or_else(PoisonError::into_inner).divergence().cloned()
            });
            let message = report.as_ref().map_or(message, ToString::to_string);
            tracing::error!(error = %message, "the execution diverged from its journal and is halted");
            let TrapReport { backtrace, frames, .. } = TrapReport::new(backtrace.as_ref(), None);
            let details = json!({ "divergence": report, "backtrace": backtrace, "frames": frames });
            ReleaseReason::Halt { report: note("divergence", &message, Some(&details)) }
        }
        GuestError::Stopped { stop: StopReason::Damaged(_), .. } => {
            tracing::error!(error = %message, "the journal is damaged; the execution is halted");
            ReleaseReason::Halt { report: note("damaged", &message, None) }
        }
        GuestError::NoSuchModule(_)
        | GuestError::NoSuchFunction { .. }
        | GuestError::NeedsKey { .. } => {
            ReleaseReason::Halt { report: note("module", &message, None) }
        }
        GuestError::OtherEngine(_) => {
            ReleaseReason::Halt { report: note("other-engine", &message, None) }
        }
        GuestError::Host(_) | GuestError::Crowded { .. } => {
            tracing::warn!(error = %message, "the host could not run the guest; it will be tried again");
            ReleaseReason::Failed {
                retry_after: None,
                error: note("host", &message, None),
                trap: None,
            }
        }
        GuestError::Stopped { stop: StopReason::Contract(_), backtrace }
        | GuestError::Panicked { backtrace, .. }
        | GuestError::Trap { backtrace, .. }
        | GuestError::OutOfTime { backtrace, .. } => {
            tracing::warn!(error = %message, "the guest trapped");
            let report = TrapReport::new(backtrace.as_ref(), journal.recorder);
            trapped(note("trap", &message, report.details().as_ref()), cause, journal.len)
        }
        GuestError::OutputTooLarge { .. } => {
            trapped(note("output-too-large", &message, None), cause, journal.len)
        }
    }
}

fn trapped(error: Note, cause: String, journal_len: u32) -> ReleaseReason {
    let trap = Some(TrapKey { journal_len, message: cause.into() });
    ReleaseReason::Failed { retry_after: None, error, trap }
}
