//! When executions are tried again that were put off because enough others compute for long.
//!
//! Each of them computes for some milliseconds before it is known whether it has to wait again. So
//! they are tried one after the other: any number of them takes little processor time from those
//! that compute.

use std::sync::{Mutex, PoisonError};

use segno_core::time::{Millis, Timestamp};

/// The minimum delay.
const LEAST: Millis = Millis(1_000);
/// The interval between two that are tried again.
const APART: Millis = Millis(50);

/// The queue of executions that were put off.
#[derive(Default)]
pub struct PutOff {
    /// When the last of the queue is tried again.
    last: Mutex<Timestamp>,
}

impl PutOff {
    /// The delay of the next execution in the queue.
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
