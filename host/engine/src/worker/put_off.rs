//! When executions come again that were put off, since as many compute for long as may.
//!
//! Each that comes again computes for some milliseconds before it is known whether it still has to wait. So they come one
//! after the other: however many there are, they take little of the processors from those that compute.

use std::sync::{Mutex, PoisonError};

use segno_core::time::{Millis, Timestamp};

/// The least wait.
const LEAST: Millis = Millis(1_000);
/// The time between two that come again.
const APART: Millis = Millis(50);

/// The line of those that were put off.
#[derive(Default)]
pub struct PutOff {
    /// When the last of them comes.
    last: Mutex<Timestamp>,
}

impl PutOff {
    /// The wait of the next in line.
    pub fn wait(&self, now: Timestamp) -> Millis {
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
        let (line, now) = (PutOff::default(), Timestamp(7_000_000));
        assert_eq!([(); 3].map(|()| line.wait(now)), [1_000, 1_050, 1_100].map(Millis));
        assert_eq!(line.wait(now + Millis(40)), Millis(1_110));
        assert_eq!(line.wait(now + Millis(10_000)), Millis(1_000), "the line has ended");
    }
}
