//! The values of a limit's arguments: counts, rates, durations, paths, words.

use std::time::Duration;

use proc_macro2::Span;
use syn::{Error, Ident, LitInt, LitStr, Token, parse::ParseStream};

use crate::arguments::written_duration;

/// Maximum number of executions in a limit.
const MOST: u32 = 1_000_000_000;
/// Maximum length of a path into an input, in bytes.
const LONGEST_PATH: usize = 256;
/// Maximum period of a rate or a debounce.
const LONGEST_PERIOD: Duration = Duration::from_secs(366 * 24 * 3_600);
/// Maximum number of admissions per millisecond.
const FASTEST: u64 = 1_000;

/// A number of executions.
#[derive(Clone, Copy)]
pub(super) struct CountArgument {
    pub value: u32,
    pub span: Span,
}

#[derive(Clone, Copy)]
pub(super) struct RateArgument {
    pub count: u32,
    pub period_ms: u64,
}

/// A duration, with the name of the argument.
pub(super) struct PeriodArgument {
    pub key: Ident,
    pub millis: u64,
}

/// A keyword, as the variant that it stands for.
pub(super) struct KeywordArgument {
    pub variant: &'static str,
    pub span: Span,
}

/// Parses `= "customer.id"`.
pub(super) fn path(input: ParseStream) -> syn::Result<LitStr> {
    input.parse::<Token![=]>()?;
    let path: LitStr = input.parse()?;
    let text = path.value();
    let is_step = |step: &str| !step.is_empty() && !step.contains(char::is_whitespace);
    if text.len() > LONGEST_PATH || !text.split('.').all(is_step) {
        let message = format!(
            "`{text}` is no path into an input: write names with dots between, as `customer.id`, and at most {LONGEST_PATH} bytes"
        );
        return Err(Error::new(path.span(), message));
    }
    Ok(path)
}

/// Parses `= 5`.
pub(super) fn count(name: &Ident, input: ParseStream) -> syn::Result<CountArgument> {
    input.parse::<Token![=]>()?;
    let literal: LitInt = input.parse()?;
    let value: u64 = literal.base10_parse()?;
    let what = format!("`{name}`");
    Ok(CountArgument { value: positive(&what, value, literal.span())?, span: literal.span() })
}

fn positive(what: &str, value: u64, span: Span) -> syn::Result<u32> {
    if value == 0 {
        let message =
            format!("{what} of 0 would let nothing begin: use at least 1, or leave it out");
        return Err(Error::new(span, message));
    }
    u32::try_from(value).ok().filter(|value| *value <= MOST).ok_or_else(|| {
        Error::new(span, format!("{what} of {value} is too large: {MOST} is the most"))
    })
}

/// Parses `= "10/s"`, `= "5/10s"`.
pub(super) fn rate(input: ParseStream) -> syn::Result<RateArgument> {
    input.parse::<Token![=]>()?;
    let literal: LitStr = input.parse()?;
    let (text, span) = (literal.value(), literal.span());
    let wrong = || {
        let message = format!(
            "`{text}` is no rate: write a number, `/` and one of `s`, `m`, `h` and `d`, or a length of time, as \"10/s\" or \"5/10s\""
        );
        Error::new(span, message)
    };
    let (count, period) = text.split_once('/').ok_or_else(wrong)?;
    let (count, period) = (count.trim(), period.trim());
    if count.is_empty() || !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let count = count.parse().unwrap_or(u64::MAX);
    let count = positive("a rate", count, span)?;
    let period = match period {
        "s" | "m" | "h" | "d" => format!("1{period}"),
        length => length.to_owned(),
    };
    let period = humantime::parse_duration(&period).map_err(|_| wrong())?;
    let period_ms = millis("a period", period, span)?;
    if u64::from(count) > period_ms.saturating_mul(FASTEST) {
        let message = format!(
            "a rate of {count} in {period_ms} ms is more than one in a microsecond: use a smaller one"
        );
        return Err(Error::new(span, message));
    }
    Ok(RateArgument { count, period_ms })
}

/// Parses `= "5s"`.
pub(super) fn period(key: Ident, input: ParseStream) -> syn::Result<PeriodArgument> {
    let length = written_duration(input)?;
    let millis = millis(&format!("`{key}`"), length, key.span())?;
    Ok(PeriodArgument { key, millis })
}

fn millis(what: &str, length: Duration, span: Span) -> syn::Result<u64> {
    if length.is_zero() {
        let message = format!("{what} of 0 makes no sense: use at least 1 ms, or leave it out");
        return Err(Error::new(span, message));
    }
    if !length.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(Error::new(span, format!("{what} is a number of whole milliseconds")));
    }
    if length > LONGEST_PERIOD {
        return Err(Error::new(span, format!("{what} is too long: 366 days is the most")));
    }
    Ok(length.as_secs() * 1_000 + u64::from(length.subsec_millis()))
}

/// Parses `= "skip"`, where `words` are keywords and their variants.
pub(super) fn word(
    input: ParseStream,
    words: [(&'static str, &'static str); 2],
) -> syn::Result<KeywordArgument> {
    input.parse::<Token![=]>()?;
    let literal: LitStr = input.parse()?;
    let found = words.into_iter().find(|(word, _)| *word == literal.value());
    let Some((_, variant)) = found else {
        let [(one, _), (other, _)] = words;
        let message = format!("expected \"{one}\" or \"{other}\"");
        return Err(Error::new(literal.span(), message));
    };
    Ok(KeywordArgument { variant, span: literal.span() })
}

#[cfg(test)]
mod tests {
    use syn::parse::Parser as _;

    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_unit_or_a_length_of_time() {
        for (text, expected) in [
            ("10/s", (10, 1_000)),
            ("1/m", (1, 60_000)),
            ("2/h", (2, 3_600_000)),
            ("3/d", (3, 86_400_000)),
            ("5/10s", (5, 10_000)),
            ("5 / 1h 30m", (5, 5_400_000)),
            ("1000/1ms", (1_000, 1)),
        ] {
            let RateArgument { count, period_ms } =
                rate.parse_str(&format!("= \"{text}\"")).expect(text);
            assert_eq!((count, period_ms), expected, "{text}");
        }
    }
}
