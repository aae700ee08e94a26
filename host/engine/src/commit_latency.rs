//! The time that an undisturbed commit takes.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// A longer commit moves the measure by 1/64 of the difference.
const SLOWLY: u64 = 64;

/// The shortest recent commit. A shorter one replaces the measure immediately, longer ones move it
/// slowly.
#[derive(Debug, Default)]
pub struct CommitLatency(AtomicU64);

impl CommitLatency {
    /// Records the duration of a commit.
    pub fn took(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let shortest = self.0.load(Ordering::Relaxed);
        let next = match shortest {
            0 => took,
            _ if took < shortest => took,
            _ => shortest + (took - shortest) / SLOWLY,
        };
        // Of two concurrent updates one may be lost. Later commits correct that.
        self.0.store(next, Ordering::Relaxed);
    }

    /// The current measure. Zero before the first commit.
    pub fn shortest(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_commit_counts_at_once_and_longer_ones_bit_by_bit() {
        let time = CommitLatency::default();
        assert_eq!(time.shortest(), Duration::ZERO);
        time.took(Duration::from_micros(1_000));
        time.took(Duration::from_micros(200));
        assert_eq!(time.shortest(), Duration::from_micros(200));
        time.took(Duration::from_micros(6_600));
        assert_eq!(time.shortest(), Duration::from_micros(300), "one says little");
        (0..1_000).for_each(|_| time.took(Duration::from_micros(6_600)));
        assert!(time.shortest() > Duration::from_micros(6_500), "{:?}", time.shortest());
    }
}
