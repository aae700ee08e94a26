//! The common clock of all hosts of a database: the database's clock.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use segno_core::time::{Millis, Timestamp};
use segno_env::Clock;

/// Minimum backward jump of the database's clock that is logged.
const WORTH_A_WORD: Millis = Millis(1_000);

/// The database's time, extrapolated by this machine's clock.
pub struct DatabaseTime {
    machine: Arc<dyn Clock>,
    /// True if the database's clock is used. Debuggers and tests set the time themselves, also
    /// backwards.
    asked: bool,
    /// Milliseconds by which the database's clock is ahead of this machine's.
    ahead: AtomicI64,
    latest: AtomicI64,
    warned: AtomicBool,
}

impl DatabaseTime {
    pub(super) fn new(machine: Arc<dyn Clock>, asked: bool) -> Self {
        Self {
            machine,
            asked,
            ahead: AtomicI64::new(0),
            latest: AtomicI64::new(i64::MIN),
            warned: AtomicBool::new(false),
        }
    }

    /// The machine's time just before the database is queried, for [`DatabaseTime::of_server`].
    pub(super) fn asking(&self) -> Timestamp {
        self.machine.now()
    }

    /// Records the database's time, queried at `asked_at`. Returns the current time, which never
    /// decreases.
    pub(super) fn of_server(&self, server: Option<Timestamp>, asked_at: Timestamp) -> Timestamp {
        let Some(server) = server.filter(|_| self.asked) else { return self.now() };
        let heard_at = self.machine.now();
        let late = heard_at.since(asked_at);
        // An old answer says nothing about the present.
        if late <= WORTH_A_WORD || self.latest.load(Ordering::Relaxed) == i64::MIN {
            // Negative if this machine is ahead; `since` would clamp that to zero.
            let ahead = server.0.saturating_sub(heard_at.0);
            self.ahead.store(ahead, Ordering::Relaxed);
        }
        let latest = self.latest.fetch_max(server.0, Ordering::Relaxed);
        let back = latest.saturating_sub(server.0);
        if back <= WORTH_A_WORD.0 {
            return Timestamp(latest.max(server.0));
        }
        if back <= late.0.saturating_add(WORTH_A_WORD.0) {
            // Time passed while the answer was pending, as it should.
            tracing::warn!(
                milliseconds = late.0,
                "the database's answer arrived late: this host was suspended, or the network was slow"
            );
        } else if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                milliseconds = back,
                "the database's clock was set back: this host's time stops until that clock has caught up"
            );
        }
        Timestamp(latest.max(server.0))
    }

    /// Lead of the database's clock over this machine's; negative if it is behind.
    pub fn ahead(&self) -> Millis {
        Millis(self.ahead.load(Ordering::Relaxed))
    }
}

impl Clock for DatabaseTime {
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
        let time = DatabaseTime::new(machine.clone(), true);
        assert_eq!(time.of_server(Some(Timestamp(61_000)), time.asking()), Timestamp(61_000));
        assert_eq!(time.ahead(), Millis(60_000));
        machine.0.store(1_005, Ordering::Relaxed);
        assert_eq!(time.now(), Timestamp(61_005));
        assert_eq!(
            time.of_server(Some(Timestamp(50_000)), time.asking()),
            Timestamp(61_005),
            "it was set back"
        );
        assert_eq!(time.now(), Timestamp(61_005));
        assert!(time.warned.load(Ordering::Relaxed));
        assert_eq!(time.of_server(Some(Timestamp(61_010)), time.asking()), Timestamp(61_010));
    }

    #[test]
    fn a_host_that_stood_still_does_not_blame_the_database() {
        let machine = Arc::new(Machine(AtomicI64::new(1_000)));
        let time = DatabaseTime::new(machine.clone(), true);
        assert_eq!(time.of_server(Some(Timestamp(61_000)), time.asking()), Timestamp(61_000));
        let asked_at = time.asking();
        // The database answered immediately, but the host was stopped for a minute before it read
        // the answer.
        machine.0.store(61_000, Ordering::Relaxed);
        assert_eq!(time.now(), Timestamp(121_000));
        assert_eq!(time.of_server(Some(Timestamp(61_001)), asked_at), Timestamp(121_000));
        assert!(!time.warned.load(Ordering::Relaxed), "its clock was not set back");
        machine.0.store(61_005, Ordering::Relaxed);
        assert_eq!(time.now(), Timestamp(121_005), "an old answer does not stop the time");
        // A prompt answer does show that the clock was set back.
        time.of_server(Some(Timestamp(61_001)), time.asking());
        assert!(time.warned.load(Ordering::Relaxed));
    }

    #[test]
    fn a_machine_that_is_ahead_goes_by_the_databases_clock_as_well() {
        let machine = Arc::new(Machine(AtomicI64::new(61_000)));
        let time = DatabaseTime::new(machine.clone(), true);
        assert_eq!(time.of_server(Some(Timestamp(1_000)), time.asking()), Timestamp(1_000));
        assert_eq!(time.ahead(), Millis(-60_000));
        machine.0.store(61_005, Ordering::Relaxed);
        assert_eq!(time.now(), Timestamp(1_005), "what it plans is not a minute late");
        assert_eq!(time.of_server(Some(Timestamp(1_010)), time.asking()), Timestamp(1_010));
    }

    #[test]
    fn who_says_what_time_it_is_has_the_last_word() {
        let machine = Arc::new(Machine(AtomicI64::new(1_000)));
        let time = DatabaseTime::new(machine.clone(), false);
        assert_eq!(time.of_server(Some(Timestamp(61_000)), time.asking()), Timestamp(1_000));
        machine.0.store(5, Ordering::Relaxed);
        assert_eq!((time.now(), time.of_server(None, time.asking())), (Timestamp(5), Timestamp(5)));
    }
}
