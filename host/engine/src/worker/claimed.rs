//! A claim as a protocol sees it that runs what is claimed: the task, and what the worker does for whoever holds it.

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::PromiseId,
    reply::{Reply, TaskReply},
    time::Timestamp,
};
use segno_guest::Outcome;
use segno_store::{ExecutionHistory, PromiseRow};

use super::{activity, context::WorkerContext, release, run::ClaimedWork};
use crate::{host::Host, metrics::ClaimEnd};

pub use super::{
    activity::cancelled,
    claims::ActiveClaim,
    error::{ExecutionError, HaltReport, note},
    execution::ClaimWriter,
    settlement_watch::SettlementWatch,
};

/// A task that this host has claimed.
pub struct Claimed {
    /// The task as it was claimed.
    pub acquired: TaskReply,
    /// Its journal, if it was read already.
    pub history: Option<ExecutionHistory>,
    pub active: Arc<ActiveClaim>,
    /// The worker that holds it.
    pub worker: ClaimWorker,
}

impl Claimed {
    /// A task that `worker` runs under this claim.
    pub(super) fn new(
        worker: &Arc<WorkerContext>,
        active: &Arc<ActiveClaim>,
        ClaimedWork { acquired, prefetched }: ClaimedWork,
    ) -> Self {
        let (active, worker) = (active.clone(), ClaimWorker(worker.clone()));
        Self { acquired, history: prefetched.history, active, worker }
    }
}

/// A worker, for what runs under its claims. Cheap to clone.
#[derive(Clone)]
pub struct ClaimWorker(Arc<WorkerContext>);

impl ClaimWorker {
    /// The host.
    pub fn host(&self) -> &Host {
        &self.0.host
    }

    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// True if the host is shutting down.
    pub fn is_draining(&self) -> bool {
        self.0.is_draining()
    }

    /// Completes when the host is about to stop.
    pub async fn drained(&self) {
        self.0.draining.cancelled().await;
    }

    /// Commits `commands` together. Lost races and unknown outcomes are sent again: every command
    /// absorbs its own repetition.
    ///
    /// # Errors
    /// The claim is lost, or the store did not answer.
    pub async fn submit(&self, commands: Vec<Command>) -> Result<Vec<Reply>, ExecutionError> {
        self.0.submit(commands).await
    }

    /// Reads several promises from the store.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn promises(
        &self,
        ids: &[PromiseId],
    ) -> Result<Vec<Option<PromiseRow>>, ExecutionError> {
        self.0.promises(ids).await
    }

    /// Takes note that an attempt under this claim begins, which is bounded if the number of attempts is.
    ///
    /// # Errors
    /// The claim is lost, or the store did not answer: the attempt must not begin.
    pub async fn begin_attempt(
        &self,
        active: &Arc<ActiveClaim>,
        is_bounded: bool,
    ) -> Result<(), ExecutionError> {
        self.0.begin_attempt(active, is_bounded).await
    }

    /// Settles the task with an outcome that nothing was recorded of.
    pub async fn reject(&self, active: &ActiveClaim, outcome: &Outcome) -> ClaimEnd {
        activity::reject(&self.0, active, outcome).await
    }

    /// Releases the claim without an outcome.
    pub async fn give_back(&self, active: &ActiveClaim, error: ExecutionError) -> ClaimEnd {
        release::give_back(&self.0, &active.claim, error).await
    }
}
