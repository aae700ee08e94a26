//! Occurrences of a schedule: a cron expression, evaluated in the local time of a time zone.
//!
//! ```text
//! [second] minute hour day-of-month month day-of-week [year]     5, 6 (with seconds) or 7 fields
//! ```
//!
//! Each local time that the expression matches is one occurrence. A local time that occurs twice,
//! when the clock is put back, counts the first time. Local times that are skipped, when the clock
//! is put forward, are one occurrence together, at the first instant after the gap.

use chrono::{DateTime, NaiveDateTime, Utc};
use croner::parser::CronParser;

use super::Zone;
use crate::time::Timestamp;

/// Maximum length of an expression, in characters.
const LONGEST: usize = 256;

/// The fields in order, with their ranges. Expressions of five fields begin with the minute; only
/// those of seven have a year.
const FIELDS: [(&str, &str); 7] = [
    ("second", "0 to 59"),
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31"),
    ("month", "1 to 12, or JAN to DEC"),
    ("weekday", "0 to 7, or SUN to SAT"),
    ("year", "like 2031"),
];

/// A cron expression and its time zone.
#[derive(Clone, Debug)]
pub struct Cron {
    expression: croner::Cron,
    zone: Zone,
}

/// Error: a text that is not a cron expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no cron expression: {reason}; it takes five fields, minute hour day month weekday, \
     or six with seconds before them, or seven with a year behind them"
)]
pub struct CronError {
    text: String,
    reason: String,
}

impl Cron {
    /// Parses an expression for a time zone.
    ///
    /// # Errors
    /// [`CronError`] names the defect.
    pub fn parse(text: &str, zone: Zone) -> Result<Self, CronError> {
        let refuse = |reason: String| CronError { text: text.chars().take(80).collect(), reason };
        if text.len() > LONGEST || !text.is_ascii() {
            return Err(refuse(format!("it must be ASCII, of at most {LONGEST} characters")));
        }
        if text.trim().is_empty() {
            return Err(refuse("it is empty".to_owned()));
        }
        let parsed = CronParser::new().parse(text);
        parsed.map(|expression| Self { expression, zone }).map_err(|_| refuse(fault(text)))
    }

    /// The first occurrence strictly after an instant. `None` if there is none.
    pub fn after(&self, instant: Timestamp) -> Option<Timestamp> {
        let mut reading = self.zone.reading(instant)?;
        loop {
            reading = self.next_reading(reading)?;
            let at = self.zone.instant(reading)?;
            // In a repeated hour, and at the end of a gap, the occurrence may lie before the
            // instant.
            if at > instant {
                return Some(at);
            }
        }
    }

    /// The last occurrence before an instant. `None` if there is none.
    pub fn before(&self, instant: Timestamp) -> Option<Timestamp> {
        let reading = self.zone.reading(instant)?.and_utc();
        let found = self.expression.find_previous_occurrence(&reading, false).ok()?;
        self.zone.instant(found.naive_utc()).filter(|at| *at < instant)
    }

    /// The next local time that the expression matches.
    fn next_reading(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        // UTC has no repeated or skipped local times, so this evaluates the calendar alone.
        let start: DateTime<Utc> = after.and_utc();
        let found = self.expression.find_next_occurrence(&start, false).ok()?;
        Some(found.naive_utc()).filter(|reading| *reading > after)
    }

    pub fn all_after(&self, instant: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.after(instant), |at| self.after(*at))
    }
}

