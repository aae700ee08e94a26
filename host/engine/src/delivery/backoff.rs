//! The back-off of failing addresses: a pause that doubles with each failure.

use reqwest::Url;
use segno_core::time::{Millis, Timestamp};

/// The back-off settings of an address.
#[derive(Debug, Clone, Copy)]
pub struct BackoffSettings {
    /// The pause after the first failure.
    pub first: Millis,
    /// The longest pause.
    pub longest: Millis,
}

/// The failure state of an address.
#[derive(Debug, Clone, Copy, Default)]
pub struct AddressHealth {
    /// Failures since the last success.
    failures: u32,
    /// Nothing is posted before this instant.
    until: Timestamp,
}

/// A recorded failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedFailure {
    /// The remaining time without posts.
    pub pause: Millis,
    /// Failures since the last success. `None` if this post ran concurrently with a failure that
    /// was already counted.
    pub counted: Option<u32>,
}

impl AddressHealth {
    /// The remaining back-off. Zero if the address may be tried.
    pub fn pause(&self, now: Timestamp) -> Millis {
        self.until.since(now).max(Millis::ZERO)
    }

    /// Counts a failure.
    pub fn failed(&mut self, now: Timestamp, pauses: BackoffSettings) -> RecordedFailure {
        let mut counted = None;
        // Concurrent posts that fail together count once.
        if self.until <= now {
            let doubled = pauses.first.0.saturating_mul(1 << self.failures.min(16));
            self.failures += 1;
            self.until = now + Millis(doubled.min(pauses.longest.0));
            counted = Some(self.failures);
        }
        RecordedFailure { pause: self.until.since(now), counted }
    }

    /// Resets the failures. Returns true if there were any.
    pub fn recovered(&mut self) -> bool {
        std::mem::take(self).failures > 0
    }
}

impl RecordedFailure {
    /// True if the failure deserves a warning: the first one does, and every tenth.
    pub fn is_news(&self) -> bool {
        self.counted.is_some_and(|failures| failures == 1 || failures.is_multiple_of(10))
    }
}

/// An address without its possible secrets: user, password and query.
pub fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// An error with its causes. The message of reqwest omits the causes and includes the address with
/// its secrets.
pub fn causes(error: &reqwest::Error) -> String {
    let mut text = if error.is_connect() { "it cannot be reached" } else { "no answer" }.to_owned();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSES: BackoffSettings = BackoffSettings { first: Millis(100), longest: Millis(60_000) };

    #[test]
    fn an_address_that_fails_is_left_alone_for_longer_and_longer() {
        let (mut health, mut now) = (AddressHealth::default(), Timestamp(0));
        for (expected, count) in [100, 200, 400, 800, 1_600].into_iter().zip(1..) {
            assert_eq!(health.pause(now), Millis::ZERO);
            let failed = health.failed(now, PAUSES);
            assert_eq!((failed.pause, failed.counted), (Millis(expected), Some(count)));
            assert_eq!(failed.is_news(), count == 1);
            now = now + failed.pause;
            let together = health.failed(now - Millis(1), PAUSES);
            assert_eq!((together.pause, together.counted), (Millis(1), None));
        }
        for _ in 0..80 {
            now = now + health.failed(now, PAUSES).pause;
        }
        assert_eq!(health.failed(now, PAUSES).pause, PAUSES.longest);
        assert!(health.recovered() && !health.recovered());
        assert_eq!(health.pause(now), Millis::ZERO);
        assert_eq!(health.failed(now, PAUSES).pause, PAUSES.first);
    }

    #[test]
    fn what_may_be_secret_in_an_address_is_not_shown() {
        let url = Url::parse("https://user:pass@h:8/hook?token=t").expect("an address");
        assert_eq!(shown(&url), "https://h:8/hook");
    }
}
