//! The time of all hosts of one database: the database's own.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use segno_core::time::{Millis, Timestamp};
use segno_env::Clock;

/// A step back by less is not worth a word.
const WORTH_A_WORD: Millis = Millis(1_000);

/// The database's time, as far as it was heard, carried on by this machine's clock.
pub struct Time {
    machine: Arc<dyn Clock>,
    /// Whether the database is asked at all. Debuggers and tests say themselves what time it is,
    /// backwards too.
    asked: bool,
    /// How far the database is ahead of this machine.
    ahead: AtomicI64,
    latest: AtomicI64,
    warned: AtomicBool,
}

impl Time {
    pub(super) fn new(machine: Arc<dyn Clock>, asked: bool) -> Self {
        Self {
            machine,
            asked,
            ahead: AtomicI64::new(0),
            latest: AtomicI64::new(i64::MIN),
            warned: AtomicBool::new(false),
        }
    }

    /// Hears what time it is in the database. Answers what time it is here then: never earlier than
    /// before.
    pub(super) fn of_server(&self, server: Option<Timestamp>) -> Timestamp {
        let Some(server) = server.filter(|_| self.asked) else { return self.now() };
        // Less than nothing where this machine is ahead: that is no length of time, of which there
        // is none then.
        let ahead = server.0.saturating_sub(self.machine.now().0);
        self.ahead.store(ahead, Ordering::Relaxed);
        let latest = self.latest.fetch_max(server.0, Ordering::Relaxed);
        let back = latest.saturating_sub(server.0);
        if back > WORTH_A_WORD.0 && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                milliseconds = back,
                "the database's clock was set back: time stands still here until it has caught up"
            );
        }
        Timestamp(latest.max(server.0))
    }

    /// How far the database's clock is ahead of this machine's; less than nothing where it is
    /// behind.
    pub fn ahead(&self) -> Millis {
        Millis(self.ahead.load(Ordering::Relaxed))
    }
}

impl Clock for Time {
    fn now(&self) -> Timestamp {
        if !self.asked {
            return self.machine.now();
        }
        let now = self.machine.now().0.saturating_add(self.ahead.load(Ordering::Relaxed));
        Timestamp(self.latest.fetch_max(now, Ordering::Relaxed).max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine(AtomicI64);

    impl Clock for Machine {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn the_time_is_the_databases_and_never_runs_backwards() {
        let machine = Arc::new(Machine(AtomicI64::new(1_000)));
        let time = Time::new(machine.clone(), true);
        assert_eq!(time.of_server(Some(Timestamp(61_000))), Timestamp(61_000));
        assert_eq!(time.ahead(), Millis(60_000));
        machine.0.store(1_005, Ordering::Relaxed);
        assert_eq!(time.now(), Timestamp(61_005));
        assert_eq!(time.of_server(Some(Timestamp(50_000))), Timestamp(61_005), "it was set back");
        assert_eq!(time.now(), Timestamp(61_005));
        assert!(time.warned.load(Ordering::Relaxed));
        assert_eq!(time.of_server(Some(Timestamp(61_010))), Timestamp(61_010));
    }

    #[test]
    fn a_machine_that_is_ahead_goes_by_the_databases_clock_as_well() {
        let machine = Arc::new(Machine(AtomicI64::new(61_000)));
        let time = Time::new(machine.clone(), true);
        assert_eq!(time.of_server(Some(Timestamp(1_000))), Timestamp(1_000));
        assert_eq!(time.ahead(), Millis(-60_000));
        machine.0.store(61_005, Ordering::Relaxed);
        assert_eq!(time.now(), Timestamp(1_005), "what it plans is not a minute late");
        assert_eq!(time.of_server(Some(Timestamp(1_010))), Timestamp(1_010));
    }

    #[test]
    fn who_says_what_time_it_is_has_the_last_word() {
        let machine = Arc::new(Machine(AtomicI64::new(1_000)));
        let time = Time::new(machine.clone(), false);
        assert_eq!(time.of_server(Some(Timestamp(61_000))), Timestamp(1_000));
        machine.0.store(5, Ordering::Relaxed);
        assert_eq!((time.now(), time.of_server(None)), (Timestamp(5), Timestamp(5)));
    }
}
