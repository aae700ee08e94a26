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
pub(crate) struct LocalOutcome {
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
        // Nobody waits for a detached task.
        let made_by = promise.attached_to()?;
        let caller = self.lock().get(made_by)?.clone();
        let Fulfillment { verdict, value, .. } = &fulfillment;
        let value = Some(value.clone());
        let promise = promise.settled(Settlement { verdict: *verdict, value, settled_at: now });
        let (stored, told) = oneshot::channel();
        // The caller may have ended since.
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
    /// The outcome that ended a wait.
    first: Option<LocalOutcome>,
    ended: mpsc::UnboundedReceiver<LocalOutcome>,
}

impl LocalOutcomes {
    /// Takes the outcomes of calls by `caller` from now on.
    pub(crate) fn of(callers: &Arc<LocalCallers>, caller: &PromiseId) -> Self {
        let (sender, ended) = mpsc::unbounded_channel();
        callers.lock().insert(caller.clone(), sender.clone());
        Self { callers: callers.clone(), caller: caller.clone(), sender, first: None, ended }
    }

    /// Completes when there is an outcome.
    pub(crate) async fn arrived(&mut self) {
        if self.first.is_none() {
            self.first = self.ended.recv().await;
        }
    }

    /// The next outcome. `None` if there is none yet. An outcome whose task stopped waiting is
    /// dropped.
    pub(crate) fn try_next(&mut self) -> Option<LocalOutcome> {
        loop {
            let outcome = self.first.take().or_else(|| self.ended.try_recv().ok())?;
            if !outcome.stored.is_closed() {
                return Some(outcome);
            }
        }
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
