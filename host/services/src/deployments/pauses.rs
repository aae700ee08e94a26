//! Invocations of services that run on this host, and the requests to pause them. The current step
//! ends first.
//!
//! A request lives as long as the attempt. If it is lost with its host, the invocation is not
//! paused, and the request can be sent again.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::id::PromiseId;
use tokio_util::sync::CancellationToken;

/// The running invocations.
#[derive(Default)]
pub struct PauseRequests(Mutex<BTreeMap<PromiseId, Arc<CancellationToken>>>);

/// The request to pause one invocation, listed until dropped.
pub struct PauseRequest {
    pauses: Arc<PauseRequests>,
    id: PromiseId,
    token: Arc<CancellationToken>,
}

impl PauseRequests {
    /// Requests an invocation to pause. Returns false if it does not run on this host.
    pub fn ask(&self, id: &PromiseId) -> bool {
        let running = self.lock().get(id).cloned();
        running.inspect(|token| token.cancel()).is_some()
    }

    /// Registers a running invocation.
    pub fn begin(self: &Arc<Self>, id: &PromiseId) -> PauseRequest {
        let token = Arc::new(CancellationToken::new());
        self.lock().insert(id.clone(), token.clone());
        PauseRequest { pauses: self.clone(), id: id.clone(), token }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<PromiseId, Arc<CancellationToken>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PauseRequest {
    /// Ends the registration: later requests are answered as not running here. Returns true if a
    /// pause was requested before. A second call returns false.
    pub fn close(&self) -> bool {
        let mut running = self.pauses.lock();
        let is_listed = running.get(&self.id).is_some_and(|token| Arc::ptr_eq(token, &self.token));
        if is_listed {
            running.remove(&self.id);
        }
        is_listed && self.is_asked()
    }

    /// True if a pause was requested.
    pub fn is_asked(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Completes when a pause is requested.
    pub async fn asked(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for PauseRequest {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_taken_once_and_by_nobody_who_has_ended() {
        let requests = Arc::new(PauseRequests::default());
        let id = PromiseId::from("it");
        let first = requests.begin(&id);
        assert!(!first.is_asked() && requests.ask(&id) && first.is_asked());
        assert_eq!((first.close(), first.close()), (true, false));
        assert!(!requests.ask(&id), "it has ended");
        let second = requests.begin(&id);
        drop(first);
        assert!(requests.ask(&id), "the second one is listed still");
        assert!(second.close());
        let quiet = requests.begin(&id);
        assert!(!quiet.close());
    }
}
