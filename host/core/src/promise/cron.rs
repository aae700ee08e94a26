//! When a schedule's occurrences are: a cron expression, read in UTC.
//!
//! ```text
//! [second] minute hour day-of-month month day-of-week [year]     5, 6 (with seconds) or 7 fields
//! ```

use chrono::{DateTime, Utc};
use croner::parser::CronParser;

use crate::time::Timestamp;

/// The longest expression that is read.
const LONGEST: usize = 256;

/// The fields in their order, with what each may be. Five fields begin with the minute, and only
/// seven have a year.
const FIELDS: [(&str, &str); 7] = [
    ("second", "0 to 59"),
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31"),
    ("month", "1 to 12, or JAN to DEC"),
    ("weekday", "0 to 7, or SUN to SAT"),
    ("year", "like 2031"),
];

/// A cron expression.
#[derive(Clone, Debug)]
pub struct Cron(croner::Cron);

/// Text that is not a cron expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no cron expression: {reason}; it takes five fields, minute hour day month weekday (in UTC), \
     or six with seconds before them, or seven with a year behind them"
)]
pub struct NotACron {
    text: String,
    reason: String,
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// [`NotACron`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, NotACron> {
        let refuse = |reason: String| NotACron { text: text.chars().take(80).collect(), reason };
        if text.len() > LONGEST || !text.is_ascii() {
            return Err(refuse(format!("it must be ASCII, of at most {LONGEST} characters")));
        }
        if text.trim().is_empty() {
            return Err(refuse("it is empty".to_owned()));
        }
        let parsed = CronParser::new().parse(text);
        parsed.map(Self).map_err(|_| refuse(fault(text)))
    }

    /// The first occurrence strictly after an instant; none if there is no more.
    pub fn after(&self, instant: Timestamp) -> Option<Timestamp> {
        let start: DateTime<Utc> = DateTime::from_timestamp_millis(instant.0)?;
        let found = self.0.find_next_occurrence(&start, false).ok()?;
        Some(Timestamp(found.timestamp_millis())).filter(|at| *at > instant)
    }

    /// The occurrences strictly after an instant, in order.
    pub fn all_after(&self, instant: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.after(instant), |at| self.after(*at))
    }
}

/// What is wrong with an expression. The parser does not name the field, so each is tried alone.
fn fault(text: &str) -> String {
    let given: Vec<&str> = text.split_whitespace().collect();
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
        let at = Cron::parse(text).expect(text).after(NOW)?;
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
        let daily = Cron::parse("0 0 * * *").expect("a cron");
        for instant in [i64::MIN, i64::MAX, Timestamp::NEVER.0] {
            assert_eq!(daily.after(Timestamp(instant)), None);
        }
    }

    #[test]
    fn the_next_occurrence_is_strictly_later_whatever_the_milliseconds() {
        let every = Cron::parse("* * * * * *").expect("a cron");
        for (from, to) in
            [(0, 1_000), (1, 1_000), (999, 1_000), (1_000, 2_000), (-1, 0), (-1_500, -1_000)]
        {
            assert_eq!(every.after(Timestamp(from)), Some(Timestamp(to)), "{from}");
        }
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
            ("@never", "`@never` is not one of @yearly, @monthly, @weekly, @daily and @hourly"),
            ("* * é * *", "it must be ASCII"),
            (&long, "it must be ASCII, of at most 256 characters"),
        ] {
            let refused = Cron::parse(text).expect_err(text).to_string();
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
            if let Ok(cron) = Cron::parse(&text) {
                let next = cron.after(Timestamp(from));
                prop_assert!(next.is_none_or(|at| at > Timestamp(from)));
            }
        }
    }
}
