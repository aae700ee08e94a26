//! The pool for executions: a slot each.
//!
//! Whoever creates an invocation may take a slot first, and create it together with the claim on it: one commit then
//! does what would take three steps, to create the task, to hear that it is ready, and to acquire it. Where no slot is
//! free, tasks are created without a claim and wait their turn.

use std::sync::Arc;

use segno_core::{
    command::Hold,
    id::{Digest, Holder, PromiseId},
    promise::{NewPromise, Promise},
    reply::{Reply, TaskReply},
    time::Millis,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::lease_ttl::AdaptiveLeaseTtl;
use segno_env::{BoxFuture, Env};
use segno_store::StoreError;

/// Where others take slots.
pub struct ExecutionSlots {
    claims: ClaimContext,
    free: Arc<Semaphore>,
    all: usize,
    changes: mpsc::UnboundedSender<Vec<ClaimedTask>>,
}

/// What claims are made with.
pub struct ClaimContext {
    /// Whom they belong to.
    pub holder: Holder,
    /// How long their leases are.
    pub lease_ttl: Arc<AdaptiveLeaseTtl>,
    /// Who extends them.
    pub renewer: Arc<dyn LeaseRenewer>,
    /// Who begins what is not stored yet.
    pub optimistic_start: Arc<dyn OptimisticStart>,
    /// Where nonces and time come from.
    pub env: Env,
    /// Cancelled when the host is about to stop: there are no more slots for others.
    pub draining: CancellationToken,
}

/// Extends claims at once, rather than with the next heartbeat.
pub trait LeaseRenewer: Send + Sync + 'static {
    /// Ends when those of these tasks that this host still executes are extended, if they can be.
    fn renew(&self, ids: Vec<PromiseId>) -> BoxFuture<()>;
}

/// Begins invocations that are not stored yet.
pub trait OptimisticStart: Send + Sync + 'static {
    /// Runs it at once, and stores it with what that comes to. It goes on if whoever started it goes away.
    fn begin(&self, start: StartRequest);
}

/// An invocation that is to be stored and to begin.
pub struct StartRequest {
    /// Its slot.
    pub slot: Slot,
    /// Its promise.
    pub new: NewPromise,
    /// For whom.
    pub hold: Hold,
    /// The module that its target seems to stand for; the store decides.
    pub module: Digest,
    /// Is told how it was stored: what [`Command::TaskBegin`](segno_core::command::Command::TaskBegin) was answered.
    pub answer: oneshot::Sender<Result<Reply, StoreError>>,
}

/// Where the dispatcher counts them.
pub struct SlotPool {
    free: Arc<Semaphore>,
    all: usize,
    changed: mpsc::UnboundedReceiver<Vec<ClaimedTask>>,
    changes: mpsc::UnboundedSender<Vec<ClaimedTask>>,
}

/// The pool for one execution, until it is dropped.
pub struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    changes: mpsc::UnboundedSender<Vec<ClaimedTask>>,
}

/// A claim that was made by somebody who had a slot.
pub struct ClaimedTask {
    /// Its slot.
    pub slot: Slot,
    /// What it claims.
    pub acquired: TaskReply,
    /// What it waited for, as far as that is known to have settled.
    pub settled: Vec<Promise>,
}

/// The two ends of a pool with so many slots.
pub fn pool(claims: ClaimContext, slots: usize) -> (ExecutionSlots, SlotPool) {
    let (changes, changed) = mpsc::unbounded_channel();
    let all = slots.clamp(1, Semaphore::MAX_PERMITS);
    let free = Arc::new(Semaphore::new(all));
    let slots = ExecutionSlots { claims, free: free.clone(), all, changes: changes.clone() };
    (slots, SlotPool { free, all, changed, changes })
}

impl ExecutionSlots {
    /// A slot and what a claim is made with, if there is pool and the host is not about to stop.
    pub fn slot(&self) -> Option<(Slot, Hold)> {
        if self.claims.draining.is_cancelled() {
            return None;
        }
        Some((Slot::take(&self.free, &self.changes)?, self.hold()))
    }

    /// Up to `wanted` slots. Where fewer than that and than `enough` are free, it waits `patience` for others to leave.
    pub async fn slots(&self, wanted: usize, enough: usize, patience: Millis) -> Vec<(Slot, Hold)> {
        let mut slots: Vec<_> = std::iter::from_fn(|| self.slot()).take(wanted).collect();
        let lacking = enough.min(wanted).min(self.all).saturating_sub(slots.len());
        if lacking > 0 && !self.claims.draining.is_cancelled() {
            let lacking = u32::try_from(lacking).expect("a pool has fewer slots");
            let leaving = self.free.clone().acquire_many_owned(lacking);
            if let Some(Ok(mut left)) = self.claims.env.within(patience, leaving).await {
                while let Some(permit) = left.split(1) {
                    slots.push((Slot::of(permit, &self.changes), self.hold()));
                }
            }
        }
        slots
    }

    /// Has claims executed that were made together.
    pub fn run(&self, arrivals: Vec<ClaimedTask>) {
        if !arrivals.is_empty() {
            let _ = self.changes.send(arrivals);
        }
    }

    /// Begins an invocation that runs `module`, as [`ExecutionSlots::slot`] was given for it. What this ends with is told when it
    /// is stored.
    pub fn begin(
        &self,
        (slot, hold): (Slot, Hold),
        new: NewPromise,
        module: Digest,
    ) -> oneshot::Receiver<Result<Reply, StoreError>> {
        let (answer, told) = oneshot::channel();
        self.claims.optimistic_start.begin(StartRequest { slot, new, hold, module, answer });
        told
    }

    fn hold(&self) -> Hold {
        let ClaimContext { holder, lease_ttl, env, .. } = &self.claims;
        Hold { holder: holder.clone(), nonce: env.runtime.nonce(), ttl: lease_ttl.ttl() }
    }

    /// Extends those of these claims that are this host's own and still used. A host that was held up does not take its
    /// own work for dead.
    pub async fn renew(&self, ids: Vec<PromiseId>) {
        self.claims.renewer.renew(ids).await;
    }
}

impl Slot {
    fn take(
        slots: &Arc<Semaphore>,
        changes: &mpsc::UnboundedSender<Vec<ClaimedTask>>,
    ) -> Option<Self> {
        Some(Self::of(slots.clone().try_acquire_owned().ok()?, changes))
    }

    fn of(permit: OwnedSemaphorePermit, changes: &mpsc::UnboundedSender<Vec<ClaimedTask>>) -> Self {
        Self { permit: Some(permit), changes: changes.clone() }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // First the pool, then the news of it.
        drop(self.permit.take());
        let _ = self.changes.send(Vec::new());
    }
}

impl SlotPool {
    /// A slot, if one is free.
    pub fn slot(&self) -> Option<Slot> {
        Slot::take(&self.free, &self.changes)
    }

    /// Whether every slot is free.
    pub fn is_empty(&self) -> bool {
        self.free.available_permits() == self.all
    }

    /// The next that arrive with claims; none: somebody left.
    pub async fn next(&mut self) -> Vec<ClaimedTask> {
        self.changed.recv().await.expect("the sender lives beside the receiver")
    }
}
