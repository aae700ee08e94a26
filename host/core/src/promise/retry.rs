//! Back-off and retry of failed attempts. Jitter comes from hashes, so the same failure always
//! results in the same wait.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    id::{PromiseId, Version},
    time::Millis,
};

/// Wait before attempt `n + 1` (n from 1): `base * factor^(n-1)`, at most `cap`, plus a jitter of
/// up to a tenth that depends on the task and its version.
pub fn backoff(
    (base, factor, cap): (Millis, u32, Millis),
    n: u32,
    id: &PromiseId,
    version: Version,
) -> Millis {
    let grown = (1..n).try_fold(base.0, |wait, _| match wait.saturating_mul(i64::from(factor)) {
        next if next >= cap.0 => Err(cap.0),
        next => Ok(next),
    });
    let wait = grown.unwrap_or_else(|capped| capped).min(cap.0);
    Millis(wait.saturating_add((wait as f64 / 10.0 * fraction(id, version.0)) as i64))
}

/// Retry policy of a call. Transferred as JSON in the header [`crate::tags::RETRY_HEADER`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryPolicy {
    /// Wait after the first failure, in milliseconds.
    pub initial_ms: u64,
    /// Factor between successive waits.
    #[serde(deserialize_with = "number")]
    pub factor: f64,
    /// Maximum wait, in milliseconds.
    pub max_ms: u64,
    /// Fraction of the wait, 0 to 1, that is randomised.
    #[serde(deserialize_with = "number")]
    pub jitter: f64,
    /// Maximum number of attempts, including the first. `None`: no limit.
    pub max_attempts: Option<u32>,
    /// Additional failure codes that are never retried.
    pub non_retryable: Vec<u32>,
}

/// Older hosts accepted numbers that are not finite, and wrote them as `null`.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}

/// Decision after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// Try again after this wait.
    After(Millis),
    /// Do not retry: the failure is the outcome.
    GiveUp,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            initial_ms: 500,
            factor: 2.0,
            max_ms: 60_000,
            jitter: 0.2,
            max_attempts: None,
            non_retryable: Vec::new(),
        }
    }
}

impl RetryPolicy {
    /// Decides after attempt number `attempt` (from 1) of promise `id` failed with `code`.
    pub fn decide(&self, attempt: u32, code: u32, id: &PromiseId) -> RetryDecision {
        let exhausted = self.max_attempts.is_some_and(|limit| attempt >= limit);
        if exhausted || is_final(code) || self.non_retryable.contains(&code) {
            return RetryDecision::GiveUp;
        }
        let longest = self.max_ms as f64;
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let grown = self.initial_ms as f64 * self.factor.max(1.0).powi(exponent);
        let wait = if grown.is_finite() { grown.min(longest) } else { longest };
        let drawn = self.jitter.clamp(0.0, 1.0) * fraction(id, u64::from(attempt));
        RetryDecision::After(Millis((wait * (1.0 - drawn)) as i64))
    }
}

/// True if a failure with this code is permanent: the 4xx codes, except those that ask the client
/// to retry.
fn is_final(code: u32) -> bool {
    (400..=499).contains(&code) && !matches!(code, 408 | 425 | 429)
}

/// A pseudo-random number in 0..1 that depends only on the arguments (FNV-1a, then a finalising
/// mix).
fn fraction(id: &PromiseId, salt: u64) -> f64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in id.as_str().bytes().chain(salt.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((hash ^ (hash >> 29)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_grows_to_its_cap_and_repeats_itself() {
        let id = PromiseId::from("a");
        let wait = |n| backoff((Millis(100), 2, Millis(1_000)), n, &id, Version(1)).0;
        for (n, least) in
            [(0, 100), (1, 100), (2, 200), (3, 400), (4, 800), (5, 1_000), (u32::MAX, 1_000)]
        {
            assert!((least..=least + least / 10).contains(&wait(n)), "{n}: {}", wait(n));
            assert_eq!(wait(n), wait(n));
        }
    }

    #[test]
    fn a_policy_that_an_older_host_wrote_with_null_keeps_its_other_options() {
        let written = r#"{"factor":null,"jitter":null,"max_attempts":3}"#;
        let policy: RetryPolicy = serde_json::from_str(written).expect("a policy");
        let decide = |attempt| policy.decide(attempt, 500, &PromiseId::from("a"));
        assert_eq!(decide(3), RetryDecision::GiveUp);
        assert!(matches!(decide(2), RetryDecision::After(wait) if wait.0 <= 60_000));
    }

    #[test]
    fn a_policy_repeats_until_it_gives_up() {
        let id = PromiseId::from("a");
        let policy = RetryPolicy {
            initial_ms: 10,
            factor: 3.0,
            max_ms: 50,
            jitter: 0.0,
            max_attempts: Some(5),
            non_retryable: vec![503],
        };
        let after = |ms| RetryDecision::After(Millis(ms));
        for (attempt, code, expected) in [
            (1, 500, after(10)),
            (2, 500, after(30)),
            (3, 429, after(50)),
            (4, 408, after(50)),
            (5, 500, RetryDecision::GiveUp),
            (1, 404, RetryDecision::GiveUp),
            (1, 503, RetryDecision::GiveUp),
        ] {
            assert_eq!(
                policy.decide(attempt, code, &id),
                expected,
                "attempt {attempt}, code {code}"
            );
        }
    }

    #[test]
    fn jitter_only_shortens_and_absurd_policies_are_harmless() {
        let id = PromiseId::from("a");
        let policy = RetryPolicy { initial_ms: 1_000, jitter: 0.5, ..RetryPolicy::default() };
        for attempt in 1..20 {
            let RetryDecision::After(wait) = policy.decide(attempt, 500, &id) else {
                panic!("no limit was set")
            };
            assert!((500..=60_000).contains(&wait.0), "{wait}");
        }
        let absurd =
            RetryPolicy { factor: f64::INFINITY, jitter: f64::NAN, ..RetryPolicy::default() };
        assert!(matches!(absurd.decide(u32::MAX, 500, &id), RetryDecision::After(_)));
    }
}
