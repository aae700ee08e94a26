//! Virtual time on one thread: tokio's paused clock, and tasks that can all be aborted together, as
//! in a crash.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use futures::FutureExt as _;
use segno_core::time::{Millis, Timestamp};
use segno_env::{BoxFuture, Clock, Runtime};
use tokio::{task::AbortHandle, time::Instant};

/// Start time of every world: January 1, 2030.
pub const BEGINNING: Timestamp = Timestamp(1_893_456_000_000);

/// Time of tokio's paused clock.
pub struct SimClock {
    begun: Instant,
    jumped: AtomicI64,
}

impl SimClock {
    /// Moves the clock forward without running anything in between, as a suspended laptop does.
    pub fn jump(&self, length: Millis) {
        self.jumped.fetch_add(length.0, Ordering::Relaxed);
    }
}

impl Default for SimClock {
    #[expect(clippy::disallowed_methods, reason = "virtual time enters the world here")]
    fn default() -> Self {
        Self { begun: Instant::now(), jumped: AtomicI64::new(0) }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let elapsed = self.begun.elapsed().as_millis();
        BEGINNING
            + Millis(i64::try_from(elapsed).expect("worlds are short"))
            + Millis(self.jumped.load(Ordering::Relaxed))
    }
}

/// Tasks of one incarnation of a host.
#[derive(Default)]
pub struct SimRuntime {
    tasks: Mutex<Vec<AbortHandle>>,
    nonce: AtomicU64,
    panics: Option<Arc<Mutex<Vec<String>>>>,
}

impl SimRuntime {
    /// Creates the runtime of an incarnation. Its nonces are greater than those of earlier ones.
    pub fn life(number: u64) -> Self {
        Self { nonce: AtomicU64::new(number << 32), ..Self::default() }
    }

    /// Does the same, and records the panics of its tasks, because no other code sees how a task
    /// ends.
    pub fn watched(number: u64, panics: Arc<Mutex<Vec<String>>>) -> Self {
        Self { panics: Some(panics), ..Self::life(number) }
    }

    /// Aborts every task.
    pub fn crash(&self) {
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }
}

impl Runtime for SimRuntime {
    #[expect(clippy::disallowed_methods, reason = "tasks enter the world here")]
    fn spawn(&self, name: &'static str, task: BoxFuture<()>) {
        let panics = self.panics.clone();
        let handle = tokio::spawn(async move {
            let Some(panics) = panics else { return task.await };
            if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let text = format!("`{name}` panicked: {}", text.unwrap_or("no words"));
                panics.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        })
        .abort_handle();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(handle);
    }

    #[expect(clippy::disallowed_methods, reason = "waiting enters the world here")]
    fn sleep(&self, length: Millis) -> BoxFuture<()> {
        let length = std::time::Duration::from_millis(u64::try_from(length.0).unwrap_or(0));
        Box::pin(tokio::time::sleep(length))
    }

    fn nonce(&self) -> u64 {
        self.nonce.fetch_add(1, Ordering::Relaxed)
    }
}