/// Describes the defect of an expression. The parser does not name the field, so each field is
/// parsed alone.
fn fault(text: &str) -> String {
    let given: Vec<&str> = text.split_whitespace().collect();
    let zone = given
        .first()
        .and_then(|first| first.strip_prefix("CRON_TZ=").or_else(|| first.strip_prefix("TZ=")));
    if let Some(zone) = zone {
        return format!(
            "a cron expression cannot contain a time zone: give it with `--zone {zone}` of `segno schedule create`, \
             or the field `zone` of the API"
        );
    }
    if let [name] = given.as_slice()
        && name.starts_with('@')
    {
        let known = "@yearly, @monthly, @weekly, @daily and @hourly";
        return format!("`{name}` is not one of {known}");
    }
    let fields = match given.len() {
        5 => &FIELDS[1..6],
        6 => &FIELDS[..6],
        7 => &FIELDS[..],
        1 => return "it has one field".to_owned(),
        count => return format!("it has {count} fields"),
    };
    for (place, (field, (name, range))) in given.iter().zip(fields).enumerate() {
        let mut alone = vec!["*"; given.len()];
        alone[place] = field;
        if CronParser::new().parse(&alone.join(" ")).is_err() {
            return format!("`{field}` is no {name} ({range})");
        }
    }
    "its fields do not go together".to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-11-20 22:07:53 UTC, a Friday.
    const NOW: Timestamp = Timestamp(1_795_212_473_000);

    fn next(text: &str) -> Option<String> {
        let at = Cron::parse(text, Zone::UTC).expect(text).after(NOW)?;
        Some(DateTime::from_timestamp_millis(at.0).expect("a date").to_string())
    }

    #[test]
    fn occurrences_are_those_of_the_calendar_in_utc() {
        for (text, expected) in [
            ("* * * * *", "2026-11-20 22:08:00 UTC"),
            ("*/15 * * * *", "2026-11-20 22:15:00 UTC"),
            ("0 9 * * MON-FRI", "2026-11-23 09:00:00 UTC"),
            ("0 9 * * 1", "2026-11-23 09:00:00 UTC"),
            ("0 9 * * 0", "2026-11-22 09:00:00 UTC"),
            ("0 9 * * 7", "2026-11-22 09:00:00 UTC"),
            ("0 0 1 * *", "2026-12-01 00:00:00 UTC"),
            ("0 0 31 * *", "2026-12-31 00:00:00 UTC"),
            ("0 0 29 2 *", "2028-02-29 00:00:00 UTC"),
            ("0 0 13 * FRI", "2026-11-27 00:00:00 UTC"),
            ("* * * * * *", "2026-11-20 22:07:54 UTC"),
            ("30 * * * * *", "2026-11-20 22:08:30 UTC"),
            ("0 0 12 24 12 * 2030", "2030-12-24 12:00:00 UTC"),
        ] {
            assert_eq!(next(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_never_comes_has_no_next_occurrence() {
        for text in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 12 24 12 * 2020"] {
            assert_eq!(next(text), None, "{text}");
        }
        let daily = Cron::parse("0 0 * * *", Zone::UTC).expect("a cron");
        for instant in [i64::MIN, i64::MAX, Timestamp::NEVER.0] {
            assert_eq!(daily.after(Timestamp(instant)), None);
        }
    }

    #[test]
    fn the_next_occurrence_is_strictly_later_whatever_the_milliseconds() {
        let every = Cron::parse("* * * * * *", Zone::UTC).expect("a cron");
        for (from, to) in
            [(0, 1_000), (1, 1_000), (999, 1_000), (1_000, 2_000), (-1, 0), (-1_500, -1_000)]
        {
            assert_eq!(every.after(Timestamp(from)), Some(Timestamp(to)), "{from}");
        }
    }

    /// Lines of `zone|cron|instants`, generated by `zones.py`: two years in three zones, according
    /// to Python's `zoneinfo`.
    const AS_PYTHON_HAS_THEM: &str = include_str!("zones.txt");

    #[test]
    fn occurrences_in_a_zone_are_those_of_its_clock() {
        let mut compared = 0;
        for line in AS_PYTHON_HAS_THEM.lines().filter(|line| !line.starts_with('#')) {
            let [zone, text, from, first, lengths] = line.split('|').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let number = |text: &str| text.parse::<i64>().expect("a number");
            let cron = Cron::parse(text, zone.parse().expect(zone)).expect(text);
            let mut found = cron.all_after(Timestamp(number(from) * 1_000));
            let mut expected = number(first);
            assert_eq!(found.next(), Some(Timestamp(expected * 1_000)), "{zone} {text}");
            for (length, count) in lengths.split(' ').map(|run| run.split_once('*').expect("a run"))
            {
                for _ in 0..number(count) {
                    expected += number(length);
                    let at = found.next().expect("an occurrence");
                    let shown = cron.zone.local(at);
                    assert_eq!(at, Timestamp(expected * 1_000), "{zone} {text}: {shown}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 5_000, "{compared}");
    }

    #[test]
    fn a_clock_that_is_put_forward_or_back_makes_one_occurrence() {
        let berlin: Zone = "Europe/Berlin".parse().expect("a zone");
        // 2026-03-29 02:00 to 03:00 is skipped, and 2026-10-25 02:00 to 03:00 occurs twice.
        for (text, from, expected) in [
            (
                "30 2 * * *",
                1_774_738_800_000,
                "2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00",
            ),
            (
                "*/20 2 * * *",
                1_774_738_800_000,
                "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00",
            ),
            ("0 * * * *", 1_774_742_400_000, "2026-03-29T03:00:00+02:00 2026-03-29T04:00:00+02:00"),
            (
                "30 2 * * *",
                1_792_879_200_000,
                "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00",
            ),
            ("0 * * * *", 1_792_882_800_000, "2026-10-25T02:00:00+02:00 2026-10-25T03:00:00+01:00"),
        ] {
            let cron = Cron::parse(text, berlin).expect(text);
            let found: Vec<String> =
                cron.all_after(Timestamp(from)).take(2).map(|at| berlin.local(at)).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
        // From the second 02:30 onwards.
        let every = Cron::parse("* * * * * *", berlin).expect("a cron");
        let second = Timestamp(1_792_891_800_000);
        assert_eq!(berlin.local(second), "2026-10-25T02:30:00+01:00");
        let next = every.after(second).map(|at| berlin.local(at));
        assert_eq!(next.as_deref(), Some("2026-10-25T03:00:00+01:00"));
        // A calendar day that a country skipped.
        let apia: Zone = "Pacific/Apia".parse().expect("a zone");
        let cron = Cron::parse("0 12 30 12 *", apia).expect("a cron");
        let leap = cron.after(Timestamp(1_325_000_000_000)).map(|at| apia.local(at));
        assert_eq!(leap.as_deref(), Some("2011-12-31T00:00:00+14:00"));
        assert!("Europe/Atlantis".parse::<Zone>().expect_err("none").to_string().contains("IANA"));
    }

    #[test]
    fn the_last_occurrence_before_an_instant_is_found() {
        let over = Cron::parse("0 0 12 24 12 * 2020", Zone::UTC).expect("a cron");
        let last = over.before(NOW).map(Timestamp::in_utc);
        assert_eq!(last.as_deref(), Some("2020-12-24T12:00:00Z"));
        assert_eq!(Cron::parse("0 0 30 2 *", Zone::UTC).expect("a cron").before(NOW), None);
    }

    #[test]
    fn what_is_no_cron_is_refused_by_name() {
        let long = "* ".repeat(200);
        for (text, reason) in [
            ("", "it is empty"),
            ("  ", "it is empty"),
            ("* * * *", "it has 4 fields"),
            ("* * * * * * * *", "it has 8 fields"),
            ("61 * * * *", "`61` is no minute (0 to 59)"),
            ("* 24 * * *", "`24` is no hour (0 to 23)"),
            ("0 0 32 * *", "`32` is no day of the month (1 to 31)"),
            ("0 0 * 13 *", "`13` is no month (1 to 12, or JAN to DEC)"),
            ("0 0 * * MOON", "`MOON` is no weekday (0 to 7, or SUN to SAT)"),
            ("x 0 0 * * *", "`x` is no second (0 to 59)"),
            ("0 0 0 * * * never", "`never` is no year (like 2031)"),
            ("soon", "it has one field"),
            ("CRON_TZ=Europe/Berlin 0 3 * * *", "a cron expression cannot contain a time zone"),
            (
                "TZ=UTC 0 3 * * *",
                "a cron expression cannot contain a time zone: give it with `--zone UTC`",
            ),
            ("@never", "`@never` is not one of @yearly, @monthly, @weekly, @daily and @hourly"),
            ("* * é * *", "it must be ASCII"),
            (&long, "it must be ASCII, of at most 256 characters"),
        ] {
            let refused = Cron::parse(text, Zone::UTC).expect_err(text).to_string();
            assert!(
                refused.contains(&format!("is no cron expression: {reason}"))
                    && refused.contains("minute hour day month weekday"),
                "{text}: {refused}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-0-9*/,LW#?+@A-Z ]{0,40}", from in any::<i64>()) {
            for zone in [Zone::UTC, "Europe/Berlin".parse().expect("a zone")] {
                let Ok(cron) = Cron::parse(&text, zone) else { continue };
                let next = cron.after(Timestamp(from));
                prop_assert!(next.is_none_or(|at| at > Timestamp(from)));
            }
        }

        #[test]
        fn every_instant_is_in_one_reading_of_every_clock(
            from in 1_500_000_000_i64..1_900_000_000,
            place in any::<prop::sample::Index>(),
        ) {
            let zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"];
            let zone: Zone = zones[place.index(zones.len())].parse().expect("a zone");
            let at = Timestamp(from * 1_000);
            let back = zone.instant(zone.reading(at).expect("a reading")).expect("an instant");
            // The only difference is the second pass through a repeated hour.
            prop_assert!(at == back || (at.0 - back.0 > 0 && at.0 - back.0 <= 3_600_000));
        }
    }
}
