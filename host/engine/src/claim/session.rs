//! The session of an execution under its claim. All its writes go through the session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use segno_core::{
    budget::{Costs, SpentBudget},
    command::Command,
    id::PromiseId,
    reply::{Refusal, Reply, TaskReply},
    time::{Millis, Timestamp},
};
use segno_store::PromiseRow;
use tokio::sync::oneshot;

use super::{
    active::ActiveClaim,
    callee_claims::CalleeClaims,
    error::ExecutionError,
    pending::{PendingStart, StartState},
};
use crate::{host::Host, notifier::SettlementNotice, worker::context::WorkerContext};

/// A claim of a worker, and the way in which commands are committed under it.
pub struct ClaimSession {
    pub active: Arc<ActiveClaim>,
    /// The worker that holds the claim.
    pub(crate) worker: Arc<WorkerContext>,
    start: Mutex<StartState>,
}

impl ClaimSession {
    /// Maximum time that an invocation runs before it is stored separately, so that its client does
    /// not wait.
    pub const PENDING_TIMEOUT: Millis = Millis(1);

    /// The session of a stored claim.
    pub(crate) fn new(worker: &Arc<WorkerContext>, active: Arc<ActiveClaim>) -> Arc<Self> {
        Self::with(worker, active, StartState::Stored)
    }

    /// The session of an invocation that is stored with the first commit of the session.
    pub(crate) fn speculative(
        worker: &Arc<WorkerContext>,
        active: Arc<ActiveClaim>,
        pending: PendingStart,
    ) -> Arc<Self> {
        Self::with(worker, active, StartState::Pending(Box::new(pending)))
    }

    fn with(worker: &Arc<WorkerContext>, active: Arc<ActiveClaim>, start: StartState) -> Arc<Self> {
        Arc::new(Self { active, worker: worker.clone(), start: Mutex::new(start) })
    }

    pub fn host(&self) -> &Host {
        &self.worker.host
    }

    pub fn now(&self) -> Timestamp {
        self.worker.now()
    }

    /// True if the host is shutting down.
    pub fn is_draining(&self) -> bool {
        self.worker.is_draining()
    }

    /// Completes when the host begins to shut down.
    pub async fn drained(&self) {
        self.worker.draining.cancelled().await;
    }

