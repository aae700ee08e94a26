//! When an address that fails is tried again: after a pause that doubles with each failure.

use reqwest::Url;
use segno_core::time::{Millis, Timestamp};

/// The pauses of an address.
#[derive(Debug, Clone, Copy)]
pub struct Pauses {
    /// After the first failure.
    pub first: Millis,
    /// At most.
    pub longest: Millis,
}

/// What is known of an address.
#[derive(Debug, Clone, Copy, Default)]
pub struct AddressHealth {
    /// Failures since the last success.
    failures: u32,
    /// Nothing is posted before this.
    until: Timestamp,
}

/// A failure that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed {
    /// How long nothing is posted.
    pub pause: Millis,
    /// Failures since the last success; `None`: this post was under way together with one that was
    /// counted.
    pub counted: Option<u32>,
}

impl AddressHealth {
    /// How long nothing is posted yet; zero: the address may be tried.
    pub fn pause(&self, now: Timestamp) -> Millis {
        self.until.since(now).max(Millis::ZERO)
    }

    /// Counts a failure.
    pub fn failed(&mut self, now: Timestamp, pauses: Pauses) -> Failed {
        let mut counted = None;
        // Posts that were under way together count once.
        if self.until <= now {
            let doubled = pauses.first.0.saturating_mul(1 << self.failures.min(16));
            self.failures += 1;
            self.until = now + Millis(doubled.min(pauses.longest.0));
            counted = Some(self.failures);
        }
        Failed { pause: self.until.since(now), counted }
    }

    /// Forgets all failures. Answers whether there were any.
    pub fn recovered(&mut self) -> bool {
        std::mem::take(self).failures > 0
    }
}

impl Failed {
    /// Whether the failure is worth a warning: the first one is, and each tenth after it.
    pub fn is_news(&self) -> bool {
        self.counted.is_some_and(|failures| failures == 1 || failures.is_multiple_of(10))
    }
}

/// An address without what may be secret in it: its user, password and query.
pub fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// An error with its causes. reqwest's own words leave the causes out, and name the address with
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

    const PAUSES: Pauses = Pauses { first: Millis(100), longest: Millis(60_000) };

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
