//! Execution slots: each execution of this host holds one.
//!
//! A caller that creates an invocation may take a slot first, and create the invocation together
//! with the claim on it: one commit then does the work of three steps, which are to create the
//! task, to receive the hint that it is ready, and to acquire it. If no slot is free, tasks are
//! created without a claim and wait in the queue.

use std::sync::Arc;

use segno_core::{
    command::ClaimRequest,
    id::{Digest, Holder, PromiseId},
    promise::{NewPromise, Promise},
    reply::{Reply, TaskReply},
    time::Millis,
};
use segno_env::{BoxFuture, Env};
use segno_store::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::lease_ttl::AdaptiveLeaseTtl;

/// The end of the pool for callers that create invocations.
pub struct ExecutionSlots {
    claims: ClaimContext,
    free: Arc<Semaphore>,
    all: usize,
    changes: mpsc::UnboundedSender<Vec<ClaimedTask>>,
}

/// The parameters of new claims.
pub struct ClaimContext {
    /// The holder of the claims.
    pub holder: Holder,
    /// The duration of the leases.
    pub lease_ttl: Arc<AdaptiveLeaseTtl>,
    /// Extends the leases.
    pub renewer: Arc<dyn LeaseRenewer>,
    /// Starts invocations that are not stored yet.
    pub optimistic_start: Arc<dyn OptimisticStart>,
    /// The source of nonces and time.
    pub env: Env,
    /// Cancelled when the host is about to stop: then no slot is given out.
    pub draining: CancellationToken,
}

/// Extends claims at once, instead of with the next heartbeat.
pub trait LeaseRenewer: Send + Sync + 'static {
    /// Completes when the claims on those of these tasks that this host still executes are
    /// extended, if they can be.
    fn renew(&self, ids: Vec<PromiseId>) -> BoxFuture<()>;
}

/// Starts invocations that are not stored yet.
pub trait OptimisticStart: Send + Sync + 'static {
    /// Runs the invocation at once, and stores it with its first commit. The execution continues if
    /// the client that started it disconnects.
    fn begin(&self, start: StartRequest);
}

/// A request to store an invocation and to start it.
pub struct StartRequest {
    /// The execution slot.
    pub slot: Slot,
    /// The promise to create.
    pub new: NewPromise,
    /// The claim to create.
    pub request: ClaimRequest,
    /// The module that the target resolves to on this host; the store decides.
    pub module: Digest,
    /// Receives the reply to [`Command::TaskBegin`](segno_core::command::Command::TaskBegin).
    pub answer: oneshot::Sender<Result<Reply, StoreError>>,
}

/// The dispatcher's end of the pool.
pub struct SlotPool {
    free: Arc<Semaphore>,
    all: usize,
    changed: mpsc::UnboundedReceiver<Vec<ClaimedTask>>,
    changes: mpsc::UnboundedSender<Vec<ClaimedTask>>,
}

/// One execution slot, free again when dropped.
pub struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    changes: mpsc::UnboundedSender<Vec<ClaimedTask>>,
}

/// A task that was claimed by a caller with a slot.
pub struct ClaimedTask {
    /// The execution slot.
    pub slot: Slot,
    /// The task and its claim.
    pub acquired: TaskReply,
    /// The promises that the task waited for and that are known to have settled.
    pub settled: Vec<Promise>,
}

/// The two ends of a pool with `slots` slots.
pub fn pool(claims: ClaimContext, slots: usize) -> (ExecutionSlots, SlotPool) {
    let (changes, changed) = mpsc::unbounded_channel();
    let all = slots.clamp(1, Semaphore::MAX_PERMITS);
    let free = Arc::new(Semaphore::new(all));
    let slots = ExecutionSlots { claims, free: free.clone(), all, changes: changes.clone() };
    (slots, SlotPool { free, all, changed, changes })
}

impl ExecutionSlots {
    /// A slot and the parameters of a claim, if a slot is free and the host is not about to stop.
    pub fn slot(&self) -> Option<(Slot, ClaimRequest)> {
        if self.claims.draining.is_cancelled() {
            return None;
        }
        Some((Slot::take(&self.free, &self.changes)?, self.claim_request()))
    }

    /// Up to `wanted` slots. If fewer than `wanted` and than `enough` are free, the call waits up
    /// to `patience` for more.
    pub async fn slots(
        &self,
        wanted: usize,
        enough: usize,
        patience: Millis,
    ) -> Vec<(Slot, ClaimRequest)> {
        let mut slots: Vec<_> = std::iter::from_fn(|| self.slot()).take(wanted).collect();
        let lacking = enough.min(wanted).min(self.all).saturating_sub(slots.len());
        if lacking > 0 && !self.claims.draining.is_cancelled() {
            let lacking = u32::try_from(lacking).expect("a pool has fewer slots");
            let leaving = self.free.clone().acquire_many_owned(lacking);
            if let Some(Ok(mut left)) = self.claims.env.within(patience, leaving).await {
                while let Some(permit) = left.split(1) {
                    slots.push((Slot::of(permit, &self.changes), self.claim_request()));
                }
            }
        }
        slots
    }

    /// Runs tasks that were claimed together.
    pub fn run(&self, arrivals: Vec<ClaimedTask>) {
        if !arrivals.is_empty() {
            let _ = self.changes.send(arrivals);
        }
    }

    /// Starts an invocation that runs `module`, in a slot from [`ExecutionSlots::slot`]. The
    /// receiver gets the reply when the invocation is stored.
    pub fn begin(
        &self,
        (slot, request): (Slot, ClaimRequest),
        new: NewPromise,
        module: Digest,
    ) -> oneshot::Receiver<Result<Reply, StoreError>> {
        let (answer, told) = oneshot::channel();
        self.claims.optimistic_start.begin(StartRequest { slot, new, request, module, answer });
        told
    }

    fn claim_request(&self) -> ClaimRequest {
        let ClaimContext { holder, lease_ttl, env, .. } = &self.claims;
        ClaimRequest { holder: holder.clone(), nonce: env.runtime.nonce(), ttl: lease_ttl.ttl() }
    }

    /// Extends those of these claims that belong to this host and are still in use, so that a host
    /// that was held up does not let its own running work expire.
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
        // The slot is free before the dispatcher is notified.
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

    /// The next claimed tasks; empty: a slot became free.
    pub async fn next(&mut self) -> Vec<ClaimedTask> {
        self.changed.recv().await.expect("the sender lives beside the receiver")
    }
}
