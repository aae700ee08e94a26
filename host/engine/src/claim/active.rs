//! The claims that this host holds, for heartbeats and interruptions.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use segno_core::{
    command::{Command, FenceOperation, HeartbeatItem},
    id::{Claim, PromiseId},
    value::Bytes,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A claim, shared by the execution that uses it and the parts that may end it.
pub struct ActiveClaim {
    /// The task's id and the version of the claim.
    pub claim: Claim,
    /// Stops the execution immediately. It must write nothing more.
    pub abort: CancellationToken,
    /// True if a command that releases the claim is on its way to the store.
    ending: AtomicBool,
    cancelled: AtomicBool,
    cancel_changed: Notify,
    progress: AtomicU64,
    /// True while the attempt has yet to be charged. A charge takes an attempt with stored progress
    /// for one that is counted, so heartbeats report none before it.
    is_uncharged: AtomicBool,
    reported: Mutex<ReportedProgress>,
}

/// Progress data for a later attempt.
#[derive(Default)]
struct ReportedProgress {
    payload: Option<Bytes>,
    /// The progress counter when the payload was reported.
    at: u64,
    /// The progress counter of the last stored payload.
    stored: u64,
}

impl ActiveClaim {
    /// A claim that is not listed in [`ActiveClaims`] yet.
    pub fn new(claim: Claim) -> Arc<Self> {
        Arc::new(Self {
            claim,
            abort: CancellationToken::new(),
            ending: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            cancel_changed: Notify::new(),
            progress: AtomicU64::new(0),
            is_uncharged: AtomicBool::new(false),
            reported: Mutex::default(),
        })
    }

