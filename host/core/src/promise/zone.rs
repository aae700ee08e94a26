//! Time zones, by their names in the IANA database, which is compiled in.

use std::{fmt, str::FromStr};

use chrono::{
    DateTime, MappedLocalTime, NaiveDateTime, Offset as _, SecondsFormat, TimeDelta, TimeZone as _,
};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Upper bound on a gap in local time: some countries have skipped a whole day.
const LONGEST_LEAP: TimeDelta = TimeDelta::hours(25);

/// A time zone of the IANA database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone(Tz);

/// Error: a text that is not the name of a time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no time zone: write its IANA name, such as Europe/Berlin or America/New_York, or UTC"
)]
pub struct ZoneError(String);

impl Zone {
    pub const UTC: Self = Self(Tz::UTC);

    /// Name in the IANA database.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// True for UTC itself.
    pub fn is_utc(self) -> bool {
        self == Self::UTC
    }

    /// The instant in the zone's local time: `2031-02-03T05:05:06+01:00`.
    pub fn local(self, instant: Timestamp) -> String {
        DateTime::from_timestamp_millis(instant.0).map_or_else(
            || instant.in_utc_millis(),
            |utc| utc.with_timezone(&self.0).to_rfc3339_opts(SecondsFormat::Secs, self.is_utc()),
        )
    }

    /// The zone's local time at an instant.
    pub(super) fn reading(self, instant: Timestamp) -> Option<NaiveDateTime> {
        let utc = DateTime::from_timestamp_millis(instant.0)?.naive_utc();
        utc.checked_add_offset(self.0.offset_from_utc_datetime(&utc).fix())
    }

    /// The instant of a local time. For a repeated local time, the first one; for a skipped one,
    /// the first instant after the gap. The result increases monotonically with the local time.
    pub(super) fn instant(self, reading: NaiveDateTime) -> Option<Timestamp> {
        let valid = match self.0.from_local_datetime(&reading) {
            MappedLocalTime::Single(instant) | MappedLocalTime::Ambiguous(instant, _) => instant,
            MappedLocalTime::None => self.after_leap(reading)?,
        };
        Some(Timestamp(valid.timestamp_millis()))
    }

    /// The first instant after the gap that contains this local time.
    fn after_leap(self, left_out: NaiveDateTime) -> Option<DateTime<Tz>> {
        let shown = |seconds| {
            let later = left_out.checked_add_signed(TimeDelta::seconds(seconds))?;
            self.0.from_local_datetime(&later).earliest()
        };
        let (mut left_out, mut valid) = (0, LONGEST_LEAP.num_seconds());
        while valid - left_out > 1 {
            let middle = left_out.midpoint(valid);
            match shown(middle) {
                Some(_) => valid = middle,
                None => left_out = middle,
            }
        }
        shown(valid)
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

impl FromStr for Zone {
    type Err = ZoneError;

    fn from_str(text: &str) -> Result<Self, ZoneError> {
        text.parse().map(Self).map_err(|_| ZoneError(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for Zone {
    type Error = ZoneError;

    fn try_from(text: String) -> Result<Self, ZoneError> {
        text.parse()
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.name().to_owned()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
