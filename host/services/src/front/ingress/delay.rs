//! The delay of a call: in ISO 8601 (`PT1M30S`) or in informal notation (`90s`, `1 min 30 s`).

use segno_core::time::Millis;

use crate::front::request::parameter;

/// Returns true if a query has a delay.
pub(super) fn is_named(query: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some("delay"))
}

/// Returns the delay in the query of a request; `None` if there is none.
///
/// # Errors
/// The text is not a duration.
pub(super) fn of_query(query: &str) -> Result<Option<Millis>, String> {
    let Some(given) = parameter(query, "delay") else { return Ok(None) };
    let text = given.replace('+', " ").replace("%20", " ").replace("%3A", ":");
    parse(text.trim())
        .map(Some)
        .ok_or_else(|| format!("`{text}` is no delay: write it as PT1M30S, 90s or 60000ms"))
}

/// Parses a duration in either form.
pub(crate) fn parse(text: &str) -> Option<Millis> {
    if let Some(iso) = text.strip_prefix(['P', 'p']) {
        return iso8601(iso);
    }
    // `60 sec` as well as `60sec`.
    let duration = humantime::parse_duration(text).ok()?;
    i64::try_from(duration.as_millis()).ok().map(Millis)
}

/// Parses the part after the `P`: days, hours, minutes and seconds. Months and years have no fixed
/// length.
fn iso8601(text: &str) -> Option<Millis> {
    let (days, time) = text.split_once(['T', 't']).unwrap_or((text, ""));
    if days.is_empty() && time.is_empty() {
        return None;
    }
    let mut millis = 0.0;
    for (part, units) in [
        (days, &[('W', 604_800.0), ('D', 86_400.0)][..]),
        (time, &[('H', 3_600.0), ('M', 60.0), ('S', 1.0)][..]),
    ] {
        let mut rest = part;
        while !rest.is_empty() {
            let at = rest.find(|c: char| c.is_ascii_alphabetic())?;
            let number: f64 = rest[..at].replace(',', ".").parse().ok()?;
            let unit = rest[at..].chars().next()?.to_ascii_uppercase();
            let (_, seconds) = units.iter().find(|(known, _)| *known == unit)?;
            millis += number * seconds * 1_000.0;
            rest = &rest[at + 1..];
        }
    }
    let fits = millis.is_finite() && (0.0..9e15).contains(&millis);
    #[expect(clippy::cast_possible_truncation, reason = "it was looked at")]
    fits.then_some(Millis(millis as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_in_both_forms() {
        for (query, ms) in [
            ("delay=PT60S", 60_000),
            ("delay=PT1M30.5S", 90_500),
            ("delay=P1DT1H", 90_000_000),
            ("delay=1s", 1_000),
            ("x=1&delay=60000ms", 60_000),
            ("delay=60+sec", 60_000),
            ("delay=1m%2030s", 90_000),
        ] {
            assert_eq!(of_query(query), Ok(Some(Millis(ms))), "{query}");
        }
        assert_eq!(of_query("x=1"), Ok(None));
        for query in ["delay=", "delay=soon", "delay=P", "delay=PT", "delay=P1M", "delay=PT-1S"] {
            let refused = of_query(query).expect_err(query);
            assert!(refused.contains("is no delay"), "{refused}");
        }
    }
}
