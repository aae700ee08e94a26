//! Replays for reports: runs a journal against a module, without a claim and without writing
//! anything.
//!
//! A report shows that a module still does what it did, tests new code on old journals, and names
//! the first difference.

use std::sync::{Arc, Mutex, PoisonError};

use segno_core::{
    address,
    id::{Digest, PromiseId},
    invocation::{Divergence, RecordBody},
    promise::Note,
};
use segno_guest::{FunctionKind, GuestError, Stop};
use segno_store::{PromiseRow, StoreError};
use serde::{Deserialize, Serialize};

use super::{NotRead, ReplayStopped, Replayer, Start, StoredJournal};
use crate::{
    host::Host,
    target,
    values::{self, journals},
    worker::{commands::Identity, recording::Recorder},
};

/// The result of a replay.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplayReport {
    /// The module that was run.
    pub module: Digest,
    /// The module that wrote the journal.
    pub recorded_by: Digest,
    /// Number of records in the journal.
    pub records: u32,
    /// Number of records that the guest repeated, from the first on.
    pub matched: u32,
    /// Whether the invocation has ended, so that its end was compared as well.
    pub finished: bool,
    /// Whether the invocation was still open: then the records are those at the beginning of the
    /// replay.
    pub running: bool,
    /// The first difference; none: the replay was identical.
    pub divergence: Option<Divergence>,
    /// The guest's backtrace at the difference, as far as the guest has names.
    pub backtrace: Option<String>,
    /// Why the last attempt ended behind the last record, if it did.
    pub note: Option<Note>,
}

impl ReplayReport {
    /// Whether the replay repeated every record.
    pub fn is_identical(&self) -> bool {
        self.divergence.is_none()
    }
}

/// Why nothing could be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no such invocation.
    #[error("there is no invocation `{0}`")]
    NotFound(PromiseId),
    /// The invocation has no journal.
    #[error("`{0}` has no journal to replay: {1}")]
    NoJournal(PromiseId, String),
    /// The stored journal is damaged.
    #[error("the journal of `{0}` is damaged: {1}")]
    Damaged(PromiseId, String),
    /// The guest failed for another reason than a divergence.
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
    fn unread(id: &PromiseId, not_read: NotRead) -> Self {
        let damaged = |what: String| Self::Damaged(id.clone(), what);
        match not_read {
            NotRead::Store(error) => Self::Store(error),
            NotRead::Refused(refused) => damaged(refused.to_string()),
            NotRead::Short { at } => damaged(format!("it ends at record {at}")),
            NotRead::NoValue(promise) => {
                damaged(format!("it refers to the value of `{promise}`, which has none"))
            }
        }
    }
}

/// Replays the journal of `id` against the module that runs it, or another.
///
/// # Errors
/// [`ReplayError`]; a difference is not an error but the report's content.
pub async fn replay(
    host: &Host,
    id: &PromiseId,
    module: Option<Digest>,
) -> Result<ReplayReport, ReplayError> {
    let unread = |not_read| ReplayError::unread(id, not_read);
    let mut journal = StoredJournal::whole(&*host.store, id);
    let (outline, _) = journal.outline().await.map_err(unread)?;
    // The journal first: one that has its end by then has it in its promise as well.
    let row =
        host.store.read().promise(id).await?.ok_or_else(|| ReplayError::NotFound(id.clone()))?;
    let end = row.promise.settlement();
    let end = end.map(|settlement| journals::stored(&values::outcome(settlement), false));
    let journal = journal.ending(end);
    let Some(started) = outline.started() else {
        return Err(ReplayError::NoJournal(id.clone(), why_not(&row)));
    };
    let RecordBody::Started { module: recorded_by, .. } = started.body else {
        return Err(ReplayError::NoJournal(id.clone(), why_not(&row)));
    };
    let start = Start::recorded(&row.promise, started).expect("it is the record of a start");
    let function = start.function.clone();
    // One that was moved is replayed on the module that continued it, which repeats what came
    // before.
    let own = row.task.as_ref().and_then(|task| task.module).unwrap_or(recorded_by);
    let module = module.unwrap_or(own);
    let (records, finished) = (outline.head().len, outline.head().finished);

    let failed = |error: GuestError| ReplayError::Guest { matched: 0, error };
    let functions = host.guests.describe(module).await.map_err(failed)?;
    let name = address::function_of(&function);
    let is_there = |known: &segno_guest::FunctionDescription| {
        known.name == name && known.kind == FunctionKind::Workflow
    };
    if !functions.iter().any(is_there) {
        let known: Vec<&str> = functions.iter().map(|known| known.name.as_str()).collect();
        let (kind, known) = ("workflow", known.join(", "));
        return Err(failed(GuestError::NoSuchFunction { kind, function, known }));
    }
    let module_name = target::module_of(&row.promise);
    let object = target::object_of(&row.promise).map(|object| (object, false));
    let identity =
        Identity { id: id.clone(), module: module_name, object, functions, outbound: None };
    let recorder = Recorder::over(identity, outline, true);
    let mut instance =
        host.guests.instantiate(module, recorder.engine_facts()).await.map_err(failed)?;
    let recorder = Arc::new(Mutex::new(recorder));
    let replayer = Replayer { recorder: &recorder, source: &journal };
    let stopped = replayer.run(&mut *instance, start, || {}).await.err();

    let recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
    let matched = recorder.matched();
    let backtrace = match stopped {
        None => None,
        Some(ReplayStopped::Unread(not_read)) => return Err(unread(not_read)),
        Some(ReplayStopped::Guest(error)) => match error {
            GuestError::Stopped { stop: Stop::Divergence, backtrace } => {
                backtrace.map(|backtrace| backtrace.text)
            }
            GuestError::Stopped { stop: Stop::Damaged(what), .. } => {
                return Err(ReplayError::Damaged(id.clone(), what));
            }
            error => return Err(ReplayError::Guest { matched, error }),
        },
    };
    Ok(ReplayReport {
        module,
        recorded_by,
        records,
        matched,
        finished,
        running: row.promise.is_pending(),
        divergence: recorder.divergence().cloned(),
        backtrace,
        note: failed_attempt(&row).cloned(),
    })
}

/// The note of an attempt that failed, and that no other has made good.
fn failed_attempt(row: &PromiseRow) -> Option<&Note> {
    let task = row.task.as_ref().filter(|task| task.attempt > 0 && row.promise.is_pending())?;
    task.note.as_ref()
}

fn why_not(row: &PromiseRow) -> String {
    let why = match &row.task {
        None => "it is a promise without a function",
        Some(task) if task.module.is_none() => "it is not run by a module",
        Some(_) => "it has no record yet, or it is an activity: only workflows are replayed",
    };
    match failed_attempt(row) {
        Some(note) => format!("{why}; its last attempt failed: {}", note.message),
        None => why.to_owned(),
    }
}
