//! The limit on the rate of a stream. The row of the stream has one instant: the end of the time
//! that its bytes take at the rate.

use crate::time::{Millis, Timestamp};

const SECOND_US: i64 = 1_000_000;

/// Maximum number of bytes that are appended to a stream in a second. The bytes of one second come
/// at once, or one append, if it is larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRate {
    pub bytes_per_second: u64,
}

impl StreamRate {
    /// The end of the time that the bytes take, after those before. Microseconds since 1970.
    pub fn busy_until_us(self, before: Option<i64>, bytes: u64, now: Timestamp) -> i64 {
        before.unwrap_or(0).max(us(now)).saturating_add(self.cost_us(bytes))
    }

    /// Time after which the bytes may be appended. `None` if they may be appended now.
    pub fn wait(self, before: Option<i64>, bytes: u64, now: Timestamp) -> Option<Millis> {
        let debt = before?.saturating_sub(us(now)).max(0);
        let excess = debt.saturating_add(self.cost_us(bytes).min(SECOND_US)) - SECOND_US;
        (excess > 0).then(|| Millis(excess.unsigned_abs().div_ceil(1_000).cast_signed()))
    }

    fn cost_us(self, bytes: u64) -> i64 {
        let cost = bytes.saturating_mul(SECOND_US.unsigned_abs());
        i64::try_from(cost.div_ceil(self.bytes_per_second.max(1))).unwrap_or(i64::MAX)
    }
}

fn us(now: Timestamp) -> i64 {
    now.0.saturating_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_second_or_one_append_come_at_once() {
        let rate = StreamRate { bytes_per_second: 100 };
        let now = Timestamp(5_000);
        let mut before = None;
        for (bytes, at, wait) in [
            (60, 0, None),
            (40, 0, None),
            (1, 0, Some(10)),
            (1, 9, Some(1)),
            (1, 10, None),
            // More than a second's bytes are appended when nothing is left of those before.
            (250, 500, Some(510)),
            (250, 1_010, None),
            (1, 1_010, Some(1_510)),
            (100, 1_010, Some(2_500)),
            (0, 3_510, None),
        ] {
            let now = now + Millis(at);
            assert_eq!(rate.wait(before, bytes, now), wait.map(Millis), "{bytes} at {at}");
            if wait.is_none() {
                before = Some(rate.busy_until_us(before, bytes, now));
            }
        }
        let most = StreamRate { bytes_per_second: 0 }.busy_until_us(before, u64::MAX, now);
        assert!(rate.wait(Some(most), u64::MAX, now) > Some(Millis(1_000)));
    }
}
