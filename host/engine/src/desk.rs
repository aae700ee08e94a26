//! The room for executions: a seat each.
//!
//! Whoever creates an invocation may take a seat first, and create it together with the claim on it: one commit then
//! does what would take three steps, to create the task, to hear that it is ready, and to acquire it. Where no seat is
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

use crate::lengths::LeaseLengths;
use segno_env::{BoxFuture, Surroundings};
use segno_store::StoreError;

/// Where others take seats.
pub struct Desk {
    claims: Claims,
    seats: Arc<Semaphore>,
    all: usize,
    changes: mpsc::UnboundedSender<Vec<Arrival>>,
}

/// What claims are made with.
pub struct Claims {
    /// Whom they belong to.
    pub holder: Holder,
    /// How long their leases are.
    pub lengths: Arc<LeaseLengths>,
    /// Who extends them.
    pub renewal: Arc<dyn Renewal>,
    /// Who begins what is not stored yet.
    pub beginnings: Arc<dyn Beginnings>,
    /// Where nonces and time come from.
    pub surroundings: Surroundings,
    /// Cancelled when the host is about to stop: there are no more seats for others.
    pub draining: CancellationToken,
}

/// Extends claims at once, rather than with the next heartbeat.
pub trait Renewal: Send + Sync + 'static {
    /// Ends when those of these tasks that this host still executes are extended, if they can be.
    fn renew(&self, ids: Vec<PromiseId>) -> BoxFuture<()>;
}

/// Begins invocations that are not stored yet.
pub trait Beginnings: Send + Sync + 'static {
    /// Runs it at once, and stores it with what that comes to. It goes on if whoever started it goes away.
    fn begin(&self, start: Start);
}

/// An invocation that is to be stored and to begin.
pub struct Start {
    /// Its seat.
    pub seat: Seat,
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
pub struct Counter {
    seats: Arc<Semaphore>,
    all: usize,
    changed: mpsc::UnboundedReceiver<Vec<Arrival>>,
    changes: mpsc::UnboundedSender<Vec<Arrival>>,
}

/// The room for one execution, until it is dropped.
pub struct Seat {
    permit: Option<OwnedSemaphorePermit>,
    changes: mpsc::UnboundedSender<Vec<Arrival>>,
}

/// A claim that was made by somebody who had a seat.
pub struct Arrival {
    /// Its seat.
    pub seat: Seat,
    /// What it claims.
    pub acquired: TaskReply,
    /// What it waited for, as far as that is known to have settled.
    pub settled: Vec<Promise>,
}

/// The two ends of a room with so many seats.
pub fn room(claims: Claims, seats: usize) -> (Desk, Counter) {
    let (changes, changed) = mpsc::unbounded_channel();
    let all = seats.clamp(1, Semaphore::MAX_PERMITS);
    let seats = Arc::new(Semaphore::new(all));
    let desk = Desk { claims, seats: seats.clone(), all, changes: changes.clone() };
    (desk, Counter { seats, all, changed, changes })
}

impl Desk {
    /// A seat and what a claim is made with, if there is room and the host is not about to stop.
    pub fn seat(&self) -> Option<(Seat, Hold)> {
        if self.claims.draining.is_cancelled() {
            return None;
        }
        Some((Seat::take(&self.seats, &self.changes)?, self.hold()))
    }

    /// Up to `wanted` seats. Where fewer than that and than `enough` are free, it waits `patience` for others to leave.
    pub async fn seats(&self, wanted: usize, enough: usize, patience: Millis) -> Vec<(Seat, Hold)> {
        let mut seats: Vec<_> = std::iter::from_fn(|| self.seat()).take(wanted).collect();
        let lacking = enough.min(wanted).min(self.all).saturating_sub(seats.len());
        if lacking > 0 && !self.claims.draining.is_cancelled() {
            let lacking = u32::try_from(lacking).expect("a room has fewer seats");
            let leaving = self.seats.clone().acquire_many_owned(lacking);
            if let Some(Ok(mut left)) = self.claims.surroundings.within(patience, leaving).await {
                while let Some(permit) = left.split(1) {
                    seats.push((Seat::of(permit, &self.changes), self.hold()));
                }
            }
        }
        seats
    }

    /// Has claims executed that were made together.
    pub fn run(&self, arrivals: Vec<Arrival>) {
        if !arrivals.is_empty() {
            let _ = self.changes.send(arrivals);
        }
    }

    /// Begins an invocation that runs `module`, as [`Desk::seat`] was given for it. What this ends with is told when it
    /// is stored.
    pub fn begin(
        &self,
        (seat, hold): (Seat, Hold),
        new: NewPromise,
        module: Digest,
    ) -> oneshot::Receiver<Result<Reply, StoreError>> {
        let (answer, told) = oneshot::channel();
        self.claims.beginnings.begin(Start { seat, new, hold, module, answer });
        told
    }

    fn hold(&self) -> Hold {
        let Claims { holder, lengths, surroundings, .. } = &self.claims;
        Hold { holder: holder.clone(), nonce: surroundings.runtime.nonce(), ttl: lengths.ttl() }
    }

    /// Extends those of these claims that are this host's own and still used. A host that was held up does not take its
    /// own work for dead.
    pub async fn renew(&self, ids: Vec<PromiseId>) {
        self.claims.renewal.renew(ids).await;
    }
}

impl Seat {
    fn take(seats: &Arc<Semaphore>, changes: &mpsc::UnboundedSender<Vec<Arrival>>) -> Option<Self> {
        Some(Self::of(seats.clone().try_acquire_owned().ok()?, changes))
    }

    fn of(permit: OwnedSemaphorePermit, changes: &mpsc::UnboundedSender<Vec<Arrival>>) -> Self {
        Self { permit: Some(permit), changes: changes.clone() }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // First the room, then the news of it.
        drop(self.permit.take());
        let _ = self.changes.send(Vec::new());
    }
}

impl Counter {
    /// A seat, if one is free.
    pub fn seat(&self) -> Option<Seat> {
        Seat::take(&self.seats, &self.changes)
    }

    /// Whether every seat is free.
    pub fn is_empty(&self) -> bool {
        self.seats.available_permits() == self.all
    }

    /// The next that arrive with claims; none: somebody left.
    pub async fn next(&mut self) -> Vec<Arrival> {
        self.changed.recv().await.expect("the sender lives beside the receiver")
    }
}
