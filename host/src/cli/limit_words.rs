//! Describes the limits of a function in a few words.

use segno_core::{
    limit::{
        AdmissionBounds, AdmissionRate, AdmissionRule, DebounceRule, PriorityOrder, PriorityRule,
        SingletonPolicy,
    },
    time::Millis,
};

/// Formats a rule as `at most 5 per customer.id, 10/s; in all at most 100`.
pub(super) fn limit_words(rule: &AdmissionRule) -> String {
    let AdmissionRule { key, per_key, total, priority, weights, singleton, debounce } = rule;
    let per = key.as_ref().map(|key| format!(" per {key}")).unwrap_or_default();
    let mut parts = Vec::new();
    if let Some(singleton) = singleton {
        let another = match singleton {
            SingletonPolicy::Skip => "another is skipped",
            SingletonPolicy::Replace => "another replaces it",
        };
        parts.push(format!("one{per}, {another}"));
    }
    if let Some(DebounceRule { period_ms, longest_ms }) = debounce {
        let longest = longest_ms.map(|longest| format!(", at most {}", length(longest)));
        let longest = longest.unwrap_or_default();
        parts.push(format!("debounced for {}{per}{longest}", length(*period_ms)));
    }
    // The text of the singleton implies this.
    let concurrency = per_key.concurrency.filter(|_| singleton.is_none());
    parts.extend(bounds_words(AdmissionBounds { concurrency, ..*per_key }, &per));
    parts.extend(bounds_words(*total, "").map(|total| format!("in all {total}")));
    if let Some(PriorityRule { path, order }) = priority {
        parts.push(match order {
            PriorityOrder::Strict => format!("higher {path} first"),
            PriorityOrder::Weighted => format!("more turns for higher {path}"),
        });
    }
    match weights.len() {
        0 => {}
        1 => parts.push("1 key has a weight".to_owned()),
        count => parts.push(format!("{count} keys have weights")),
    }
    parts.join("; ")
}

/// Formats bounds as `at most 5 per customer.id, 10/s`; `per` follows the first of both.
fn bounds_words(
    AdmissionBounds { concurrency, rate }: AdmissionBounds,
    per: &str,
) -> Option<String> {
    let concurrency = concurrency.map(|most| format!("at most {most}"));
    let rate = rate.map(|AdmissionRate { count, period_ms, burst }| {
        let rate = format!("{count}/{}", period(period_ms));
        if burst == count { rate } else { format!("{rate} (burst {burst})") }
    });
    match (concurrency, rate) {
        (Some(concurrency), Some(rate)) => Some(format!("{concurrency}{per}, {rate}")),
        (Some(one), None) | (None, Some(one)) => Some(format!("{one}{per}")),
        (None, None) => None,
    }
}

/// Formats the period of a rate as `s`, or as `10s` if it is more than one second.
fn period(period: Millis) -> String {
    let length = length(period);
    match length.strip_prefix('1') {
        Some(unit @ ("s" | "m" | "h" | "d")) => unit.to_owned(),
        _ => length,
    }
}

/// Formats a duration as in a declaration: `500ms`, `10s`, `1h 30m`, `7d`.
fn length(Millis(ms): Millis) -> String {
    const UNITS: [(u64, &str); 5] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let mut rest = ms.unsigned_abs();
    let mut words = Vec::new();
    for (unit, name) in UNITS {
        if rest >= unit {
            words.push(format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_said_in_a_few_words() {
        for (json, expected) in [
            (r#"{"per_key":{"concurrency":5}}"#, "at most 5"),
            (
                r#"{"key":"customer.id","per_key":{"concurrency":5,"rate":{"count":10,"period_ms":1000,"burst":10}}}"#,
                "at most 5 per customer.id, 10/s",
            ),
            (
                r#"{"key":"id","per_key":{"rate":{"count":5,"period_ms":10000,"burst":20}},"total":{"concurrency":100,"rate":{"count":1,"period_ms":86400000,"burst":1}}}"#,
                "5/10s (burst 20) per id; in all at most 100, 1/d",
            ),
            (
                r#"{"key":"id","total":{"concurrency":7},"priority":{"path":"p","order":"weighted"},"weights":{"acme":5}}"#,
                "in all at most 7; more turns for higher p; 1 key has a weight",
            ),
            (
                r#"{"key":"id","per_key":{"concurrency":1},"singleton":"skip","priority":{"path":"p"}}"#,
                "one per id, another is skipped; higher p first",
            ),
            (r#"{"singleton":"replace"}"#, "one, another replaces it"),
            (
                r#"{"key":"id","debounce":{"period_ms":5500,"longest_ms":5400000}}"#,
                "debounced for 5s 500ms per id, at most 1h 30m",
            ),
        ] {
            let rule: AdmissionRule = serde_json::from_str(json).expect("a rule");
            assert_eq!(rule.check(), Ok(()), "{json}");
            assert_eq!(limit_words(&rule), expected, "{json}");
        }
    }
}
