//! Retry policies.

use std::time::Duration;

use crate::{bindings::segno::workflow::types as wit, time::millis};

/// The schedule of retries of an activity or HTTP request after a retryable error. Set it on one
/// call with [`Call::retry`](crate::Call::retry), or as the default of an activity with
/// `#[segno::activity(retry(…))]`. If neither is set, the host doubles a delay of 500 ms up to 60
/// s, without a limit on attempts.
///
/// ```
/// # extern crate segno_sdk as segno;
/// use std::time::Duration;
///
/// let policy = segno::RetryPolicy::exponential()
///     .initial(Duration::from_millis(200))
///     .factor(2.0)
///     .max(Duration::from_secs(30))
///     .jitter(0.1)
///     .max_attempts(8)
///     .non_retryable([503]);
/// # let _ = policy;
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy(wit::RetryOptions);

impl RetryPolicy {
    /// Delays that double from 100 ms to one minute, with a jitter of one fifth and without a limit
    /// on attempts.
    pub fn exponential() -> Self {
        Self(wit::RetryOptions {
            initial_ms: 100,
            factor: 2.0,
            max_ms: 60_000,
            jitter: 0.2,
            max_attempts: None,
            non_retryable: Vec::new(),
        })
    }

    /// One attempt only.
    pub fn never() -> Self {
        Self::exponential().max_attempts(1)
    }

    /// Sets the delay after the first failed attempt; it never exceeds [`max`](Self::max).
    #[must_use]
    pub fn initial(mut self, wait: Duration) -> Self {
        self.0.initial_ms = millis(wait);
        self
    }

    /// Sets the factor between consecutive delays; values below 1 count as 1. The host refuses one
    /// that is not finite.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> Self {
        self.0.factor = if factor < 1.0 { 1.0 } else { factor };
        self
    }

    /// Sets the maximum delay.
    #[must_use]
    pub fn max(mut self, wait: Duration) -> Self {
        self.0.max_ms = millis(wait);
        self
    }

    /// Sets the random fraction of each delay, 0 to 1, so that many failures are not retried at the
    /// same time.
    #[must_use]
    pub fn jitter(mut self, fraction: f64) -> Self {
        self.0.jitter = fraction.clamp(0.0, 1.0);
        self
    }

    /// Sets the maximum number of attempts, including the first; at least one.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.0.max_attempts = Some(attempts.max(1));
        self
    }

    /// Adds codes that are final, in addition to those that always are (see
    /// [`Error`](crate::Error)).
    #[must_use]
    pub fn non_retryable(mut self, codes: impl IntoIterator<Item = u32>) -> Self {
        self.0.non_retryable.extend(codes);
        self
    }

    pub(crate) fn into_options(self) -> wit::RetryOptions {
        self.0
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::exponential()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_brought_into_it() {
        let options =
            RetryPolicy::exponential().factor(0.5).jitter(7.0).max_attempts(0).into_options();
        assert_eq!((options.factor, options.jitter, options.max_attempts), (1.0, 1.0, Some(1)));
        let options = RetryPolicy::exponential().factor(f64::INFINITY).into_options();
        assert_eq!(options.factor, f64::INFINITY, "the host says that it is wrong");
        let options = RetryPolicy::exponential().factor(f64::NAN).jitter(f64::NAN).into_options();
        assert!(options.factor.is_nan() && options.jitter.is_nan());
    }
}
