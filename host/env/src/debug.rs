//! A clock that a debugger sets: decisions use the set instant, and the host's own loops can be
//! stopped.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use segno_core::time::Timestamp;

use super::Clock;

/// The value of `named` while decisions use the real time.
const FREE: i64 = i64::MIN;

/// A clock whose time can be set and stopped.
pub struct DebugClock {
    real: Arc<dyn Clock>,
    named: AtomicI64,
    stopped: AtomicBool,
}

/// The clock of the host's own loops: the real time, or the minimum while stopped, at which nothing
/// is due.
struct Loops(Arc<DebugClock>);

impl DebugClock {
    /// A clock that shows the time of `real` until it is set.
    pub fn new(real: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { real, named: AtomicI64::new(FREE), stopped: AtomicBool::new(false) })
    }

    /// Sets the instant that decisions use. `None`: the real time.
    pub fn set(&self, instant: Option<Timestamp>) {
        self.named.store(instant.map_or(FREE, |instant| instant.0), Ordering::SeqCst);
    }

    /// Stops the host's own loops, or lets them continue.
    pub fn stop(&self, stopped: bool) {
        self.stopped.store(stopped, Ordering::SeqCst);
    }

    /// The clock for the host's own loops.
    pub fn loops(self: &Arc<Self>) -> Arc<dyn Clock> {
        Arc::new(Loops(self.clone()))
    }
}

impl Clock for DebugClock {
    fn now(&self) -> Timestamp {
        match self.named.load(Ordering::SeqCst) {
            FREE => self.real.now(),
            named => Timestamp(named),
        }
    }
}

impl Clock for Loops {
    fn now(&self) -> Timestamp {
        match self.0.stopped.load(Ordering::SeqCst) {
            true => Timestamp(0),
            false => self.0.real.now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;

    #[test]
    fn a_debugger_names_the_time_of_decisions_and_stops_that_of_loops() {
        let clock = DebugClock::new(Arc::new(SystemClock::default()));
        let loops = clock.loops();
        let before = clock.now();
        clock.set(Some(Timestamp(5)));
        assert_eq!(clock.now(), Timestamp(5));
        assert!(loops.now() >= before);
        clock.stop(true);
        assert_eq!(loops.now(), Timestamp(0));
        clock.set(None);
        clock.stop(false);
        assert!(clock.now() >= before && loops.now() >= before);
    }
}
