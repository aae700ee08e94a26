//! Outcomes of calls whose caller runs on the same host. The caller stores such an outcome in one
//! commit with what follows from it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    command::Fulfillment,
    id::PromiseId,
    promise::{Promise, Settlement},
    time::Timestamp,
};
use tokio::sync::{mpsc, oneshot};

/// The end of a called task, which its caller may store.
#[derive(Debug)]
pub struct LocalOutcome {
    /// The promise of the task, as it will be settled.
    pub promise: Promise,
    /// The end of the task under its claim.
    pub fulfillment: Fulfillment,
    /// Told when the outcome is stored. If it is dropped before, the called task stores the outcome
    /// itself.
    pub stored: oneshot::Sender<()>,
}

/// The executions of this host that take outcomes of their calls, by id.
#[derive(Debug, Default)]
pub(crate) struct LocalCallers(Mutex<HashMap<PromiseId, mpsc::UnboundedSender<LocalOutcome>>>);

impl LocalCallers {
    /// Hands the end of a called task to its caller. Returns a receiver that completes when the
    /// outcome is stored, or fails when the caller does not store it. `None` if the caller does not
    /// run here.
    pub(crate) fn hand(
        &self,
        promise: &Promise,
        fulfillment: Fulfillment,
        now: Timestamp,
    ) -> Option<oneshot::Receiver<()>> {
        let caller = self.lock().get(promise.spec.made_by.as_ref()?)?.clone();
        let Fulfillment { verdict, value, .. } = &fulfillment;
        let value = Some(value.clone());
        let promise = promise.settled(Settlement { verdict: *verdict, value, settled_at: now });
        let (stored, told) = oneshot::channel();
        caller.send(LocalOutcome { promise, fulfillment, stored }).ok()?;
        Some(told)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PromiseId, mpsc::UnboundedSender<LocalOutcome>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outcomes that a running caller takes, until dropped.
pub(crate) struct LocalOutcomes {
    callers: Arc<LocalCallers>,
    caller: PromiseId,
    sender: mpsc::UnboundedSender<LocalOutcome>,
    ended: mpsc::UnboundedReceiver<LocalOutcome>,
}

impl LocalOutcomes {
    /// Takes the outcomes of calls by `caller` from now on.
    pub(crate) fn of(callers: &Arc<LocalCallers>, caller: &PromiseId) -> Self {
        let (sender, ended) = mpsc::unbounded_channel();
        callers.lock().insert(caller.clone(), sender.clone());
        Self { callers: callers.clone(), caller: caller.clone(), sender, ended }
    }

    /// Waits for the next outcome.
    pub(crate) async fn next(&mut self) -> LocalOutcome {
        self.ended.recv().await.expect("the sender lives as long as the receiver")
    }

    /// The next outcome. `None` if there is none yet.
    pub(crate) fn try_next(&mut self) -> Option<LocalOutcome> {
        self.ended.try_recv().ok()
    }
}

impl Drop for LocalOutcomes {
    fn drop(&mut self) {
        let mut callers = self.callers.lock();
        // A later claim on the same task may have taken its place.
        if callers.get(&self.caller).is_some_and(|known| known.same_channel(&self.sender)) {
            callers.remove(&self.caller);
        }
    }
}
