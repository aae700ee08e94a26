//! Checks if other code repeats existing executions. Their journals are replayed on it, several
//! concurrently, before any execution runs on it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::{
    address,
    id::{Digest, PromiseId},
};
use segno_guest::{FunctionKind, GuestError};
use segno_store::{InvocationRow, StoreError};
use tokio::sync::mpsc;

use super::{ReplayError, ReplayReport, pace::ReplayPacer, replay};
use crate::{host::Host, target};

/// An execution, and the verdict about its journal on the candidate.
#[derive(Debug)]
pub struct CheckedInvocation {
    pub row: InvocationRow,
    pub verdict: CandidateVerdict,
}

/// The behaviour of a candidate module on the journal of an execution.
#[derive(Debug)]
pub enum CandidateVerdict {
    /// The execution runs on the candidate already.
    There,
    /// The candidate repeats every record.
    Same(Box<ReplayReport>),
    /// The candidate issues another command than a record has.
    Diverges(Box<ReplayReport>),
    /// The candidate fails, or lacks the function.
    Fails {
        /// Number of records that matched before the failure.
        matched: u32,
        error: GuestError,
    },
    /// The journal has no record, so the execution may begin on the candidate.
    NotStarted,
    /// There is nothing to compare, for this reason. An activity is repeated as a whole, and a
    /// service compares its journal itself.
    Incomparable(String),
    /// The execution was removed in the meantime.
    Gone,
    /// The journal cannot be read.
    Damaged(String),
}

/// Checks these executions against `candidate`, on half of the `processors`. The results are in the
/// order of `executions`. Nothing is changed, and no side effect happens.
///
/// # Errors
/// The store did not answer.
pub async fn check(
    host: &Host,
    executions: Vec<InvocationRow>,
    candidate: Digest,
    processors: usize,
) -> Result<Vec<CheckedInvocation>, StoreError> {
    let count = executions.len();
    let left: VecDeque<_> = executions.into_iter().enumerate().collect();
    let left = Arc::new(Mutex::new(left));
    let (sender, mut checked) = mpsc::unbounded_channel();
    for _ in 0..(processors / 2).max(1).min(count) {
        let (host, left, sender) = (host.clone(), left.clone(), sender.clone());
        host.env.runtime.clone().spawn(
            "check",
            Box::pin(async move {
                let mut pace = ReplayPacer::new(&host);
                loop {
                    let next = left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((place, row)) = next else { return };
                    let verdict = verdict(&host, &row, candidate).await;
                    // The receiver is gone if the caller was dropped.
                    if sender.send((place, row, verdict)).is_err() {
                        return;
                    }
                    pace.rest().await;
                }
            }),
        );
    }
    drop(sender);
    let mut found: Vec<Option<CheckedInvocation>> = Vec::new();
    found.resize_with(count, || None);
    while let Some((place, row, verdict)) = checked.recv().await {
        found[place] = Some(CheckedInvocation { row, verdict: verdict? });
    }
    Ok(found.into_iter().flatten().collect())
}

async fn verdict(
    host: &Host,
    row: &InvocationRow,
    candidate: Digest,
) -> Result<CandidateVerdict, StoreError> {
    let id = row.promise.id();
    if row.task.module == Some(candidate) {
        return Ok(CandidateVerdict::There);
    }
    Ok(match replay(host, id, Some(candidate)).await {
        Ok(report) if report.is_identical() => CandidateVerdict::Same(Box::new(report)),
        Ok(report) => CandidateVerdict::Diverges(Box::new(report)),
        Err(ReplayError::NoJournal(_, why)) => begins(host, row, candidate, id, why).await?,
        Err(ReplayError::Guest { matched, error }) => CandidateVerdict::Fails { matched, error },
        Err(ReplayError::NotFound(_)) => CandidateVerdict::Gone,
        Err(error @ (ReplayError::Damaged(..) | ReplayError::NoSuchRecord { .. })) => {
            CandidateVerdict::Damaged(error.to_string())
        }
        Err(ReplayError::Store(error)) => return Err(error),
    })
}

/// The verdict for an execution without records.
async fn begins(
    host: &Host,
    row: &InvocationRow,
    candidate: Digest,
    id: &PromiseId,
    why: String,
) -> Result<CandidateVerdict, StoreError> {
    if row.task.module.is_none() || target::is_service(&row.promise) {
        return Ok(CandidateVerdict::Incomparable(why));
    }
    if !host.store.read().journal(id, 0, 1).await?.is_empty() {
        return Ok(CandidateVerdict::Damaged(why));
    }
    let functions = match host.guests.describe(candidate).await {
        Ok(functions) => functions,
        Err(error) => return Ok(CandidateVerdict::Fails { matched: 0, error }),
    };
    let function = target::function_of(&row.promise);
    let name = address::function_of(&function);
    let known = functions.iter().find(|known| known.name == name);
    Ok(match known.map(|known| known.kind) {
        Some(FunctionKind::Workflow) => CandidateVerdict::NotStarted,
        Some(FunctionKind::Activity) => CandidateVerdict::Incomparable(
            "it is an activity: another attempt begins it anew, on the code that it began with"
                .to_owned(),
        ),
        None => CandidateVerdict::Fails {
            matched: 0,
            error: GuestError::NoSuchFunction {
                kind: "workflow",
                function: function.into_owned(),
                known: functions
                    .iter()
                    .map(|known| known.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            },
        },
    })
}
