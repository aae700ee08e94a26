//! Replays for reports: runs a journal on a module, without a claim and without writes.
//!
//! A report shows if a module still repeats its journal, tests new code on old journals, and has
//! the first difference.

use std::sync::PoisonError;

use segno_core::{
    id::{Digest, PromiseId},
    invocation::{Divergence, ReplayStep},
    promise::Note,
};
use segno_guest::{GuestError, StopReason};
use segno_store::StoreError;

use super::{
    JournalReadError, ReplayFailure, ReplaySetup, open_places::stack, rehearsal::failed_attempt,
};
use crate::{host::Host, worker::TrapReport};

/// The result of a replay.
#[derive(Debug)]
pub struct ReplayReport {
    /// The module that ran.
    pub module: Digest,
    /// The module that wrote the journal.
    pub recorded_by: Digest,
    /// Number of records in the journal.
    pub records: u32,
    /// Number of records that the guest repeated, counted from the first one.
    pub matched: u32,
    /// True if the invocation has ended, so that its end was compared as well.
    pub finished: bool,
    /// True if the invocation was pending. The records are then those at the beginning of the
    /// replay.
    pub running: bool,
    /// The first difference. `None` if the replay was identical.
    pub divergence: Option<Divergence>,
    /// The guest's stack at the difference, as far as the guest has debug names.
    pub stack: TrapReport,
    /// The stack of the recording module at the recorded command. Empty if the record is no command
    /// or the module is not stored any more.
    pub recorded_stack: TrapReport,
    /// The note of the last failed attempt after the last record. `None` if no attempt failed.
    pub note: Option<Note>,
}

impl ReplayReport {
    /// True if the replay repeated every record.
    pub fn is_identical(&self) -> bool {
        self.divergence.is_none()
    }
}

/// The reason why a journal could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The invocation does not exist.
    #[error("there is no invocation `{0}`")]
    NotFound(PromiseId),
    /// The invocation has no journal, for this reason.
    #[error("`{0}` has no journal to replay: {1}")]
    NoJournal(PromiseId, String),
    /// The journal is shorter than requested.
    #[error("the journal of `{id}` has {records} records, and not {asked}")]
    NoSuchRecord {
        id: PromiseId,
        /// Number of records that were requested.
        asked: u32,
        /// Number of records in the journal.
        records: u32,
    },
    /// The stored journal is damaged.
    #[error("the journal of `{0}` is damaged: {1}")]
    Damaged(PromiseId, String),
    /// The guest failed for a reason other than a divergence.
    #[error("the guest failed after {matched} records: {error}")]
    Guest {
        /// Number of records matched before the failure.
        matched: u32,
        /// The guest's error.
        #[source]
        error: GuestError,
    },
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReplayError {
    pub(crate) fn unread(id: &PromiseId, not_read: JournalReadError) -> Self {
        let damaged = |what: String| Self::Damaged(id.clone(), what);
        match not_read {
            JournalReadError::Store(error) => Self::Store(error),
            JournalReadError::Refused(refused) => damaged(refused.to_string()),
            JournalReadError::Short { at } => damaged(format!("it ends at record {at}")),
            JournalReadError::NoValue(promise) => {
                damaged(format!("it refers to the value of `{promise}`, which has none"))
            }
        }
    }
}

/// Replays the journal of `id` on the module that runs it, or on another one.
///
/// # Errors
/// [`ReplayError`]. A difference is not an error but the content of the report.
pub async fn replay(
    host: &Host,
    id: &PromiseId,
    module: Option<Digest>,
) -> Result<ReplayReport, ReplayError> {
    replay_to(host, id, module, None).await
}

/// Replays the first `records` of the journal. `None`: the whole journal.
///
/// # Errors
/// [`ReplayError`].
pub async fn replay_to(
    host: &Host,
    id: &PromiseId,
    module: Option<Digest>,
    records: Option<u32>,
) -> Result<ReplayReport, ReplayError> {
    let mut rehearsal = ReplaySetup::new(host, id, module, records).await?;
    let stopped = rehearsal.run(|| {}).await.err();
    let ReplaySetup { row, module, recorded_by, outline, recorder, .. } = rehearsal;

    let (divergence, matched) = {
        let recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        (recorder.divergence().cloned(), recorder.matched())
    };
    let recorded_stack = match divergence.as_ref().map(Divergence::recorded) {
        // A module that diverges from its own records does not show where they come from.
        Some(ReplayStep::Command { index, .. }) if recorded_by != module => {
            match stack(host, id, Some(recorded_by), records, *index).await {
                Ok(stack) => stack,
                Err(ReplayError::Store(error)) => return Err(error.into()),
                // Only the place is missing, since the module is: the report is what was asked for.
                Err(error) => {
                    tracing::debug!(%id, %error, "the place of a recorded command is unknown");
                    TrapReport::default()
                }
            }
        }
        _ => TrapReport::default(),
    };
    let stack = match stopped {
        None => TrapReport::default(),
        Some(ReplayFailure::Unread(not_read)) => return Err(ReplayError::unread(id, not_read)),
        Some(ReplayFailure::Guest(error)) => match error {
            GuestError::Stopped { stop: StopReason::Divergence, backtrace } => {
                TrapReport::new(backtrace.as_ref(), None)
            }
            GuestError::Stopped { stop: StopReason::Damaged(what), .. } => {
                return Err(ReplayError::Damaged(id.clone(), what));
            }
            error => return Err(ReplayError::Guest { matched, error }),
        },
    };
    Ok(ReplayReport {
        module,
        recorded_by,
        records: outline.head().len,
        matched,
        finished: outline.head().finished,
        running: row.promise.is_pending(),
        divergence,
        stack,
        recorded_stack,
        note: failed_attempt(&row).cloned(),
    })
}
