//! Instants and lengths of time in milliseconds. The core reads no clock: `now` is an argument.

use std::{
    fmt,
    ops::{Add, Sub},
};

use chrono::DateTime;
use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the Unix epoch. Arithmetic saturates.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A length of time in milliseconds. Arithmetic saturates.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Timestamp {
    /// "No deadline": the last millisecond of the year 9999.
    pub const NEVER: Self = Self(253_402_300_799_999);

    /// The instant for people, in UTC: `2031-02-03T04:05:06Z`.
    pub fn in_utc(self) -> String {
        DateTime::from_timestamp_millis(self.0)
            .map_or_else(|| self.to_string(), |instant| format!("{instant:?}"))
    }

    /// How long ago `earlier` was; never negative.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0).max(0))
    }
}

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Whole seconds.
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
}
