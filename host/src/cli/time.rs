//! Formats and parses times.

use std::time::Duration;

use segno_core::time::Timestamp;
use segno_env::{Clock as _, SystemClock};

use super::CliError;

/// Milliseconds since the Unix epoch.
pub(super) fn now_ms() -> i64 {
    SystemClock::default().now().0
}

/// Formats a duration in at most two units: `340 ms`, `2.5 s`, `3 m 20 s`, `2 h 5 m`, `3 d 4 h`.
pub(super) fn length(ms: i64) -> String {
    let ms = ms.max(0);
    let (seconds, minutes, hours, days) = (ms / 1000, ms / 60_000, ms / 3_600_000, ms / 86_400_000);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60_000..3_600_000 => format!("{minutes} m {} s", seconds % 60),
        3_600_000..86_400_000 => format!("{hours} h {} m", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// Formats an instant relative to now: `2.5 s ago`, `in 3 m 20 s`.
pub(super) fn relative(at_ms: i64, now_ms: i64) -> String {
    if at_ms > now_ms {
        return format!("in {}", length(at_ms.saturating_sub(now_ms)));
    }
    format!("{} ago", length(now_ms.saturating_sub(at_ms)))
}

/// An instant in UTC.
pub(super) fn instant(at_ms: i64) -> String {
    Timestamp(at_ms).in_utc_millis()
}

/// An instant in UTC, to the minute.
pub(super) fn day_and_minute(at_ms: i64) -> String {
    let instant = instant(at_ms);
    let minutes = instant.rsplit_once(':').map_or(&*instant, |(minutes, _)| minutes);
    minutes.replace('T', " ")
}

/// An instant in UTC, followed by its distance from `now`.
pub(super) fn when(at_ms: i64, now_ms: i64) -> String {
    format!("{} ({})", instant(at_ms), relative(at_ms, now_ms))
}

/// The occurrence in the id of an invocation that a schedule started, such as
/// `nightly@1794711600000`.
pub(super) fn occurrence(id: &str) -> Option<i64> {
    // Milliseconds since 1970 have 13 digits from 2001 to 2286.
    let (_, at) = id.rsplit_once('@')?;
    (at.len() == 13).then(|| at.parse().ok()).flatten()
}

/// Parses a duration like `90s`, `2h` or `1h 30m`.
pub(super) fn read_length(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write it like 90s, 2h or 1h30m"))
}

/// Parses the length of a delay or a time limit, which must end before the year 10000.
pub(super) fn read_limit(text: &str) -> Result<Duration, String> {
    let length = read_length(text)?;
    let ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    match Timestamp(now_ms()).in_time(ms) {
        Ok(_) => Ok(length),
        Err(refused) => Err(refused.to_string()),
    }
}

/// Parses an instant like `2031-02-03T04:05:06Z`, as milliseconds.
pub(super) fn read_instant(text: &str) -> Result<i64, String> {
    let instant = humantime::parse_rfc3339_weak(text)
        .map_err(|error| format!("{error}; write it in UTC, like 2031-02-03T04:05:06Z"))?;
    let since = instant.duration_since(std::time::UNIX_EPOCH).map_err(|error| error.to_string())?;
    i64::try_from(since.as_millis()).map_err(|error| error.to_string())
}

/// Parses an instant, or a length of time before now, as milliseconds.
pub(super) fn read_since(text: &str) -> Result<i64, String> {
    if let Ok(length) = read_length(text) {
        return as_ms(length)
            .ok()
            .and_then(|ms| i64::try_from(ms).ok())
            .map(|ms| now_ms().saturating_sub(ms))
            .ok_or_else(|| "this length of time is too long".to_owned());
    }
    read_instant(text)
        .map_err(|_| "write it like 2h, or in UTC like 2031-02-03T04:05:06Z".to_owned())
}

/// A duration in the API's milliseconds.
pub(super) fn as_ms(length: Duration) -> Result<u64, CliError> {
    u64::try_from(length.as_millis())
        .map_err(|_| CliError::Usage("this length of time is too long".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_two_units_at_most() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (2_540, "2.5 s"),
            (59_999, "59.9 s"),
            (200_000, "3 m 20 s"),
            (7_500_000, "2 h 5 m"),
            (273_600_000, "3 d 4 h"),
        ] {
            assert_eq!(length(ms), text);
        }
    }

    #[test]
    fn the_ids_of_schedules_are_read_as_instants() {
        let at = occurrence("nightly@1794711600000").map(instant);
        assert_eq!(at.as_deref(), Some("2026-11-15T03:00:00.000Z"));
        for id in ["nightly", "ada@example.org", "nightly@7", "nightly@179471160000x"] {
            assert_eq!(occurrence(id), None, "{id}");
        }
    }

    #[test]
    fn instants_read_what_they_write() {
        assert_eq!(
            read_instant("2031-02-03T04:05:06Z").map(instant).as_deref(),
            Ok("2031-02-03T04:05:06.000Z")
        );
        assert!(read_instant("tomorrow").is_err());
        assert_eq!(read_length("1h 30m"), Ok(Duration::from_secs(5400)));
        assert!(read_since("yesterday").expect_err("no instant").contains("like 2h"));
        assert_eq!(read_since("1970-01-01T00:00:01Z"), Ok(1_000));
        assert!((now_ms() - read_since("2h").expect("a length") - 7_200_000).abs() < 60_000);
        assert_eq!(day_and_minute(1_794_711_600_000), "2026-11-15 03:00");
        assert_eq!(read_limit("300y"), read_length("300y"));
        assert!(read_limit("9000y").expect_err("too far").contains("after the year 9999"));
    }

    #[test]
    fn any_instant_is_shown() {
        for at in [i64::MIN, -1, 253_402_300_800_000, 16_200_000_000_000_000, i64::MAX] {
            for now in [i64::MIN, 0, 1_794_711_600_000, i64::MAX] {
                assert!(!when(at, now).is_empty() && !day_and_minute(at).is_empty(), "{at}");
            }
        }
        assert_eq!(day_and_minute(253_402_300_800_000), "+10000-01-01 00:00");
        assert!(read_length("soon").expect_err("no length").contains("write it like"));
    }
}
