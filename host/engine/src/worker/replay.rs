//! A replay for its own sake: runs a journal against a module, without a claim and without writing anything.
//!
//! It shows that a module still does what it did, tries new code on old journals, and finds the first difference.

use std::sync::{Arc, Mutex, PoisonError};

use segno_core::{
    id::{Digest, PromiseId},
    invocation::{Divergence, Outcome as Stored, Record, RecordBody},
};
use serde::{Deserialize, Serialize};

use super::{
    convention, execution, outcome,
    pages::{NotRead, Pages},
    recorder::{Identity, Recorder, StoredEvent},
};
use crate::host::Host;
use segno_guest::{Completion, Event, FunctionKind, GuestError, Stop};
use segno_store::{PromiseRow, StoreError};

/// What a replay found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplayReport {
    /// The module it ran.
    pub module: Digest,
    /// The module that wrote the journal.
    pub recorded_by: Digest,
    /// Records in the journal.
    pub records: u32,
    /// Records that the guest did again, from the first on.
    pub matched: u32,
    /// Whether the invocation has ended, so that its end was compared as well.
    pub finished: bool,
    /// Whether it still ran, or waited: then the records are those that it had when the replay began.
    pub running: bool,
    /// The first difference; none: identical.
    pub divergence: Option<Divergence>,
    /// Where in the guest it differed, as far as the guest has names.
    pub backtrace: Option<String>,
}

impl ReplayReport {
    /// Whether everything was done again.
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
    /// It has no journal.
    #[error("`{0}` has no journal to replay: {1}")]
    NoJournal(PromiseId, &'static str),
    /// The stored journal is damaged.
    #[error("the journal of `{0}` is damaged: {1}")]
    Damaged(PromiseId, String),
    /// The guest did not get through it for another reason than a difference.
    #[error("the guest failed after {matched} records: {error}")]
    Guest {
        /// Records that matched.
        matched: u32,
        /// Why it failed.
        #[source]
        error: GuestError,
    },
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Replays the journal of `id` against the module that wrote it, or another.
///
/// # Errors
/// [`ReplayError`]; a difference is not an error but the report's content.
pub async fn replay(
    host: &Host,
    id: &PromiseId,
    module: Option<Digest>,
) -> Result<ReplayReport, ReplayError> {
    let mut pages = Pages::whole(&*host.store, id);
    let unread = |not_read: NotRead| match not_read {
        NotRead::Store(error) => ReplayError::Store(error),
        NotRead::Refused(refused) => ReplayError::Damaged(id.clone(), refused.to_string()),
        NotRead::Short { at } => {
            ReplayError::Damaged(id.clone(), format!("it ends at record {at}"))
        }
    };
    let (outline, _) = pages.outline().await.map_err(unread)?;
    // The journal first: one that has its end by then has it in its promise as well.
    let row =
        host.store.read().promise(id).await?.ok_or_else(|| ReplayError::NotFound(id.clone()))?;
    let end = row
        .promise
        .settlement()
        .map(|settlement| outcome::stored(&convention::outcome(settlement), false));
    let pages = pages.ending(end);
    let Some(Record {
        at,
        body: RecordBody::Started { function, input, module: recorded_by, seed, .. },
        ..
    }) = outline.started().cloned()
    else {
        return Err(ReplayError::NoJournal(id.clone(), why_not(&row)));
    };
    let module = module.unwrap_or(recorded_by);
    let (count, finished) = (outline.head().len, outline.head().finished);
    let failed = |matched: u32| move |error: GuestError| ReplayError::Guest { matched, error };
    let functions = host.guests.describe(module).await.map_err(failed(0))?;
    if !functions
        .iter()
        .any(|known| known.name == *function && known.kind == FunctionKind::Workflow)
    {
        let known =
            functions.iter().map(|known| known.name.as_str()).collect::<Vec<_>>().join(", ");
        let error =
            GuestError::NoSuchFunction { kind: "workflow", function: function.to_string(), known };
        return Err(ReplayError::Guest { matched: 0, error });
    }
    let identity = Identity {
        id: id.clone(),
        module: super::module_name(&row.promise),
        functions,
        outbound: None,
    };
    let recorder = Recorder::over(identity, outline, true);
    let facts = recorder.engine_facts();
    let recorder = Arc::new(Mutex::new(recorder));
    let lock = || recorder.lock().unwrap_or_else(PoisonError::into_inner);
    let mut instance = host.guests.instantiate(module, facts).await.map_err(failed(0))?;

    pages.fill(&recorder).await.map_err(unread)?;
    let mut polled = instance
        .start(
            recorder.clone(),
            &function,
            outcome::guest_payload(&input),
            execution::context(&row.promise, at, seed),
        )
        .await;
    let stopped = loop {
        if let Err(error) = polled {
            break Some(error);
        }
        pages.fill(&recorder).await.map_err(unread)?;
        let stored = lock().next_stored();
        let event = match stored {
            Err(stop) => break Some(GuestError::Stopped { stop, backtrace: None }),
            Ok(None) => break None,
            Ok(Some(StoredEvent::Whole(event))) => event,
            Ok(Some(StoredEvent::Completed { index, outcome, promise })) => {
                let outcome = match outcome {
                    Stored::Inline(result) => outcome::recorded(&result),
                    Stored::Own => own(host, &promise).await?,
                };
                Event::Completed(Completion { command: index, outcome })
            }
        };
        polled = instance.resume(recorder.clone(), event).await;
    };
    let matched = lock().matched();
    let divergence = lock().divergence().cloned();
    let backtrace = match stopped {
        None => None,
        Some(GuestError::Stopped { stop: Stop::Divergence, backtrace }) => backtrace,
        Some(GuestError::Stopped { stop: Stop::Damaged(what), .. }) => {
            return Err(ReplayError::Damaged(id.clone(), what));
        }
        Some(error) => return Err(ReplayError::Guest { matched, error }),
    };
    Ok(ReplayReport {
        module,
        recorded_by,
        records: count,
        matched,
        finished,
        running: row.promise.is_pending(),
        divergence,
        backtrace,
    })
}

async fn own(host: &Host, id: &PromiseId) -> Result<segno_guest::Outcome, ReplayError> {
    let row = host.store.read().promise(id).await?;
    let settlement = row.as_ref().and_then(|row| row.promise.settlement());
    settlement.map(convention::outcome).ok_or_else(|| {
        ReplayError::Damaged(
            id.clone(),
            "it refers to the value of this promise, which has none".into(),
        )
    })
}

fn why_not(row: &PromiseRow) -> &'static str {
    match &row.task {
        None => "it is a promise without a function",
        Some(task) if task.module.is_none() => "it is not run by a module",
        Some(_) => "it has not begun, or it is an activity: only workflows are replayed",
    }
}
