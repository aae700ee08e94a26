//! The header `Range`.

use std::ops::Range;

/// The part of a blob that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// Everything: nothing else is asked for, or nothing that this host knows. RFC 9110 allows to
    /// ignore several ranges, and requires to ignore other units.
    Whole,
    Part(Range<u64>),
    /// The range begins after the end.
    Beyond,
}

impl RequestedRange {
    /// Reads the header for a blob of this size.
    pub(super) fn of(header: Option<&str>, bytes: u64) -> Self {
        let Some((first, last)) = header
            .and_then(|header| header.trim().strip_prefix("bytes="))
            .and_then(|range| range.trim().split_once('-'))
        else {
            return Self::Whole;
        };
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
        };
        let (from, to) = match (first.trim(), last.trim()) {
            ("", last) => match number(last) {
                None => return Self::Whole,
                Some(0) => return Self::Beyond,
                Some(count) => (bytes.saturating_sub(count), bytes),
            },
            (first, "") => match number(first) {
                None => return Self::Whole,
                Some(from) => (from, bytes),
            },
            (first, last) => match (number(first), number(last)) {
                (Some(from), Some(last)) if from <= last => {
                    (from, last.saturating_add(1).min(bytes))
                }
                _ => return Self::Whole,
            },
        };
        if from >= bytes { Self::Beyond } else { Self::Part(from..to) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        let of = |header: &str| RequestedRange::of(Some(header), 10);
        assert_eq!(RequestedRange::of(None, 10), RequestedRange::Whole);
        for (header, range) in [
            ("bytes=0-3", 0..4),
            ("bytes=4-", 4..10),
            ("bytes=9-99", 9..10),
            ("bytes=-3", 7..10),
            ("bytes=-99", 0..10),
            ("bytes=0-99999999999999999999999", 0..10),
        ] {
            assert_eq!(of(header), RequestedRange::Part(range), "{header}");
        }
        for header in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
            assert_eq!(of(header), RequestedRange::Beyond, "{header}");
        }
        for header in ["bytes=3-1", "bytes=", "bytes=-", "bytes=0-1,3-4", "lines=0-1", "bytes=a-b"]
        {
            assert_eq!(of(header), RequestedRange::Whole, "{header}");
        }
        assert_eq!(RequestedRange::of(Some("bytes=0-"), 0), RequestedRange::Beyond);
    }
}
