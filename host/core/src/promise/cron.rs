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
        parsed.map(Self).map_err(|error| refuse(error.to_string()))
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
        for text in [
            "",
            "  ",
            "* * * *",
            "* * * * * * * *",
            "61 * * * *",
            "soon",
            "@never",
            "* * é * *",
            &long,
        ] {
            let refused = Cron::parse(text).expect_err(text).to_string();
            assert!(refused.contains("is no cron expression: "), "{refused}");
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
