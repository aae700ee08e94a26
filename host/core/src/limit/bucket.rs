//! A token bucket, stored as a single instant: the one at which it is full again. So no token is
//! created or lost when clocks jump or hosts crash, and no process has to refill it.

use serde::{Deserialize, Serialize};

use super::AdmissionRate;
use crate::time::Timestamp;

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TokenBucket {
    /// Instant at which the bucket is full, in microseconds since the Unix epoch.
    full_at_us: i64,
}

impl TokenBucket {
    /// A bucket from its stored value: the instant at which it is full, in microseconds since the
    /// Unix epoch.
    pub fn from_micros(full_at_us: i64) -> Self {
        Self { full_at_us }
    }

    /// The stored value: microseconds since the Unix epoch.
    pub fn micros(self) -> i64 {
        self.full_at_us
    }

    /// The first instant at which a token is available.
    pub fn next(self, rate: AdmissionRate) -> Timestamp {
        let held = i64::from(rate.burst.max(1) - 1).saturating_mul(interval_us(rate));
        in_millis(self.full_at_us.saturating_sub(held))
    }

    /// The first instant at which the bucket is full.
    pub fn full_at(self) -> Timestamp {
        in_millis(self.full_at_us)
    }

    /// Number of available tokens.
    pub fn tokens(self, rate: AdmissionRate, now: Timestamp) -> u32 {
        let lacks = self.full_at_us.saturating_sub(in_micros(now)).max(0);
        let interval = interval_us(rate);
        let taken = lacks.saturating_add(interval - 1) / interval;
        rate.burst.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX))
    }

    /// The bucket after one token is taken.
    #[must_use]
    pub fn take(self, rate: AdmissionRate, now: Timestamp) -> Self {
        let from = self.full_at_us.max(in_micros(now));
        Self { full_at_us: from.saturating_add(interval_us(rate)) }
    }
}

/// Time to refill one token, in microseconds, rounded up.
fn interval_us(rate: AdmissionRate) -> i64 {
    let count = i64::from(rate.count.max(1));
    let period = rate.period_ms.0.saturating_mul(1_000).max(1);
    (period.saturating_add(count - 1) / count).max(1)
}

fn in_micros(at: Timestamp) -> i64 {
    at.0.saturating_mul(1_000)
}

/// Rounds up to the next millisecond.
fn in_millis(at_us: i64) -> Timestamp {
    Timestamp(at_us.div_euclid(1_000) + i64::from(at_us.rem_euclid(1_000) > 0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::Millis;

    fn rate(count: u32, period_ms: i64, burst: u32) -> AdmissionRate {
        AdmissionRate { count, period_ms: Millis(period_ms), burst }
    }

    #[test]
    fn a_full_bucket_gives_its_burst_and_then_one_in_each_interval() {
        let rate = rate(10, 1_000, 3);
        let (mut bucket, now) = (TokenBucket::default(), Timestamp(5_000));
        for left in [2, 1, 0] {
            assert!(bucket.next(rate) <= now);
            bucket = bucket.take(rate, now);
            assert_eq!(bucket.tokens(rate, now), left);
        }
        assert_eq!(bucket.next(rate), Timestamp(5_100));
        assert_eq!(bucket.tokens(rate, Timestamp(5_099)), 0);
        assert_eq!(bucket.tokens(rate, Timestamp(5_200)), 2);
        assert_eq!(bucket.full_at(), Timestamp(5_300));
        assert_eq!(bucket.tokens(rate, Timestamp(9_999)), 3);
    }

    proptest! {
        /// In any period, no more tokens are taken than the burst plus the refill, even if the
        /// clock goes back. A client that waits until `next` gets one.
        #[test]
        fn no_token_is_minted_or_lost(
            count in 1u32..2_000,
            period_ms in 1i64..100_000,
            burst in 1u32..50,
            steps in proptest::collection::vec(-2_000i64..5_000, 1..200),
        ) {
            prop_assume!(i64::from(count) <= period_ms * 1_000);
            let rate = rate(count, period_ms, burst);
            let start = Timestamp(1_700_000_000_000);
            let (mut bucket, mut now) = (TokenBucket::default(), start);
            let (mut earliest, mut latest) = (start, start);
            let mut taken = 0i64;
            for step in steps {
                now = now + Millis(step);
                (earliest, latest) = (earliest.min(now), latest.max(now));
                if bucket.next(rate) <= now {
                    prop_assert!(bucket.tokens(rate, now) > 0);
                    bucket = bucket.take(rate, now);
                    taken += 1;
                } else {
                    prop_assert_eq!(bucket.tokens(rate, now), 0);
                    let next = bucket.next(rate);
                    prop_assert!(bucket.tokens(rate, next) > 0);
                    prop_assert!(next.0 - now.0 <= period_ms + (latest.0 - now.0));
                }
                let came = (latest.0 - earliest.0) * 1_000 / interval_us(rate);
                prop_assert!(taken <= i64::from(burst) + came, "{taken} of {burst} and {came}");
            }
        }
    }
}
