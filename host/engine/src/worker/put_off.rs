//! Schedules retries of executions rejected because too many others are computing.
//!
//! Each of them computes for some milliseconds before it turns out that it has to wait again.
//! Therefore they are retried one after the other: any number of them takes little processor time
//! from the computing ones.

use std::sync::{Mutex, PoisonError};

use segno_core::time::{Millis, Timestamp};

/// The minimum delay before a retry.
const LEAST: Millis = Millis(1_000);
/// The interval between two retries.
const APART: Millis = Millis(50);

/// The queue of rejected executions.
#[derive(Default)]
pub(crate) struct DeferredRetries {
    /// The instant of the last scheduled retry.
    last: Mutex<Timestamp>,
}

impl DeferredRetries {
    /// The delay before the retry of the next execution.
    pub(crate) fn wait(&self, now: Timestamp) -> Millis {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = (now + LEAST).max(*last + APART);
        last.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_again_one_after_the_other() {
        let (line, now) = (DeferredRetries::default(), Timestamp(7_000_000));
        assert_eq!([(); 3].map(|()| line.wait(now)), [1_000, 1_050, 1_100].map(Millis));
        assert_eq!(line.wait(now + Millis(40)), Millis(1_110));
        assert_eq!(line.wait(now + Millis(10_000)), Millis(1_000), "the line has ended");
    }
}
