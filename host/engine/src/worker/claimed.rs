//! The interface of the worker for protocols that run claimed tasks.

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
    /// The task's journal, if it was prefetched.
    pub history: Option<ExecutionHistory>,
    pub active: Arc<ActiveClaim>,
    /// The worker that holds the claim.
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

/// A worker, as the holder of claims. Cheap to clone.
#[derive(Clone)]
pub struct ClaimWorker(Arc<WorkerContext>);

impl ClaimWorker {
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

    /// Completes when the host begins to shut down.
    pub async fn drained(&self) {
        self.0.draining.cancelled().await;
    }

    /// Commits `commands` together. They are sent again after lost races and unknown outcomes,
    /// since every command is idempotent.
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

    /// Records that an attempt under this claim begins. `is_bounded` is true if the number of
    /// attempts is limited.
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

    /// Settles the task with `outcome`, without a record in its journal. Releases the claim if that
    /// fails.
    pub async fn reject(&self, active: &ActiveClaim, outcome: &Outcome) -> ClaimEnd {
        activity::reject(&self.0, active, outcome).await
    }

    /// Releases the claim without settling the task, because of `error`.
    pub async fn give_back(&self, active: &ActiveClaim, error: ExecutionError) -> ClaimEnd {
        release::give_back(&self.0, &active.claim, error).await
    }
}
