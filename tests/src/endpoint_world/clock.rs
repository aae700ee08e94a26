//! The virtual time of a world.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use segno_core::time::Timestamp;
use segno_env::Clock;

use super::Course;

/// Start time, in milliseconds since the Unix epoch.
pub(super) const BEGIN: i64 = 1_700_000_000_000;

/// A clock that advances by a fixed number of milliseconds at every read.
pub(super) struct VirtualClock(AtomicI64, i64);

impl VirtualClock {
    pub(super) fn new(course: Course) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(BEGIN), course.clock_step_ms))
    }

    /// Advances the clock by `ms` milliseconds.
    pub(super) fn pass(&self, ms: u64) {
        self.0.fetch_add(i64::try_from(ms).expect("a length"), Ordering::SeqCst);
    }

    /// Sets the clock to `now`.
    pub(super) fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(self.1, Ordering::SeqCst))
    }
}
