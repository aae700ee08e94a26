//! The tasks of one incarnation of a host, which end together in a crash.

use std::{
    fmt,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::FutureExt as _;
use segno_core::time::Millis;
use segno_env::{BoxFuture, HandClock, Runtime};
use tokio::task::AbortHandle;

/// A panic of a task, which is a defect of the host.
#[derive(Debug, Clone)]
pub struct TaskPanic {
    /// Name of the task.
    pub task: &'static str,
    pub message: String,
}

impl fmt::Display for TaskPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` panicked: {}", self.task, self.message)
    }
}

/// Panics of all incarnations of a world, in order.
pub type TaskPanics = Arc<Mutex<Vec<TaskPanic>>>;

/// Runtime of one incarnation. Its tasks run on the executor of the current thread.
#[derive(Default)]
pub struct SimRuntime {
    /// Clock that ends sleeps. `None`: the executor's own.
    hand: Option<Arc<HandClock>>,
    tasks: Mutex<Vec<AbortHandle>>,
    nonce: AtomicU64,
    panics: TaskPanics,
}

impl SimRuntime {
    /// Creates the runtime of an incarnation. Its nonces are greater than those of earlier ones.
    pub fn life(number: u64) -> Self {
        Self { nonce: AtomicU64::new(number << 32), ..Self::default() }
    }

    /// Does the same, and adds the panics of its tasks to `panics`, because no other code sees how
    /// a task ends.
    pub fn watched(number: u64, panics: TaskPanics) -> Self {
        Self { panics, ..Self::life(number) }
    }

    /// Does the same. Sleeps end when `clock` is moved.
    pub fn by_hand(number: u64, panics: TaskPanics, clock: Arc<HandClock>) -> Self {
        Self { hand: Some(clock), ..Self::watched(number, panics) }
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
            if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let message = text.unwrap_or("no words").to_owned();
                let panic = TaskPanic { task: name, message };
                panics.lock().unwrap_or_else(PoisonError::into_inner).push(panic);
            }
        })
        .abort_handle();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(handle);
    }

    fn sleep(&self, length: Millis) -> BoxFuture<()> {
        match &self.hand {
            Some(clock) => clock.sleep(length),
            None => Box::pin(sleep(length)),
        }
    }

    fn nonce(&self) -> u64 {
        self.nonce.fetch_add(1, Ordering::Relaxed)
    }
}

/// Waits for `length` on the executor's clock.
#[expect(clippy::disallowed_methods, reason = "waiting enters the world here")]
pub fn sleep(length: Millis) -> tokio::time::Sleep {
    tokio::time::sleep(Duration::from_millis(u64::try_from(length.0).unwrap_or(0)))
}