    /// Records that cancellation of the invocation was requested.
    pub fn request_cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.cancel_changed.notify_waiters();
        self.cancel_changed.notify_one();
    }

    /// True if cancellation of the invocation was requested.
    pub fn cancel_requested(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// True if a command that releases the claim is on its way to the store.
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Completes when cancellation of the invocation is requested.
    pub async fn cancel_request(&self) {
        while !self.cancel_requested() {
            self.cancel_changed.notified().await;
        }
    }

    /// Keeps progress from heartbeats until the attempt under the claim is charged.
    pub fn expect_charge(&self) {
        self.is_uncharged.store(true, Ordering::Release);
    }

    /// Records that the attempt is charged, and begins.
    pub(super) fn charged(&self) {
        self.is_uncharged.store(false, Ordering::Release);
        self.advance(1);
    }

    /// Counts `steps` of progress, so that the lease is extended further.
    pub fn advance(&self, steps: u64) {
        self.progress.fetch_add(steps, Ordering::Release);
    }

    /// Keeps progress data for a later attempt. The next heartbeat stores it.
    pub fn report(&self, payload: Option<Bytes>) {
        let mut reported = self.reported();
        self.advance(1);
        if payload.is_some() {
            let (at, stored) = (self.progress.load(Ordering::Acquire), reported.stored);
            *reported = ReportedProgress { payload, at, stored };
        }
    }

    /// The claim as an item of a heartbeat, with progress data that is not stored yet.
    pub fn item(&self) -> HeartbeatItem {
        let claim = self.claim.clone();
        if self.is_uncharged.load(Ordering::Acquire) {
            return HeartbeatItem { claim, progress: None };
        }
        // The counter is read first: a payload that is newer than the counter is sent again under
        // the next value.
        let steps = self.progress.load(Ordering::Acquire);
        let ReportedProgress { payload, at, stored } = &*self.reported();
        let payload = payload.as_ref().filter(|_| stored < at).cloned();
        HeartbeatItem { claim, progress: Some((steps, payload)) }
    }

    /// Records that this item was stored.
    fn stored(&self, item: &HeartbeatItem) {
        if let Some((steps, Some(_))) = item.progress {
            let mut reported = self.reported();
            reported.stored = reported.stored.max(steps);
        }
    }

    fn reported(&self) -> std::sync::MutexGuard<'_, ReportedProgress> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Maximum number of bytes of progress data in one heartbeat, beyond those of the first claim that
/// has any. The rest waits for the next heartbeat, so that no other commit waits for long.
const PROGRESS_BYTES: usize = 2 << 20;

/// All claims of this host, by task id.
#[derive(Default)]
pub(crate) struct ActiveClaims {
    held: Mutex<BTreeMap<PromiseId, Arc<ActiveClaim>>>,
    /// The last claim whose progress data was sent. The next heartbeat begins after it.
    sent: Mutex<Option<PromiseId>>,
}

impl ActiveClaims {
    /// Adds a claim that was just acquired.
    pub(crate) fn add(&self, active: Arc<ActiveClaim>) {
        if let Some(older) = self.lock().insert(active.claim.id.clone(), active) {
            older.abort.cancel();
        }
    }

    /// Removes a claim, unless another claim on the same task has replaced it.
    pub(crate) fn remove(&self, active: &Arc<ActiveClaim>) {
        let mut claims = self.lock();
        if claims.get(&active.claim.id).is_some_and(|known| Arc::ptr_eq(known, active)) {
            claims.remove(&active.claim.id);
        }
    }

    /// Marks the claims that these commands release, before they are sent, and unmarks those that
    /// continue.
    pub(crate) fn note(&self, commands: &[Command]) {
        for command in commands {
            for action in command.actions() {
                if let FenceOperation::Fulfill(fulfillment) = &action.act {
                    let ended = self.lock().get(&fulfillment.claim.id).cloned();
                    let ended = ended.filter(|active| active.claim == fulfillment.claim);
                    ended.iter().for_each(|active| active.ending.store(true, Ordering::Release));
                }
            }
            let (id, ending) = match command {
                Command::TaskRelease { claim, .. }
                | Command::TaskSuspend { claim, .. }
                | Command::TaskFulfill { claim, .. }
                | Command::TaskHandOver { claim, .. } => (&claim.id, true),
                Command::TaskHalt { id } => (id, true),
                Command::TaskFence { claim, .. } => (&claim.id, false),
                _ => continue,
            };
            if let Some(active) = self.lock().get(id) {
                active.ending.store(ending, Ordering::Release);
            }
        }
    }

    /// Stops the execution under this claim, which has ended. Returns true if the claim was lost:
    /// its execution is here and had not released the claim itself.
    pub(crate) fn interrupt(&self, claim: &Claim) -> bool {
        match self.lock().get(&claim.id) {
            Some(active) if active.claim.version == claim.version => {
                active.abort.cancel();
                !active.ending.load(Ordering::Acquire)
            }
            _ => false,
        }
    }

    /// Notifies the execution of `id` that its cancellation was requested.
    pub(crate) fn request_cancel(&self, id: &PromiseId) {
        if let Some(active) = self.lock().get(id) {
            active.request_cancel();
        }
    }

    /// True if this host holds the task.
    pub(crate) fn holds(&self, id: &PromiseId) -> bool {
        self.lock().contains_key(id)
    }

    /// True if the execution under this claim is still running.
    pub(crate) fn runs(&self, active: &Arc<ActiveClaim>) -> bool {
        let is_listed =
            self.lock().get(&active.claim.id).is_some_and(|known| Arc::ptr_eq(known, active));
        is_listed && !active.abort.is_cancelled() && !active.ending.load(Ordering::Acquire)
    }

    /// All claims as items of a heartbeat, with progress data up to the limit.
    pub(crate) fn beat(&self) -> Vec<HeartbeatItem> {
        let mut items: Vec<_> = self.lock().values().map(|active| active.item()).collect();
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let first =
            sent.take().map_or(0, |last| items.partition_point(|item| item.claim.id <= last));
        items.rotate_left(first);
        let mut bytes = 0_usize;
        for item in &mut items {
            let Some((_, Some(payload))) = &item.progress else { continue };
            if bytes > 0 && bytes + payload.len() > PROGRESS_BYTES {
                item.progress = None;
                continue;
            }
            bytes += payload.len();
            *sent = Some(item.claim.id.clone());
        }
        items
    }

    /// Records that these items of a heartbeat were stored.
    pub(crate) fn stored<'a>(&self, items: impl IntoIterator<Item = &'a HeartbeatItem>) {
        let held = self.lock();
        for item in items {
            if let Some(active) = held.get(&item.claim.id).filter(|held| held.claim == item.claim) {
                active.stored(item);
            }
        }
    }

    /// All claims.
    pub(crate) fn all(&self) -> Vec<Arc<ActiveClaim>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<PromiseId, Arc<ActiveClaim>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use segno_core::{id::Version, promise::ReleaseReason};

    use super::*;

    #[test]
    fn progress_data_is_sent_until_it_is_stored_and_a_little_at_a_time() {
        let claims = ActiveClaims::default();
        let large = |number: u8| Bytes::from(vec![number; PROGRESS_BYTES / 2 + 1]);
        for id in ["a", "b", "c"] {
            let active = ActiveClaim::new(Claim { id: id.into(), version: Version(1) });
            active.report(Some(large(1)));
            claims.add(active);
        }
        let with_data = |items: &[HeartbeatItem]| -> Vec<String> {
            let with = items.iter().filter(|item| matches!(item.progress, Some((_, Some(_)))));
            with.map(|item| item.claim.id.to_string()).collect()
        };
        let beat = || {
            let items = claims.beat();
            assert_eq!(items.len(), 3, "all leases are extended");
            items
        };
        assert_eq!(with_data(&beat()), ["a"]);
        assert_eq!(
            with_data(&beat()),
            ["b"],
            "it may not have been stored, and the others come first"
        );
        let mut left = vec!["c", "a", "b"].into_iter();
        for next in left.by_ref() {
            let items = beat();
            assert_eq!(with_data(&items), [next]);
            claims.stored(&items);
        }
        assert_eq!(with_data(&beat()), [] as [&str; 0]);
        claims.all()[1].report(Some(large(2)));
        assert_eq!(with_data(&beat()), ["b"]);
    }

    #[test]
    fn a_claim_that_its_execution_gave_back_is_not_lost() {
        let claims = ActiveClaims::default();
        let claim = |version| Claim { id: PromiseId::from("it"), version: Version(version) };
        assert!(!claims.interrupt(&claim(1)), "it is over already");
        let active = ActiveClaim::new(claim(1));
        claims.add(active.clone());
        assert!(!claims.interrupt(&claim(2)), "another claim is here");
        assert!(!active.abort.is_cancelled());
        let reason = ReleaseReason::Yield;
        claims.note(&[Command::TaskRelease { claim: claim(1), reason }]);
        assert!(!claims.interrupt(&claim(1)), "it was given back");
        // A suspend command may be answered with the settled promise. The execution then continues
        // and appends.
        let (records, logs, actions) = (Vec::new(), Vec::new(), Vec::new());
        claims.note(&[Command::TaskFence { claim: claim(1), records, logs, actions }]);
        assert!(claims.interrupt(&claim(1)), "it was taken away");
        assert!(active.abort.is_cancelled());
    }
}
