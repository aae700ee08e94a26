//! Timers whose workflows go on here before the timers are settled. The recovery driver leaves them to
//! these workflows for a while, so that one commit settles the timer and stores what follows.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    command::Command,
    id::PromiseId,
    time::{Millis, Timestamp},
};

/// Time for which no timer is held after the end of one was not stored. The clock of the commits may
/// be behind this host's, and every workflow would be replayed.
const REST: Millis = Millis(10_000);

/// The held timers.
#[derive(Debug, Default)]
pub struct HeldTimers(Mutex<HeldState>);

#[derive(Debug, Default)]
struct HeldState {
    /// The instant until which the recovery driver leaves a timer alone.
    ends: BTreeMap<PromiseId, Timestamp>,
    /// Timers that are due before this instant are not held.
    rests_until: Option<Timestamp>,
}

/// A timer that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldTimer {
    pub id: PromiseId,
    pub due: Timestamp,
    /// True from the delivery of its end to the commit that stores it.
    delivered: bool,
    timers: Arc<HeldTimers>,
}

impl HeldTimers {
    /// Holds the timer `id` from now to `gather` after it is due. `None` if the end of another timer
    /// was not stored shortly before.
    pub(crate) fn hold(
        self: &Arc<Self>,
        id: PromiseId,
        due: Timestamp,
        gather: Millis,
    ) -> Option<HeldTimer> {
        let mut state = self.lock();
        if state.rests_until.is_some_and(|end| due < end) {
            return None;
        }
        state.ends.insert(id.clone(), due + gather);
        Some(HeldTimer { id, due, delivered: false, timers: self.clone() })
    }

    /// The instant until which the recovery driver must not execute `command`. `None` if it may.
    pub(crate) fn end_of(&self, command: &Command, now: Timestamp) -> Option<Timestamp> {
        let Command::PromiseDue { id } = command else { return None };
        self.lock().ends.get(id).copied().filter(|end| *end > now)
    }

    /// Number of held timers.
    pub(crate) fn len(&self) -> usize {
        self.lock().ends.len()
    }

    fn lock(&self) -> MutexGuard<'_, HeldState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldTimer {
    /// The workflow receives the end of the timer.
    pub(crate) fn delivered(&mut self) {
        self.delivered = true;
    }

    /// The end of the timer is stored.
    pub(crate) fn stored(mut self) {
        self.delivered = false;
    }
}

impl Drop for HeldTimer {
    fn drop(&mut self) {
        let mut state = self.timers.lock();
        state.ends.remove(&self.id);
        if self.delivered {
            state.rests_until = state.rests_until.max(Some(self.due + REST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATHER: Millis = Millis(25);

    #[test]
    fn a_timer_is_left_alone_until_it_is_dropped_or_its_time_is_over() {
        let timers = Arc::new(HeldTimers::default());
        let due = |id: &str| Command::PromiseDue { id: PromiseId::from(id) };
        let held = timers.hold(PromiseId::from("w/0"), Timestamp(5), GATHER);
        assert_eq!(timers.end_of(&due("w/0"), Timestamp(5)), Some(Timestamp(30)));
        assert_eq!(timers.end_of(&due("w/0"), Timestamp(30)), None);
        assert_eq!(timers.end_of(&due("w/1"), Timestamp(5)), None);
        drop(held);
        assert_eq!((timers.end_of(&due("w/0"), Timestamp(5)), timers.len()), (None, 0));
    }

    #[test]
    fn no_timer_is_held_for_a_while_after_an_end_that_was_not_stored() {
        let timers = Arc::new(HeldTimers::default());
        let hold = |due: i64| timers.hold(PromiseId::from("w/0"), Timestamp(due), GATHER);
        let mut held = hold(5).expect("nothing was refused");
        held.delivered();
        held.stored();
        let mut held = hold(5).expect("the end before was stored");
        held.delivered();
        drop(held);
        assert!(hold(5).is_none() && hold(4 + REST.0).is_none());
        assert!(hold(5 + REST.0).is_some());
    }
}
