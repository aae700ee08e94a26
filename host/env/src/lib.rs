//! Time, tasks and chance, as values that a test can replace.
//!
//! Nothing else in the host reads a clock, spawns, sleeps or draws a random number: clippy's `disallowed-methods` says
//! so. That is what lets the real worker run on one thread in virtual time.

mod debug;
mod http_client;
mod system;

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use segno_core::time::{Millis, Timestamp};

pub use debug::DebugClock;
pub use http_client::{Proxies, http_client};
pub use system::{SystemClock, SystemRuntime, clock_jumps};

/// A future that a [`Runtime`] runs or hands out.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Where `now` comes from.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch; never smaller than an earlier answer.
    fn now(&self) -> Timestamp;

    /// Time since some beginning, as exactly as it is known: for measuring how long something took.
    fn elapsed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.now().0).unwrap_or(0))
    }
}

/// Where tasks run and how they wait.
pub trait Runtime: Send + Sync + 'static {
    /// Runs `task` until it ends or the host stops. `name` is for logs.
    fn spawn(&self, name: &'static str, task: BoxFuture<()>);

    /// Ends after `length`, never earlier.
    fn sleep(&self, length: Millis) -> BoxFuture<()>;

    /// A number that no two claims share, for nonces and for ids of unnamed invocations.
    fn nonce(&self) -> u64;
}

/// The two together, as most of the host carries them.
#[derive(Clone)]
pub struct Env {
    /// Where `now` comes from.
    pub clock: Arc<dyn Clock>,
    /// Where tasks run.
    pub runtime: Arc<dyn Runtime>,
}

impl Env {
    /// Those of the machine.
    pub fn system() -> Self {
        Self { clock: Arc::new(SystemClock::default()), runtime: Arc::new(SystemRuntime) }
    }

    /// Ends at `instant`, or at once if that has passed.
    pub async fn sleep_until(&self, instant: Timestamp) {
        let length = instant.since(self.clock.now());
        if length > Millis::ZERO {
            self.runtime.sleep(length).await;
        }
    }

    /// What `work` answers, or `None` if it takes longer than `limit`.
    pub async fn within<T>(&self, limit: Millis, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            answer = work => Some(answer),
            () = self.runtime.sleep(limit) => None,
        }
    }
}
