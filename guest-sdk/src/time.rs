//! Instants of the journal.

use std::{
    fmt,
    ops::{Add, Sub},
    time::{Duration, SystemTime},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the Unix epoch. A workflow reads it from
/// [`Context::now`](crate::Context::now), never from the machine's clock.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The instant `milliseconds` after the Unix epoch.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The duration since `earlier`; zero if it is not earlier.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Whole milliseconds, rounded up so that no event is early; longer durations saturate.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }
}

/// Formats as RFC 3339 in UTC.
impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.0));
        match time {
            // The last second of the year 9999, after which RFC 3339 has no notation.
            Some(time) if self.0 <= 253_402_300_799_999 => {
                humantime::format_rfc3339_millis(time).fmt(formatter)
            }
            _ => write!(formatter, "{} ms", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_rounded_up_to_milliseconds() {
        let start = Timestamp::from_millis(1_000);
        assert_eq!(start + Duration::from_micros(1), Timestamp::from_millis(1_001));
        assert_eq!(start - Duration::from_secs(2), Timestamp::from_millis(0));
        assert_eq!(start.since(Timestamp::from_millis(400)), Duration::from_millis(600));
    }

    #[test]
    fn it_prints_as_people_write_it() {
        assert_eq!(
            Timestamp::from_millis(1_700_000_000_123).to_string(),
            "2023-11-14T22:13:20.123Z"
        );
        assert_eq!(Timestamp::from_millis(u64::MAX).to_string(), format!("{} ms", u64::MAX));
    }
}
