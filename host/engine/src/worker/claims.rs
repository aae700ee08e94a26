//! The claims of this host, for heartbeats and interruptions.

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
    /// The task's id and the version of the claim.
    pub claim: Claim,
    /// Stops the execution at once: it must write nothing more.
    pub abort: CancellationToken,
    /// Whether a command that gives the claim back is on its way to the store.
    ending: AtomicBool,
    cancelled: AtomicBool,
    cancel_changed: Notify,
    progress: AtomicU64,
    payload: Mutex<Option<Bytes>>,
}

impl ActiveClaim {
    /// A claim that is not yet listed.
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

    /// Records that the invocation was asked to stop.
    pub fn request_cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.cancel_changed.notify_waiters();
        self.cancel_changed.notify_one();
    }

    /// Whether the invocation was asked to stop.
    pub fn cancel_requested(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Completes when the invocation is asked to stop.
    pub async fn cancel_request(&self) {
        while !self.cancel_requested() {
            self.cancel_changed.notified().await;
        }
    }

    /// Counts `steps` of progress, so that the lease goes on being extended.
    pub fn advance(&self, steps: u64) {
        self.progress.fetch_add(steps, Ordering::Release);
    }

    /// Keeps progress data for a later attempt, to be stored with the next heartbeat.
    pub fn report(&self, payload: Option<Bytes>) {
        if payload.is_some() {
            *self.payload.lock().unwrap_or_else(PoisonError::into_inner) = payload;
        }
        self.advance(1);
    }

    /// The claim as a heartbeat names it.
    pub fn item(&self) -> HeartbeatItem {
        // The number is read first: a payload that is newer than its number is sent again under the
        // next one.
        let steps = self.progress.load(Ordering::Acquire);
        let payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner).clone();
        HeartbeatItem { claim: self.claim.clone(), progress: Some((steps, payload)) }
    }
}

/// All claims of this host, by task id.
#[derive(Default)]
pub struct Claims(Mutex<BTreeMap<PromiseId, Arc<ActiveClaim>>>);

impl Claims {
    /// Adds a claim that was just acquired.
    pub fn add(&self, active: Arc<ActiveClaim>) {
        if let Some(older) = self.lock().insert(active.claim.id.clone(), active) {
            older.abort.cancel();
        }
    }

    /// Removes a claim, unless another claim on the same task has replaced it.
    pub fn remove(&self, active: &Arc<ActiveClaim>) {
        let mut claims = self.lock();
        if claims.get(&active.claim.id).is_some_and(|known| Arc::ptr_eq(known, active)) {
            claims.remove(&active.claim.id);
        }
    }

    /// Marks the claims that these commands give back, before they are sent, and those that go on.
    pub fn note(&self, commands: &[Command]) {
        for command in commands {
            let (claim, ending) = match command {
                Command::TaskRelease { claim, .. }
                | Command::TaskSuspend { claim, .. }
                | Command::TaskFulfill { claim, .. }
                | Command::TaskHandOver { claim, .. } => (claim, true),
                Command::TaskFence { claim, .. } => (claim, false),
                _ => continue,
            };
            if let Some(active) = self.lock().get(&claim.id) {
                active.ending.store(ending, Ordering::Release);
            }
        }
    }

    /// Stops the execution under this claim, which has ended. Answers whether the claim was lost:
    /// its execution is here, and had not given the claim back itself.
    pub fn interrupt(&self, claim: &Claim) -> bool {
        match self.lock().get(&claim.id) {
            Some(active) if active.claim.version == claim.version => {
                active.abort.cancel();
                !active.ending.load(Ordering::Acquire)
            }
            _ => false,
        }
    }

    /// Notifies the execution of `id` that it was asked to stop.
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
        // A suspend may be answered with the settled promise: then the execution goes on, and
        // appends.
        let (records, logs, actions) = (Vec::new(), Vec::new(), Vec::new());
        claims.note(&[Command::TaskFence { claim: claim(1), records, logs, actions }]);
        assert!(claims.interrupt(&claim(1)), "it was taken away");
        assert!(active.abort.is_cancelled());
    }
}
