//! Virtual time that passes by itself: tokio's paused clock, which advances when nothing can run.

use std::sync::atomic::{AtomicI64, Ordering};

use segno_core::time::{Millis, Timestamp};
use segno_env::Clock;
use tokio::time::Instant;

/// Start time of every simulated world: 1 January 2030.
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