    /// Reads several promises from the store.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn promises(
        &self,
        ids: &[PromiseId],
    ) -> Result<Vec<Option<PromiseRow>>, ExecutionError> {
        self.worker.promises(ids).await
    }

    /// The rows of settled promises, in order. Reads those that the notices do not contain.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn settled(
        &self,
        notices: Vec<SettlementNotice>,
    ) -> Result<Vec<Arc<PromiseRow>>, ExecutionError> {
        self.worker.settled(notices).await
    }

    /// Records that an attempt under this claim begins. `is_bounded` is true if the number of
    /// attempts is limited.
    ///
    /// # Errors
    /// The claim is lost, or the store did not answer: the attempt must not begin.
    pub async fn begin_attempt(&self, is_bounded: bool) -> Result<(), ExecutionError> {
        self.worker.begin_attempt(&self.active, is_bounded).await
    }

    /// Counts an attempt on the budgets that it draws on, before it can have an effect: once for
    /// each claim. Returns the budget that has nothing left, if there is one: the attempt must not
    /// begin. [`ActiveClaim::expect_charge`] comes before anything that makes progress.
    ///
    /// # Errors
    /// The claim is lost, or the store did not answer: the attempt must not begin.
    pub async fn charge_attempt(&self) -> Result<Option<SpentBudget>, ExecutionError> {
        self.store().await?;
        let claim = self.active.claim.clone();
        let charge = Command::BudgetCharge { claim, begins: true, costs: Costs::default() };
        match self.host().attempt(charge).await? {
            Reply::Refused(Refusal::BudgetSpent(spent)) => Ok(Some(*spent)),
            Reply::Refused(refusal) => Err(ExecutionError::refused(refusal)),
            _ => {
                self.active.charged();
                Ok(None)
            }
        }
    }

    /// True if nothing of the invocation is stored yet.
    pub fn is_pending(&self) -> bool {
        matches!(*self.start(), StartState::Pending(_))
    }

    /// Stores the invocation separately, if it is not stored yet.
    ///
    /// # Errors
    /// The invocation is stored differently, or not at all: this execution must write nothing.
    pub async fn store(&self) -> Result<(), ExecutionError> {
        match &*self.start() {
            StartState::Pending(_) => {}
            StartState::Stored => return Ok(()),
            StartState::Otherwise(_) => return Err(ExecutionError::Lost),
        }
        self.submit(Vec::new()).await.map(drop)
    }

    /// The task that is stored in place of the one that ran here.
    pub(crate) fn stored_otherwise(&self) -> Option<TaskReply> {
        match std::mem::replace(&mut *self.start(), StartState::Stored) {
            StartState::Otherwise(task) => Some(*task),
            StartState::Pending(_) | StartState::Stored => None,
        }
    }

    /// Commits `commands` together, with the invocation if it is not stored yet.
    pub(super) async fn submit(
        &self,
        mut commands: Vec<Command>,
    ) -> Result<Vec<Reply>, ExecutionError> {
        let pending = {
            let mut start = self.start();
            match std::mem::replace(&mut *start, StartState::Stored) {
                StartState::Stored => None,
                StartState::Pending(pending) => Some(pending),
                otherwise @ StartState::Otherwise(_) => {
                    *start = otherwise;
                    return Err(ExecutionError::Lost);
                }
            }
        };
        let claims = CalleeClaims::of(&mut commands, self.host().slots());
        match pending {
            None if claims.is_empty() => self.worker.submit(commands).await,
            None => self.submit_with(commands, |replies| claims.run(replies)).await,
            Some(pending) => self.store_with(*pending, commands, claims).await,
        }
    }

    /// Commits commands that claim tasks, which `run` runs. They run even if this execution is
    /// interrupted before the answer arrives.
    pub(super) async fn submit_with(
        &self,
        commands: Vec<Command>,
        run: impl FnOnce(&mut Vec<Reply>) + Send + 'static,
    ) -> Result<Vec<Reply>, ExecutionError> {
        let (worker, (answer, answered)) = (self.worker.clone(), oneshot::channel());
        let committing = async move {
            let mut replies = worker.submit(commands).await;
            if let Ok(replies) = &mut replies {
                run(replies);
            }
            // The execution may have been interrupted.
            let _ = answer.send(replies);
        };
        self.host().env.runtime.spawn("commit", Box::pin(committing));
        answered.await.unwrap_or(Err(ExecutionError::Lost))
    }

    async fn store_with(
        &self,
        pending: PendingStart,
        commands: Vec<Command>,
        claims: CalleeClaims,
    ) -> Result<Vec<Reply>, ExecutionError> {
        let worker = &self.worker;
        let mut reply = worker.host.attempt(pending.command(commands.clone())).await;
        if let Ok(Reply::Begun { first: Some(replies), .. }) = &mut reply {
            claims.run(replies);
        }
        // Commands that are refused under the claim are sent again once the claim is stored. Their
        // refusal is then handled in the usual way.
        let mut rest = Vec::new();
        if let (Ok(Reply::Refused(_)), false) = (&reply, commands.is_empty()) {
            reply = worker.host.attempt(pending.command(Vec::new())).await;
            rest = commands.clone();
        }
        let replies = match &reply {
            Ok(Reply::Begun { first: Some(replies), .. }) => {
                worker.claims.add(self.active.clone());
                if rest.is_empty() {
                    worker.note(&commands, replies);
                }
                Some(replies.clone())
            }
            Ok(Reply::Begun { task, first: None }) => {
                if task.created {
                    worker.task_versions.learn(&task.task);
                }
                *self.start() = StartState::Otherwise(task.clone());
                None
            }
            _ => None,
        };
        pending.answer(reply);
        match replies {
            Some(_) if !rest.is_empty() => worker.submit(rest).await,
            Some(replies) => Ok(replies),
            None => Err(ExecutionError::Lost),
        }
    }

    fn start(&self) -> MutexGuard<'_, StartState> {
        self.start.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
