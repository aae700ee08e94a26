//! Invocations of services that run on this host, and the requests to pause them: the step that is going on ends first.
//!
//! A request lives as long as the attempt: where it is lost with its host, nothing is paused, and it can be sent again.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::id::PromiseId;
use tokio_util::sync::CancellationToken;

/// The running invocations.
#[derive(Default)]
pub struct Pauses(Mutex<BTreeMap<PromiseId, Arc<CancellationToken>>>);

/// The request to pause one invocation, listed until dropped.
pub struct PauseRequest {
    pauses: Arc<Pauses>,
    id: PromiseId,
    token: Arc<CancellationToken>,
}

impl Pauses {
    /// Asks an invocation to pause; answers whether it runs on this host.
    pub fn ask(&self, id: &PromiseId) -> bool {
        let running = self.lock().get(id).cloned();
        running.inspect(|token| token.cancel()).is_some()
    }

    /// Lists an invocation that runs from now on.
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
    /// Whether a pause was asked for.
    pub fn is_asked(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Completes when a pause is asked for.
    pub async fn asked(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for PauseRequest {
    fn drop(&mut self) {
        let mut running = self.pauses.lock();
        if running.get(&self.id).is_some_and(|token| Arc::ptr_eq(token, &self.token)) {
            running.remove(&self.id);
        }
    }
}
