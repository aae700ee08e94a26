//! A graph run under one claim. The coordinator decides what to write. A turn commits that in one
//! transaction under the run's claim, and waits for the attempts that it began.
//!
//! No log is replayed. After a crash, any host can rebuild the coordinator from the rows of the
//! run's nodes. It begins running attempts again, which has no effect.

mod cache;
mod commit;
mod inputs;
mod prepare;
mod wait;

use std::{collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    id::PromiseId,
    promise::{Promise, Verdict},
};
use segno_graph::progress::RecordRefusal;
use segno_guest::{Failure, FunctionKind, Outcome};
use segno_store::PromiseRow;

pub(super) use self::cache::RunCache;
use super::context::WorkerContext;
use crate::{
    claim::{ClaimSession, Claimed, ExecutionError, HaltReport, SettlementWatch, Target},
    graph::{Coordinator, SettledPromise},
    metrics::ClaimEnd,
    notifier::SettlementNotice,
    slots::SlotKind,
    target::{self, HTTP},
    values,
};

/// Maximum number of promises read in one query.
const PAGE: usize = 1_024;

/// A run under a claim.
struct ClaimedRun {
    worker: Arc<WorkerContext>,
    session: Arc<ClaimSession>,
    id: PromiseId,
    coordinator: Coordinator,
    watch: SettlementWatch,
    /// Promises that may have settled, with the rows of those that are known to have.
    unseen: VecDeque<SettlementNotice>,
}

/// The reason why a run did not end in the regular way.
enum RunStop {
    /// The run's promise is settled with this outcome.
    Ended(Outcome),
    /// The claim is released.
    Error(ExecutionError),
}

/// Runs graphs.
pub(super) struct GraphTarget;

#[async_trait]
impl Target for GraphTarget {
    fn slot(&self) -> (SlotKind, usize) {
        (SlotKind::Execution, 1)
    }

    async fn run(self: Arc<Self>, claimed: Claimed) -> ClaimEnd {
        let session = claimed.session.clone();
        let stopped = match ClaimedRun::prepare(claimed).await {
            Ok(run) => match run.go().await {
                Ok(end) => return end,
                Err(stopped) => stopped,
            },
            Err(stopped) => stopped,
        };
        match stopped {
            RunStop::Ended(outcome) => session.reject(&outcome).await,
            RunStop::Error(error) => session.give_back(error).await,
        }
    }
}

impl ClaimedRun {
    /// Takes turns until the claim ends.
    async fn go(mut self) -> Result<ClaimEnd, RunStop> {
        // Promises that may have settled while this host did not hold the claim are read before any
        // node begins.
        let unseen = self.coordinator.unseen();
        unseen.iter().for_each(|id| self.watch.add(id));
        self.unseen = unseen.into_iter().map(SettlementNotice::unread).collect();
        loop {
            if self.session.active.abort.is_cancelled() {
                return Err(ExecutionError::Lost.into());
            }
            if self.session.active.cancel_requested() {
                return Err(RunStop::Ended(values::cancelled()));
            }
            let mut has_fact = self.observe().await?;
            if let Some(end) = self.coordinator.end() {
                return self.finish(end).await;
            }
            if self.unseen.is_empty() {
                has_fact |= self.fill().await?;
            }
            if let Some(end) = self.coordinator.end() {
                return self.finish(end).await;
            }
            if has_fact && self.coordinator.is_sequential() {
                let acts = self.coordinator.take_acts();
                self.commit(acts).await?;
                continue;
            }
            if let Some(end) = self.wait().await? {
                let version = self.session.active.claim.version;
                self.worker.runs.put(self.id, version, self.coordinator);
                return Ok(end);
            }
        }
    }

    /// Reads the promises that may have settled. A sequential run stops at the first fact. Returns
    /// true if there was a fact.
    async fn observe(&mut self) -> Result<bool, RunStop> {
        if self.coordinator.is_sequential() {
            while let Some(notice) = self.unseen.pop_front() {
                if self.see([notice].into()).await? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let unseen = std::mem::take(&mut self.unseen);
        self.see(unseen).await
    }

    /// Takes promises that may have settled, in order, and reads those without a row. Returns true
    /// if there was a fact among them.
    async fn see(&mut self, notices: VecDeque<SettlementNotice>) -> Result<bool, RunStop> {
        let (mut has_fact, mut unread) = (false, Vec::new());
        for SettlementNotice { id, row } in notices {
            let Some(row) = row else {
                unread.push(id);
                continue;
            };
            has_fact |= self.read(&std::mem::take(&mut unread)).await?;
            has_fact |= self.settled(&row).await?;
            self.coordinator.trim();
        }
        Ok(has_fact | self.read(&unread).await?)
    }

    /// Reads promises that may have settled. Returns true if there was a fact among them.
    async fn read(&mut self, ids: &[PromiseId]) -> Result<bool, RunStop> {
        let mut has_fact = false;
        for page in self.pages(ids).await? {
            let rows = self.worker.promises(&page).await?;
            for row in rows.into_iter().flatten() {
                has_fact |= self.settled(&row).await?;
            }
            self.coordinator.trim();
        }
        Ok(has_fact)
    }

    async fn settled(&mut self, row: &PromiseRow) -> Result<bool, RunStop> {
        let promise = &row.promise;
        if promise.is_pending() || !is_own(&self.id, promise) {
            return Ok(false);
        }
        let went_well = promise.settlement().map(|it| it.verdict) == Some(Verdict::Resolved);
        let repeated = !went_well && self.is_repeated_by_hosts(row).await?;
        let settled = SettledPromise { promise, repeated };
        Ok(self.coordinator.settled(&settled, self.worker.now())?)
    }

    /// True if hosts themselves retry failures of this invocation, as they do for activities and
    /// requests.
    async fn is_repeated_by_hosts(&self, row: &PromiseRow) -> Result<bool, RunStop> {
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

/// True if this run created the promise.
fn is_own(run: &PromiseId, promise: &Promise) -> bool {
    promise.spec.made_by.as_ref() == Some(run)
}

impl<E: Into<ExecutionError>> From<E> for RunStop {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl From<RecordRefusal> for ExecutionError {
    fn from(refused: RecordRefusal) -> Self {
        HaltReport::new("damaged", format!("the rows of the run contradict its plan: {refused}"))
            .into()
    }
}
