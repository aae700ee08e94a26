//! Time, tasks and random numbers as replaceable values, for tests.
//!
//! No other code of the host reads a clock, spawns, sleeps or draws random numbers: clippy's
//! `disallowed-methods` enforces this. The real worker can therefore run on one thread in virtual
//! time.

#![forbid(unsafe_code)]

mod debug;
mod hand;
mod heap;
mod http_client;
mod reach;
mod system;
mod tls;

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use segno_core::time::{Millis, Timestamp};

pub use debug::DebugClock;
pub use hand::HandClock;
pub use heap::{answer_heap, ask_heaps, collect_heap, set_heap_collector};
pub use http_client::{HttpVersions, Proxies, http_client, http_client_within};
pub use reach::{Private, Reach};
pub use system::{SystemClock, SystemRuntime, clock_jumps};

/// A boxed future that a [`Runtime`] runs or returns.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// The source of the time.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch; never decreases.
    fn now(&self) -> Timestamp;

    /// Time since a fixed instant, with the clock's full precision, for measuring durations.
    fn elapsed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.now().0).unwrap_or(0))
    }
}

/// Runs tasks and timers.
pub trait Runtime: Send + Sync + 'static {
    /// Runs `task` until it ends or the host stops. `name` is for logs.
    fn spawn(&self, name: &'static str, task: BoxFuture<()>);

    /// Completes after `length`, never earlier.
    fn sleep(&self, length: Millis) -> BoxFuture<()>;

    /// A unique random number, for nonces of claims and for ids of unnamed invocations.
    fn nonce(&self) -> u64;
}

/// The clock and the runtime of a host.
#[derive(Clone)]
pub struct Env {
    pub clock: Arc<dyn Clock>,
    pub runtime: Arc<dyn Runtime>,
}

impl Env {
    /// The clock and the runtime of the machine.
    pub fn system() -> Self {
        Self { clock: Arc::new(SystemClock::default()), runtime: Arc::new(SystemRuntime) }
    }

    /// Completes at `instant`, or immediately if it has passed.
    pub async fn sleep_until(&self, instant: Timestamp) {
        let length = instant.since(self.clock.now());
        if length > Millis::ZERO {
            self.runtime.sleep(length).await;
        }
    }

    /// Runs `work`. Returns `None` if it takes longer than `limit`.
    pub async fn within<T>(&self, limit: Millis, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            answer = work => Some(answer),
            () = self.runtime.sleep(limit) => None,
        }
    }
}
