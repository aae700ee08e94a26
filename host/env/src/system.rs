//! The clock and the runtime of the machine.

use std::{
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use segno_core::time::{Millis, Timestamp};

use super::{BoxFuture, Clock, Runtime};

/// Minimum clock change that is logged; time services regularly make smaller ones.
const WORTH_A_WARNING: Duration = Duration::from_secs(1);

/// Number of times that this process observed the machine's clock set forward, and back.
static JUMPS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Number of times that the machine's clock was set by a second or more while this process ran:
/// forward, and back.
pub fn clock_jumps() -> [u64; 2] {
    JUMPS.each_ref().map(|count| count.load(Ordering::Relaxed))
}

/// The machine's clock. If it is set back, time continues from its last value at the normal rate,
/// so that existing deadlines and leases end when they would have ended.
#[derive(Debug)]
pub struct SystemClock {
    begun: Instant,
    /// Microseconds to add to the time since `begun`; never decreases.
    ahead: AtomicI64,
    warned: AtomicBool,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where time enters the host")]
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            ahead: AtomicI64::new(i64::MIN),
            warned: AtomicBool::new(false),
        }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where time enters the host")]
    fn now(&self) -> Timestamp {
        // Order matters: a pause between the two readings only makes the difference smaller, which
        // is harmless.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.told(wall, self.begun.elapsed())
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl SystemClock {
    /// The time when the machine's clock shows `wall`, `elapsed` after `begun`.
    fn told(&self, wall: Duration, elapsed: Duration) -> Timestamp {
        let elapsed = micros(elapsed);
        let given = micros(wall) - elapsed;
        let before = self.ahead.fetch_max(given, Ordering::Relaxed);
        let jumped = given.saturating_sub(before);
        if before != i64::MIN && jumped >= micros(WORTH_A_WARNING) {
            JUMPS[0].fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                ahead_s = jumped / 1_000_000,
                "the machine's clock jumped ahead, because it was set or the machine slept: the host now handles the deadlines and leases that passed"
            );
        }
        let ahead = before.max(given);
        let behind = ahead - given;
        if behind < micros(WORTH_A_WARNING) {
            self.warned.store(false, Ordering::Relaxed);
        } else if !self.warned.swap(true, Ordering::Relaxed) {
            JUMPS[1].fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                behind_s = behind / 1_000_000,
                "the machine's clock was set back: this host counts on from where it was, and nothing is lost; \
                 restart it once the clock is right, or its times stay ahead"
            );
        }
        Timestamp((elapsed + ahead) / 1_000)
    }
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX / 2)
}

/// The tokio runtime.
#[derive(Debug, Default)]
pub struct SystemRuntime;

impl Runtime for SystemRuntime {
    #[expect(clippy::disallowed_methods, reason = "this is where tasks enter the host")]
    fn spawn(&self, _name: &'static str, task: BoxFuture<()>) {
        tokio::spawn(task);
    }

    #[expect(clippy::disallowed_methods, reason = "this is where waiting enters the host")]
    fn sleep(&self, length: Millis) -> BoxFuture<()> {
        let length = Duration::from_millis(u64::try_from(length.0).unwrap_or(0));
        Box::pin(tokio::time::sleep(length))
    }

    fn nonce(&self) -> u64 {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(0_u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_where_the_clock_is_set_back() {
        let clock = SystemClock::default();
        let at = |wall: f64, elapsed: f64| {
            clock.told(Duration::from_secs_f64(wall), Duration::from_secs_f64(elapsed)).0
        };
        assert_eq!(at(1_000.0, 0.0), 1_000_000);
        assert_eq!(at(1_001.0, 1.0), 1_001_000);
        assert_eq!(at(900.0, 2.0), 1_002_000, "set back by more than a minute");
        assert!(clock.warned.load(Ordering::Relaxed));
        assert_eq!(at(901.5, 3.5), 1_003_500, "and it is no standstill");
        let before = clock_jumps();
        assert!(before[1] > 0);
        assert_eq!(at(1_010.0, 4.0), 1_010_000, "set right, and ahead");
        assert!(!clock.warned.load(Ordering::Relaxed));
        assert!(clock_jumps()[0] > before[0], "by 6 s");
    }
}
