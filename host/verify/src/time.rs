//! Virtual time: it stands still until the explorer advances it, so that nothing happens by itself.

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::FutureExt as _;
use segno_core::time::{Millis, Timestamp};
use segno_env::{BoxFuture, Clock, Runtime};
use tokio::{sync::oneshot, task::AbortHandle};

/// The start of every run: 1 January 2030.
pub const BEGINNING: Timestamp = Timestamp(1_893_456_000_000);

/// The time of a run, shared by all its hosts.
pub struct VirtualTime(Mutex<ClockState>);

struct ClockState {
    now: Timestamp,
    number: u64,
    sleepers: BTreeMap<(Timestamp, u64), oneshot::Sender<()>>,
}

impl Default for VirtualTime {
    fn default() -> Self {
        Self(Mutex::new(ClockState { now: BEGINNING, number: 0, sleepers: BTreeMap::new() }))
    }
}

impl VirtualTime {
    /// Advances to `instant` and wakes the sleepers that are due.
    pub fn advance_to(&self, instant: Timestamp) {
        let mut state = self.lock();
        state.now = state.now.max(instant);
        let now = state.now;
        while let Some(first) = state.sleepers.first_entry()
            && first.key().0 <= now
        {
            // A dropped sleeper needs no wake-up.
            let _ = first.remove().send(());
        }
        state.sleepers.retain(|_, sleeper| !sleeper.is_closed());
    }

    fn sleep(&self, length: Millis) -> Option<oneshot::Receiver<()>> {
        if length <= Millis::ZERO {
            return None;
        }
        let (wake, woken) = oneshot::channel();
        let mut state = self.lock();
        state.number += 1;
        let key = (state.now + length, state.number);
        state.sleepers.insert(key, wake);
        Some(woken)
    }

    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualTime {
    fn now(&self) -> Timestamp {
        self.lock().now
    }
}

/// The tasks of one life of a host, which end together in a crash.
pub struct LifeRuntime {
    time: Arc<VirtualTime>,
    tasks: Mutex<Vec<AbortHandle>>,
    nonce: Mutex<u64>,
    panics: Arc<Mutex<Vec<String>>>,
}

impl LifeRuntime {
    /// Creates the runtime of life `number`, whose nonces come after those of earlier lives. Panics
    /// of tasks are collected in `panics`: each is a defect of the host.
    pub fn new(time: Arc<VirtualTime>, number: u64, panics: Arc<Mutex<Vec<String>>>) -> Self {
        Self { time, tasks: Mutex::default(), nonce: Mutex::new(number << 32), panics }
    }

    /// Ends every task at its current point.
    pub fn crash(&self) {
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }
}

impl Drop for LifeRuntime {
    fn drop(&mut self) {
        self.crash();
    }
}

impl Runtime for LifeRuntime {
    #[expect(clippy::disallowed_methods, reason = "tasks enter virtual time here")]
    fn spawn(&self, name: &'static str, task: BoxFuture<()>) {
        let panics = self.panics.clone();
        let handle = tokio::spawn(async move {
            if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let text = format!("`{name}` of the host panicked: {}", text.unwrap_or("no words"));
                panics.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        });
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(handle.abort_handle());
    }

    fn sleep(&self, length: Millis) -> BoxFuture<()> {
        let sleeper = self.time.sleep(length);
        Box::pin(async move {
            if let Some(woken) = sleeper
                && woken.await.is_err()
            {
                // The run is over.
                std::future::pending().await
            }
        })
    }

    fn nonce(&self) -> u64 {
        let mut nonce = self.nonce.lock().unwrap_or_else(PoisonError::into_inner);
        *nonce += 1;
        *nonce
    }
}
