//! A clock that tests and explorers move by hand: time stands still in between.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::time::{Millis, Timestamp};
use tokio::sync::oneshot;

use super::{BoxFuture, Clock};

/// A clock that changes only when it is told to, and then wakes the sleepers that are due.
pub struct HandClock(Mutex<HandState>);

struct HandState {
    now: Timestamp,
    /// Number of sleepers so far, which orders those of one instant.
    slept: u64,
    sleepers: BTreeMap<(Timestamp, u64), oneshot::Sender<()>>,
}

impl HandClock {
    /// Creates a clock that shows an early instant, a second after the epoch.
    pub fn new() -> Arc<Self> {
        Self::at(Timestamp(1_000))
    }

    /// Creates a clock that shows `now`.
    pub fn at(now: Timestamp) -> Arc<Self> {
        Arc::new(Self(Mutex::new(HandState { now, slept: 0, sleepers: BTreeMap::new() })))
    }

    /// Advances by `length`.
    pub fn advance(&self, length: Millis) {
        self.set(self.now() + length);
    }

    /// Sets the clock to `now`, which may be earlier, and wakes the sleepers that are due.
    pub fn set(&self, now: Timestamp) {
        let mut state = self.lock();
        state.now = now;
        while let Some(first) = state.sleepers.first_entry()
            && first.key().0 <= now
        {
            // A dropped sleeper needs no wake-up.
            let _ = first.remove().send(());
        }
        state.sleepers.retain(|_, sleeper| !sleeper.is_closed());
    }

    /// Completes when the clock has advanced by `length`. Never completes if the clock is dropped.
    pub fn sleep(&self, length: Millis) -> BoxFuture<()> {
        if length <= Millis::ZERO {
            return Box::pin(std::future::ready(()));
        }
        let (wake, woken) = oneshot::channel();
        let mut state = self.lock();
        state.slept += 1;
        let key = (state.now + length, state.slept);
        state.sleepers.insert(key, wake);
        Box::pin(async move {
            if woken.await.is_err() {
                std::future::pending().await
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, HandState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        self.lock().now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sleepers_wake_when_the_clock_has_reached_them() {
        let clock = HandClock::new();
        clock.sleep(Millis::ZERO).await;
        let (mut first, mut second) = (clock.sleep(Millis(5)), clock.sleep(Millis(6)));
        clock.advance(Millis(5));
        assert_eq!(clock.now(), Timestamp(1_005));
        tokio::select! {
            biased;
            () = &mut second => panic!("it sleeps for another millisecond"),
            () = &mut first => {}
        }
        clock.set(Timestamp(2_000));
        second.await;
    }
}
