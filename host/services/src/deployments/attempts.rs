//! The retry policies and inactivity timeouts of handlers.

use segno_core::time::Millis;
use segno_restate::manifest::{ManifestHandler, OnMaxAttempts, Service};

use super::{Deployment, retention::millis};

/// The default time without a frame after which a deployment is asked to suspend.
const INACTIVITY: Millis = Millis(60_000);
/// The default time after that request until the attempt is aborted.
const ABORT: Millis = Millis(600_000);

/// The default maximum number of attempts.
const MOST: u64 = 70;

/// The retry policy of a handler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HandlerRetryPolicy {
    /// The interval before the first retry.
    pub initial: Millis,
    /// The longest interval.
    pub longest: Millis,
    /// The factor by which the interval grows with each retry.
    pub factor: f64,
    /// Maximum number of attempts. `None`: unlimited.
    pub most: Option<u64>,
    /// True if the invocation fails after the last attempt, false if it pauses for an operator.
    pub fails: bool,
}

/// The inactivity timeouts of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The time without a frame until the deployment is asked to suspend.
    pub inactivity: Millis,
    /// The time from that request until the attempt is aborted.
    pub abort: Millis,
}

impl Timeouts {
    /// The time limit for the beginning of the response. Many SDKs start their response with their
    /// first command, and the timeouts cannot cut in before that. Therefore it is at least the
    /// default total of a handler without settings.
    pub fn until_answered(&self) -> Millis {
        (self.inactivity + self.abort).max(INACTIVITY + ABORT)
    }
}

impl HandlerRetryPolicy {
    /// True if the maximum number of attempts is below the default. Each attempt is then stored
    /// before it begins.
    pub fn is_bounded(&self) -> bool {
        self.most.is_some_and(|most| most < MOST)
    }

    /// The wait after this number of consecutive failed attempts, from 1 on.
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
    /// The retry policy of a handler.
    pub fn retry_policy(service: &Service, handler: &ManifestHandler) -> HandlerRetryPolicy {
        let initial =
            handler.retry_policy_initial_interval.or(service.retry_policy_initial_interval);
        let longest = handler.retry_policy_max_interval.or(service.retry_policy_max_interval);
        let factor = handler
            .retry_policy_exponentiation_factor
            .or(service.retry_policy_exponentiation_factor);
        let most = handler.retry_policy_max_attempts.or(service.retry_policy_max_attempts);
        let end = handler.retry_policy_on_max_attempts.or(service.retry_policy_on_max_attempts);
        HandlerRetryPolicy {
            initial: millis(initial).unwrap_or(Millis(500)),
            longest: millis(longest).unwrap_or(Millis(60_000)),
            factor: factor.unwrap_or(2.0),
            most: Some(most.unwrap_or(MOST)),
            fails: end == Some(OnMaxAttempts::Kill),
        }
    }

    /// The retry policy of handlers without settings of their own.
    pub fn policy_of(&self, service: &Service) -> HandlerRetryPolicy {
        Self::retry_policy(service, &silent())
    }

    /// The timeouts of handlers without settings of their own.
    pub fn timeouts_of(service: &Service) -> Timeouts {
        Self::timeouts(service, &silent())
    }

    /// The timeouts of a handler.
    pub fn timeouts(service: &Service, handler: &ManifestHandler) -> Timeouts {
        Timeouts {
            inactivity: millis(handler.inactivity_timeout.or(service.inactivity_timeout))
                .unwrap_or(INACTIVITY),
            abort: millis(handler.abort_timeout.or(service.abort_timeout)).unwrap_or(ABORT),
        }
    }
}

/// A handler without settings.
fn silent() -> ManifestHandler {
    serde_json::from_str(r#"{"name":"handler"}"#).expect("a handler needs a name only")
}
