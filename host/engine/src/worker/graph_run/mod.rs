//! The run of a graph under one claim. The coordinator says what is to be written; a turn writes it
//! in one transaction under the run's claim, and waits for what was begun.
//!
//! No log is replayed: after a crash, on any host, the coordinator is made again from the rows of the
//! run's nodes, and begins once more what it finds begun, which changes nothing.

mod cache;
mod commit;
mod prepare;
mod wait;

use std::{collections::BTreeSet, sync::Arc};

use segno_core::{
    id::PromiseId,
    promise::{Promise, Verdict},
};
use segno_graph::progress::RecordRefused;
use segno_guest::{Failure, FunctionKind, Outcome};
use segno_store::PromiseRow;

pub use self::cache::RunCache;
use super::{
    activity,
    claims::ActiveClaim,
    context::WorkerContext,
    error::{ExecutionError, HaltReport},
    release::give_back,
    run::Work,
    settlement_watch::SettlementWatch,
};
use crate::{
    graph::{Coordinator, Settled},
    metrics::ClaimEnd,
    target::{self, HTTP},
    values::code,
};

/// How many promises are read at once.
const PAGE: usize = 1_024;

/// A run under a claim.
struct Run {
    worker: Arc<WorkerContext>,
    active: Arc<ActiveClaim>,
    id: PromiseId,
    coordinator: Coordinator,
    watch: SettlementWatch,
}

/// Why a run did not end by itself.
enum Stopped {
    /// Its promise is settled with this.
    Ended(Outcome),
    /// The claim is given back.
    Error(ExecutionError),
}

/// Runs the graph of this claim until it ends, waits or fails; the claim is given back in every
/// case.
pub async fn run(worker: Arc<WorkerContext>, active: Arc<ActiveClaim>, work: Work) -> ClaimEnd {
    let stopped = match Run::prepare(worker.clone(), active.clone(), work).await {
        Ok(run) => match run.go().await {
            Ok(end) => return end,
            Err(stopped) => stopped,
        },
        Err(stopped) => stopped,
    };
    match stopped {
        Stopped::Ended(outcome) => activity::reject(&worker, &active, &outcome).await,
        Stopped::Error(error) => give_back(&worker, &active.claim, error).await,
    }
}

impl Run {
    /// Takes turns until the claim ends.
    async fn go(mut self) -> Result<ClaimEnd, Stopped> {
        let awaits = self.coordinator.awaits();
        let mut unseen: Vec<PromiseId> = awaits.into_iter().collect();
        loop {
            if self.active.abort.is_cancelled() {
                return Err(ExecutionError::Lost.into());
            }
            if self.active.cancel_requested() {
                return Err(Stopped::Ended(failure(code::CANCELLED, "cancelled")));
            }
            self.fill(&mut unseen).await?;
            if !unseen.is_empty() {
                // What settled while this host did not hold the claim.
                unseen.iter().for_each(|id| self.watch.add(id));
                self.read(&std::mem::take(&mut unseen)).await?;
                continue;
            }
            if let Some(end) = self.coordinator.end() {
                return self.finish(end).await;
            }
            if let Some(end) = self.wait().await? {
                let version = self.active.claim.version;
                self.worker.runs.put(self.id, version, self.coordinator);
                return Ok(end);
            }
        }
    }

    /// Begins all that can begin. Attempts that were made under an earlier claim are added to
    /// `unseen`.
    async fn fill(&mut self, unseen: &mut Vec<PromiseId>) -> Result<(), Stopped> {
        loop {
            let nodes = self.coordinator.dispatch();
            if nodes.is_empty() {
                return Ok(());
            }
            unseen.extend(self.coordinator.made_before(&nodes));
            let missing = self.coordinator.missing(&nodes);
            self.learn(missing).await?;
            self.coordinator.begin(&nodes, self.worker.now())?;
            self.active.advance(nodes.len() as u64);
        }
    }

    /// Reads outputs that were in memory once.
    async fn learn(&mut self, missing: BTreeSet<PromiseId>) -> Result<(), Stopped> {
        let missing: Vec<PromiseId> = missing.into_iter().collect();
        for page in missing.chunks(PAGE) {
            let rows = self.worker.promises(page).await?;
            for (id, row) in page.iter().zip(rows) {
                let Some(row) = row else {
                    let message =
                        format!("the run needs the output in `{id}`, which does not exist");
                    return Err(ExecutionError::from(HaltReport::new("damaged", message)).into());
                };
                self.coordinator.learn(&row.promise);
            }
        }
        Ok(())
    }

    /// Reads promises that may have settled.
    async fn read(&mut self, ids: &[PromiseId]) -> Result<(), Stopped> {
        for page in ids.chunks(PAGE) {
            let rows = self.worker.promises(page).await?;
            for row in rows.into_iter().flatten() {
                self.settled(&row).await?;
            }
        }
        Ok(())
    }

    async fn settled(&mut self, row: &PromiseRow) -> Result<(), Stopped> {
        let promise = &row.promise;
        if promise.is_pending() || !is_own(&self.id, promise) {
            return Ok(());
        }
        let went_well = promise.settlement().map(|it| it.verdict) == Some(Verdict::Resolved);
        let repeated = !went_well && self.is_repeated_by_hosts(row).await?;
        let settled = Settled { promise, repeated };
        Ok(self.coordinator.settled(&settled, self.worker.now())?)
    }

    /// Whether hosts themselves repeat what fails: activities and requests.
    async fn is_repeated_by_hosts(&self, row: &PromiseRow) -> Result<bool, Stopped> {
        let Some(task) = &row.task else { return Ok(false) };
        if row.promise.target() == Some(HTTP) {
            return Ok(true);
        }
        let Some(digest) = task.module else { return Ok(false) };
        let functions = self.worker.host.guests.describe(digest).await;
        let functions = functions.map_err(ExecutionError::Guest)?;
        let name = target::function_of(&row.promise);
        let kind = functions.iter().find(|function| function.name == name).map(|found| found.kind);
        Ok(kind == Some(FunctionKind::Activity))
    }
}

fn failure(code: u32, message: impl Into<String>) -> Outcome {
    Outcome::Failure(Failure { code, message: message.into(), details: None })
}

/// Whether the promise was made by this run.
fn is_own(run: &PromiseId, promise: &Promise) -> bool {
    promise.spec.made_by.as_ref() == Some(run)
}

impl<E: Into<ExecutionError>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl From<RecordRefused> for ExecutionError {
    fn from(refused: RecordRefused) -> Self {
        HaltReport::new("damaged", format!("the rows of the run contradict its plan: {refused}"))
            .into()
    }
}
