//! The clock and the runtime of the machine.

use std::sync::atomic::{AtomicI64, Ordering};

use segno_core::time::{Millis, Timestamp};

use super::{BoxFuture, Clock, Runtime};

/// The machine's clock, held back where it jumps backwards.
#[derive(Debug, Default)]
pub struct SystemClock {
    latest: AtomicI64,
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where time enters the host")]
    fn now(&self) -> Timestamp {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        Timestamp(self.latest.fetch_max(now, Ordering::Relaxed).max(now))
    }
}

/// tokio's runtime, as it is.
#[derive(Debug, Default)]
pub struct SystemRuntime;

impl Runtime for SystemRuntime {
    #[expect(clippy::disallowed_methods, reason = "this is where tasks enter the host")]
    fn spawn(&self, _name: &'static str, task: BoxFuture<()>) {
        tokio::spawn(task);
    }

    #[expect(clippy::disallowed_methods, reason = "this is where waiting enters the host")]
    fn sleep(&self, length: Millis) -> BoxFuture<()> {
        let length = std::time::Duration::from_millis(u64::try_from(length.0).unwrap_or(0));
        Box::pin(tokio::time::sleep(length))
    }

    fn nonce(&self) -> u64 {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(0_u8)
    }
}
