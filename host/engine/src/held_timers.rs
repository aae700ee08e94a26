//! Timers whose workflows go on here before the timers are settled. The recovery driver leaves them to
//! these workflows for a while, so that one commit settles the timer and stores what follows.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{command::Command, id::PromiseId, time::Timestamp};

/// The held timers, each with the instant until which the recovery driver leaves it alone.
#[derive(Debug, Default)]
pub struct HeldTimers(Mutex<BTreeMap<PromiseId, Timestamp>>);

/// A timer that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldTimer {
    pub id: PromiseId,
    timers: Arc<HeldTimers>,
}

impl HeldTimers {
    /// Holds the timer `id`, at most until `end`.
    pub(crate) fn hold(self: &Arc<Self>, id: PromiseId, end: Timestamp) -> HeldTimer {
        self.lock().insert(id.clone(), end);
        HeldTimer { id, timers: self.clone() }
    }

    /// The instant until which the recovery driver must not execute `command`. `None` if it may.
    pub(crate) fn end_of(&self, command: &Command, now: Timestamp) -> Option<Timestamp> {
        let Command::PromiseDue { id } = command else { return None };
        self.lock().get(id).copied().filter(|end| *end > now)
    }

    /// Number of held timers.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PromiseId, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeldTimer {
    fn drop(&mut self) {
        self.timers.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_left_alone_until_it_is_dropped_or_its_time_is_over() {
        let timers = Arc::new(HeldTimers::default());
        let due = |id: &str| Command::PromiseDue { id: PromiseId::from(id) };
        let held = timers.hold(PromiseId::from("w/0"), Timestamp(30));
        assert_eq!(timers.end_of(&due("w/0"), Timestamp(5)), Some(Timestamp(30)));
        assert_eq!(timers.end_of(&due("w/0"), Timestamp(30)), None);
        assert_eq!(timers.end_of(&due("w/1"), Timestamp(5)), None);
        drop(held);
        assert_eq!((timers.end_of(&due("w/0"), Timestamp(5)), timers.len()), (None, 0));
    }
}
