//! Instants and durations in milliseconds. The core reads no clock: `now` is an argument.

use std::{
    fmt,
    ops::{Add, Sub},
};

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the Unix epoch. Arithmetic saturates.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A duration in milliseconds. Arithmetic saturates.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Timestamp {
    /// Represents "no deadline": the last millisecond of the year 9999.
    pub const NEVER: Self = Self(253_402_300_799_999);

    /// The instant in UTC, for display: `2031-02-03T04:05:06Z`.
    pub fn in_utc(self) -> String {
        DateTime::from_timestamp_millis(self.0)
            .map_or_else(|| self.to_string(), |instant| format!("{instant:?}"))
    }

    /// The instant in UTC with milliseconds, for display: `2031-02-03T04:05:06.000Z`. Instants
    /// beyond the calendar are shown as a number.
    pub fn in_utc_millis(self) -> String {
        DateTime::from_timestamp_millis(self.0).map_or_else(
            || format!("{} ms since 1970", self.0),
            |instant| instant.to_rfc3339_opts(SecondsFormat::Millis, true),
        )
    }

    /// Parses an instant by RFC 3339, such as `2031-02-03T04:05:06Z`. `None` if it is none.
    pub fn parse_utc(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|at| Self(at.timestamp_millis()))
    }

    /// The instant this long after this one, for delays, time limits and deadlines.
    ///
    /// # Errors
    /// [`TimeRangeError`]: the result is not before [`Timestamp::NEVER`].
    pub fn in_time(self, length_ms: u64) -> Result<Self, TimeRangeError> {
        let end = i64::try_from(length_ms).ok().and_then(|length| self.0.checked_add(length));
        end.map(Self).filter(|end| *end < Self::NEVER).ok_or(TimeRangeError)
    }

    /// Time since `earlier`; never negative.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0).max(0))
    }
}

/// Error: a delay, a time limit or a deadline ends after the last supported instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ends after the year 9999, the last in which something can be due; leave it out for none")]
pub struct TimeRangeError;

impl Millis {
    pub const ZERO: Self = Self(0);

    /// A duration of whole seconds.
    pub const fn seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }
}

impl Add<Millis> for Timestamp {
    type Output = Self;
    fn add(self, length: Millis) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Sub<Millis> for Timestamp {
    type Output = Self;
    fn sub(self, length: Millis) -> Self {
        Self(self.0.saturating_sub(length.0))
    }
}

impl Add for Millis {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Timestamp(i64::MAX) + Millis(1), Timestamp(i64::MAX));
        assert_eq!(Timestamp(i64::MIN) - Millis(1), Timestamp(i64::MIN));
        assert_eq!(Timestamp(1).since(Timestamp(5)), Millis::ZERO);
        assert_eq!(Timestamp(5).since(Timestamp(1)), Millis(4));
    }

    #[test]
    fn instants_are_written_whatever_their_year() {
        for (ms, text) in [
            (1_794_711_600_000, "2026-11-15T03:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (Timestamp::NEVER.0 + 1, "+10000-01-01T00:00:00.000Z"),
            (i64::MAX, "9223372036854775807 ms since 1970"),
            (i64::MIN, "-9223372036854775808 ms since 1970"),
        ] {
            assert_eq!(Timestamp(ms).in_utc_millis(), text);
            assert!(!Timestamp(ms).in_utc().is_empty());
        }
    }

    #[test]
    fn nothing_is_due_after_the_year_9999() {
        let left = Timestamp::NEVER.0.unsigned_abs() - 5;
        assert_eq!(Timestamp(5).in_time(left - 1), Ok(Timestamp(Timestamp::NEVER.0 - 1)));
        for length in [left, i64::MAX.unsigned_abs(), u64::MAX] {
            assert_eq!(Timestamp(5).in_time(length), Err(TimeRangeError), "{length}");
        }
        assert_eq!(Timestamp(i64::MAX).in_time(1), Err(TimeRangeError));
    }
}
