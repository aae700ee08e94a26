//! Attempts of handlers: when they are repeated, and how long they may be quiet.

use segno_core::time::Millis;
use segno_restate::manifest::{Handler, OnMaxAttempts, Service};

use super::Deployment;

/// Without a frame for so long, a deployment is asked to suspend.
const INACTIVITY: Millis = Millis(60_000);
/// After that, an attempt is given up when it takes so long.
const ABORT: Millis = Millis(600_000);

/// Attempts in all where a deployment says nothing.
const MOST: u64 = 70;

/// When failed attempts are repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Before the first retry.
    pub initial: Millis,
    /// The longest interval.
    pub longest: Millis,
    /// By how much each is longer than the one before.
    pub factor: f64,
    /// Attempts in all; none: no end.
    pub most: Option<u64>,
    /// Whether the invocation fails after the last one, or waits for a person.
    pub fails: bool,
}

/// How long an attempt may be quiet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the deployment is asked to suspend.
    pub inactivity: Millis,
    /// From then until the attempt is given up.
    pub abort: Millis,
}

impl Timeouts {
    /// Time limit of the beginning of the answer. Many SDKs begin it with their first command, and the timeouts cut nothing
    /// before that; so it is what a handler may take that says nothing, at least.
    pub fn until_answered(&self) -> Millis {
        (self.inactivity + self.abort).max(INACTIVITY + ABORT)
    }
}

impl RetryPolicy {
    /// Whether the attempts are bounded more narrowly than where nothing is said: each of them
    /// counts then.
    pub fn is_bounded(&self) -> bool {
        self.most.is_some_and(|most| most < MOST)
    }

    /// The wait after this many failed attempts in a row, from 1 on.
    pub fn wait(&self, failed: u32) -> Millis {
        let power =
            self.factor.max(1.0).powi(i32::try_from(failed.saturating_sub(1)).unwrap_or(i32::MAX));
        #[expect(clippy::cast_precision_loss, reason = "an interval is far below 2^52 ms")]
        let wait = (self.initial.0 as f64 * power).min(self.longest.0 as f64);
        #[expect(clippy::cast_possible_truncation, reason = "it is at most the longest interval")]
        Millis((wait as i64).max(0))
    }
}

impl Deployment {
    /// When attempts of a handler are repeated.
    pub fn retry_policy(service: &Service, handler: &Handler) -> RetryPolicy {
        let millis = |given: Option<u64>, default| {
            given.map_or(default, |ms| Millis(i64::try_from(ms).unwrap_or(i64::MAX)))
        };
        let initial =
            handler.retry_policy_initial_interval.or(service.retry_policy_initial_interval);
        let longest = handler.retry_policy_max_interval.or(service.retry_policy_max_interval);
        let factor = handler
            .retry_policy_exponentiation_factor
            .or(service.retry_policy_exponentiation_factor);
        let most = handler.retry_policy_max_attempts.or(service.retry_policy_max_attempts);
        let end = handler.retry_policy_on_max_attempts.or(service.retry_policy_on_max_attempts);
        RetryPolicy {
            initial: millis(initial, Millis(500)),
            longest: millis(longest, Millis(60_000)),
            factor: factor.unwrap_or(2.0),
            most: Some(most.unwrap_or(MOST)),
            fails: end == Some(OnMaxAttempts::Kill),
        }
    }

    /// The same of the handlers that say nothing.
    pub fn policy_of(&self, service: &Service) -> RetryPolicy {
        Self::retry_policy(service, &silent())
    }

    /// How long attempts of the handlers may be quiet that say nothing.
    pub fn timeouts_of(service: &Service) -> Timeouts {
        Self::timeouts(service, &silent())
    }

    /// How long attempts of a handler may be quiet.
    pub fn timeouts(service: &Service, handler: &Handler) -> Timeouts {
        let millis = |given: Option<u64>, default| {
            given.map_or(default, |ms| Millis(i64::try_from(ms).unwrap_or(i64::MAX)))
        };
        Timeouts {
            inactivity: millis(
                handler.inactivity_timeout.or(service.inactivity_timeout),
                INACTIVITY,
            ),
            abort: millis(handler.abort_timeout.or(service.abort_timeout), ABORT),
        }
    }
}

/// A handler that says nothing of itself.
fn silent() -> Handler {
    serde_json::from_str(r#"{"name":"handler"}"#).expect("a handler needs a name only")
}
