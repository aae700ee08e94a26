//! The claims this host holds, as heartbeats and interruptions know them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use segno_core::{
    command::{Command, HeartbeatItem},
    id::{Claim, PromiseId},
    value::Bytes,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A claim, shared by the execution that uses the claim and those who may end it.
pub struct ActiveClaim {
    /// The claim.
    pub claim: Claim,
    /// Ends the execution at once: it must write nothing more.
    pub abort: CancellationToken,
    /// Whether what gives the claim back is on its way to the store.
    ending: AtomicBool,
    cancelled: AtomicBool,
    cancel_changed: Notify,
    progress: AtomicU64,
    payload: Mutex<Option<Bytes>>,
}

impl ActiveClaim {
    /// A claim that nothing else knows of yet.
    pub fn new(claim: Claim) -> Arc<Self> {
        Arc::new(Self {
            claim,
            abort: CancellationToken::new(),
            ending: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            cancel_changed: Notify::new(),
            progress: AtomicU64::new(0),
            payload: Mutex::new(None),
        })
    }

    /// Says that the invocation was asked to stop.
    pub fn request_cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.cancel_changed.notify_waiters();
        self.cancel_changed.notify_one();
    }

    /// Whether the invocation was asked to stop.
    pub fn cancel_requested(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Ends when the invocation is asked to stop.
    pub async fn cancel_request(&self) {
        while !self.cancel_requested() {
            self.cancel_changed.notified().await;
        }
    }

    /// Counts `steps` of progress, so that the lease goes on being extended.
    pub fn advance(&self, steps: u64) {
        self.progress.fetch_add(steps, Ordering::Release);
    }

    /// Keeps what a successor should know, to be stored with the next heartbeat.
    pub fn report(&self, payload: Option<Bytes>) {
        if payload.is_some() {
            *self.payload.lock().unwrap_or_else(PoisonError::into_inner) = payload;
        }
        self.advance(1);
    }

    /// The claim as a heartbeat names it.
    pub fn item(&self) -> HeartbeatItem {
        // The number first: a payload that is newer than its number is sent again under the next one.
        let steps = self.progress.load(Ordering::Acquire);
        let payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner).clone();
        HeartbeatItem { claim: self.claim.clone(), progress: Some((steps, payload)) }
    }
}

/// All of them, by id.
#[derive(Default)]
pub struct Claims(Mutex<BTreeMap<PromiseId, Arc<ActiveClaim>>>);

impl Claims {
    /// Adds a claim that was just acquired.
    pub fn add(&self, active: Arc<ActiveClaim>) {
        if let Some(older) = self.lock().insert(active.claim.id.clone(), active) {
            older.abort.cancel();
        }
    }

    /// Forgets a claim, unless another one on the same task has its place.
    pub fn remove(&self, active: &Arc<ActiveClaim>) {
        let mut claims = self.lock();
        if claims.get(&active.claim.id).is_some_and(|known| Arc::ptr_eq(known, active)) {
            claims.remove(&active.claim.id);
        }
    }

    /// Notes which claims these commands give back, before they are sent, and which go on.
    pub fn note(&self, commands: &[Command]) {
        for command in commands {
            let (claim, ending) = match command {
                Command::TaskRelease { claim, .. }
                | Command::TaskSuspend { claim, .. }
                | Command::TaskFulfill { claim, .. } => (claim, true),
                Command::TaskFence { claim, .. } => (claim, false),
                _ => continue,
            };
            if let Some(active) = self.lock().get(&claim.id) {
                active.ending.store(ending, Ordering::Release);
            }
        }
    }

    /// Interrupts the execution under this claim, which has ended. Whether it was lost: the execution is here, and had
    /// not given it back itself.
    pub fn interrupt(&self, claim: &Claim) -> bool {
        match self.lock().get(&claim.id) {
            Some(active) if active.claim.version == claim.version => {
                active.abort.cancel();
                !active.ending.load(Ordering::Acquire)
            }
            _ => false,
        }
    }

    /// Tells the execution of `id` that it was asked to stop.
    pub fn request_cancel(&self, id: &PromiseId) {
        if let Some(active) = self.lock().get(id) {
            active.request_cancel();
        }
    }

    /// Whether this host holds the task.
    pub fn holds(&self, id: &PromiseId) -> bool {
        self.lock().contains_key(id)
    }

    /// All claims as a heartbeat names them.
    pub fn beat(&self) -> Vec<HeartbeatItem> {
        self.lock().values().map(|active| active.item()).collect()
    }

    /// All claims.
    pub fn all(&self) -> Vec<Arc<ActiveClaim>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<PromiseId, Arc<ActiveClaim>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use segno_core::{id::Version, promise::ReleaseReason};

    use super::*;

    #[test]
    fn a_claim_that_its_execution_gave_back_is_not_lost() {
        let claims = Claims::default();
        let claim = |version| Claim { id: PromiseId::from("it"), version: Version(version) };
        assert!(!claims.interrupt(&claim(1)), "it is over already");
        let active = ActiveClaim::new(claim(1));
        claims.add(active.clone());
        assert!(!claims.interrupt(&claim(2)), "another claim is here");
        assert!(!active.abort.is_cancelled());
        let reason = ReleaseReason::Yield;
        claims.note(&[Command::TaskRelease { claim: claim(1), reason }]);
        assert!(!claims.interrupt(&claim(1)), "it was given back");
        // A suspend may be answered with what it waited for: then the execution goes on, and appends.
        let (records, logs, actions) = (Vec::new(), Vec::new(), Vec::new());
        claims.note(&[Command::TaskFence { claim: claim(1), records, logs, actions }]);
        assert!(claims.interrupt(&claim(1)), "it was taken away");
        assert!(active.abort.is_cancelled());
    }
}
