//! The queue of calls that compute for long. It grants one permit per processor, in order.
//!
//! The longer a call has computed, the further back it is placed, by the logarithm of the time:
//! short calls pass those that compute without end. The number of calls that may pass is limited,
//! so that no call starves.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// Number of calls that may pass a call that has computed twice as long.
const STEP: u64 = 64;

/// The queue. Clones share it.
#[derive(Clone)]
pub(super) struct ComputeQueue(Arc<Mutex<QueueState>>);

struct QueueState {
    at_once: usize,
    computing: usize,
    /// Number of calls that entered the queue so far.
    entered: u64,
    /// Waiting calls in order; the second number separates calls at the same position.
    waiting: BTreeMap<(u64, u64), oneshot::Sender<ComputePermit>>,
}

/// The permit to compute, until dropped.
pub(super) struct ComputePermit(ComputeQueue);

impl ComputeQueue {
    /// Creates a queue with `at_once` permits.
    pub(super) fn new(at_once: usize) -> Self {
        let waiting = BTreeMap::new();
        Self(Arc::new(Mutex::new(QueueState {
            at_once: at_once.max(1),
            computing: 0,
            entered: 0,
            waiting,
        })))
    }

    /// Returns true if any call holds a permit.
    pub(super) fn is_used(&self) -> bool {
        self.state().computing > 0
    }

    /// Number of permits.
    pub(super) fn at_once(&self) -> usize {
        self.state().at_once
    }

    /// Waits for a permit, for a call that has computed for `epochs` epochs so far.
    pub(super) async fn place(&self, epochs: u64) -> ComputePermit {
        loop {
            let told = match self.enter(epochs) {
                Ok(place) => return place,
                Err(told) => told,
            };
            // The sender is dropped only when the queue ends.
            if let Ok(place) = told.await {
                return place;
            }
        }
    }

    fn enter(&self, epochs: u64) -> Result<ComputePermit, oneshot::Receiver<ComputePermit>> {
        let mut state = self.state();
        if state.waiting.is_empty() && state.computing < state.at_once {
            state.computing += 1;
            return Ok(ComputePermit(self.clone()));
        }
        state.entered += 1;
        let (tell, told) = oneshot::channel();
        let behind = STEP * u64::from(epochs.max(1).ilog2());
        let entered = state.entered;
        state.waiting.insert((entered + behind, entered), tell);
        Err(told)
    }

    fn leave(&self) {
        let mut state = self.state();
        state.computing -= 1;
        let mut next = Vec::new();
        while state.computing < state.at_once
            && let Some((_, tell)) = state.waiting.pop_first()
        {
            if !tell.is_closed() {
                state.computing += 1;
                next.push(tell);
            }
        }
        drop(state);
        for tell in next {
            // A call that was dropped before it received the permit returns it immediately.
            let _ = tell.send(ComputePermit(self.clone()));
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ComputePermit {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    type Waits = std::pin::Pin<Box<dyn Future<Output = ComputePermit>>>;

    fn waits(line: &ComputeQueue, epochs: u64) -> Waits {
        let line = line.clone();
        let mut waits: Waits = Box::pin(async move { line.place(epochs).await });
        assert!(waits.as_mut().now_or_never().is_none());
        waits
    }

    #[test]
    fn who_has_just_begun_passes_a_crowd_that_goes_on_and_on() {
        let line = ComputeQueue::new(1);
        let mut place = line.place(1).now_or_never().expect("it is free");
        let mut crowd: Vec<Waits> = (0..250).map(|_| waits(&line, 1_000)).collect();
        let mut newcomer = waits(&line, 1);
        drop(place);
        assert!(crowd.iter_mut().all(|one| one.now_or_never().is_none()));
        place = newcomer.as_mut().now_or_never().expect("it comes first");
        // At most this number of calls may pass.
        let mut passed = 0;
        let first = loop {
            let mut newcomer = waits(&line, 1);
            drop(place);
            match newcomer.as_mut().now_or_never() {
                Some(its) => place = its,
                None => break crowd.first_mut().and_then(|first| first.now_or_never()),
            }
            passed += 1;
        };
        assert!(first.is_some(), "the first of the crowd has its turn");
        assert_eq!(passed, 9 * 64 - 250 - 1);
    }

    #[test]
    fn who_left_the_line_is_passed_over() {
        let line = ComputeQueue::new(1);
        let place = line.place(1).now_or_never().expect("it is free");
        let gone = waits(&line, 1);
        let told = waits(&line, 1);
        let mut last = waits(&line, 1);
        drop(gone);
        drop(place);
        // This call has its permit, and is dropped before receiving it.
        drop(told);
        drop(last.as_mut().now_or_never().expect("it is the only one left"));
        assert!(!line.is_used());
    }
}
