//! Rules of limits, as a module declares or an operator sets them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TokenBucket;
use crate::{
    time::{Millis, Timestamp},
    value::Text,
};

/// Highest priority; the lowest is 0.
pub const HIGHEST_PRIORITY: u8 = 9;
/// Maximum weight of a key.
const HEAVIEST: u32 = 1_000;
/// Maximum number of weights in a rule.
const MOST_WEIGHTS: usize = 1_000;
/// Maximum length of a path into an input, in bytes.
const LONGEST_PATH: usize = 256;
/// Maximum period of a rate or a debounce: one year (366 days).
const LONGEST_PERIOD: Millis = Millis(366 * 24 * 3_600_000);
/// Maximum number of executions in a bound; sums of such numbers cannot overflow.
const MOST: u32 = 1_000_000_000;

/// Limits of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdmissionRule {
    /// Path of the key in the input: names and indexes separated by dots, such as `customer.id` or
    /// `0.region`. `None`: all executions of the function share one key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Text>,
    /// AdmissionBounds per key.
    #[serde(skip_serializing_if = "AdmissionBounds::is_empty")]
    pub per_key: AdmissionBounds,
    /// AdmissionBounds over all keys.
    #[serde(skip_serializing_if = "AdmissionBounds::is_empty")]
    pub total: AdmissionBounds,
    /// Priority of executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<PriorityRule>,
    /// Weights by key: number of turns of a key per turn of a key of weight 1, the default.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<Text, u32>,
    /// Treatment of an execution whose key already has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub singleton: Option<SingletonPolicy>,
    /// Debounce: executions of a key wait until no other has arrived for some time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce: Option<DebounceRule>,
}

/// Bounds on concurrency and admission rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdmissionBounds {
    /// Maximum number of executions that are admitted and not settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Maximum admission rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<AdmissionRate>,
}

/// Admission rate: a token bucket, which is full at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdmissionRate {
    /// Number of admissions per period.
    pub count: u32,
    pub period_ms: Millis,
    /// Capacity of the bucket, in tokens.
    pub burst: u32,
}

/// Source of an execution's priority in the input, and its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityRule {
    /// Path of a number from 0 to [`HIGHEST_PRIORITY`]. The priority is 0 if the value is missing.
    pub path: Text,
    /// Effect of a higher priority.
    #[serde(default)]
    pub order: PriorityOrder,
}

/// Effect of a higher priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorityOrder {
    /// Goes first, as far as its key has capacity.
    #[default]
    Strict,
    /// Gets more turns: priority `n` has `n + 1` turns per turn of priority 0.
    Weighted,
}

/// Treatment of an execution whose key already has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SingletonPolicy {
    /// The new execution does not begin.
    Skip,
    /// The existing execution is cancelled, and the new one begins when it has ended.
    Replace,
}

/// Debounce: only the last of several executions of a key begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebounceRule {
    /// An execution begins when no other has arrived for this long.
    pub period_ms: Millis,
    /// Maximum delay after the first execution. `None`: no maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ms: Option<Millis>,
}

/// Capacity for another admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdmissionCapacity {
    /// Available now.
    Now,
    /// Not available before this instant.
    At(Timestamp),
    /// Not available before an admitted execution settles.
    Full,
}

/// Error: an invalid rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionRuleError {
    /// The rule limits nothing.
    #[error("the limit says nothing: give it a concurrency, a rate, a singleton or a debounce")]
    Empty,
    /// A number is zero.
    #[error("{what} of 0 would let nothing begin: use at least 1, or leave it out")]
    Zero {
        /// Name of the setting.
        what: &'static str,
    },
    /// A number is too large.
    #[error("{what} of {value} is too large: {most} is the most")]
    TooLarge {
        /// Name of the setting.
        what: &'static str,
        value: u64,
        /// Maximum value.
        most: u64,
    },
    /// The rate is finer than tokens are counted: more than one per microsecond.
    #[error("a rate of {count} in {period_ms} ms is more than one in a microsecond")]
    TooFast {
        /// Admissions per period.
        count: u32,
        /// Period in milliseconds.
        period_ms: i64,
    },
    /// A path is malformed.
    #[error(
        "`{path}` is no path into an input: write names with dots between, as `customer.id`, and at most {LONGEST_PATH} bytes"
    )]
    Path { path: String },
    /// Total bounds without a key.
    #[error(
        "there is one key, so what is in all and what is per key is the same: give the limit a key, or leave out the total"
    )]
    TotalWithoutKey,
    /// Weights without a key.
    #[error("weights are of keys, and the limit has none: give it a key")]
    WeightsWithoutKey,
    /// A singleton with a concurrency.
    #[error("a singleton has a concurrency of 1 per key: leave the concurrency out")]
    SingletonOfSeveral,
    /// A singleton with a debounce.
    #[error("a limit is a singleton or is debounced, and not both")]
    SingletonAndDebounce,
    /// The maximum delay of a debounce is shorter than its period.
    #[error("the longest debounce ({longest_ms} ms) is shorter than its period ({period_ms} ms)")]
    ShortDebounce {
        /// Period in milliseconds.
        period_ms: i64,
        /// Maximum delay in milliseconds.
        longest_ms: i64,
    },
}

impl AdmissionRule {
    /// Validates the rule.
    ///
    /// # Errors
    /// [`AdmissionRuleError`] names the defect.
    pub fn check(&self) -> Result<(), AdmissionRuleError> {
        let Self { key, per_key, total, priority, weights, singleton, debounce } = self;
        if per_key.is_empty() && total.is_empty() && singleton.is_none() && debounce.is_none() {
            return Err(AdmissionRuleError::Empty);
        }
        key.iter().try_for_each(|path| check_path(path))?;
        priority.iter().try_for_each(|priority| check_path(&priority.path))?;
        per_key.check()?;
        total.check()?;
        if key.is_none() && !total.is_empty() {
            return Err(AdmissionRuleError::TotalWithoutKey);
        }
        if key.is_none() && !weights.is_empty() {
            return Err(AdmissionRuleError::WeightsWithoutKey);
        }
        at_most("a number of weights", weights.len() as u64, MOST_WEIGHTS as u64)?;
        weights.values().try_for_each(|weight| positive("a weight", *weight, HEAVIEST))?;
        if singleton.is_some() && per_key.concurrency.is_some_and(|most| most != 1) {
            return Err(AdmissionRuleError::SingletonOfSeveral);
        }
        if singleton.is_some() && debounce.is_some() {
            return Err(AdmissionRuleError::SingletonAndDebounce);
        }
        debounce.as_ref().map_or(Ok(()), DebounceRule::check)
    }

    /// Effective bounds per key: a singleton has a concurrency of 1.
    pub fn of_key(&self) -> AdmissionBounds {
        match self.singleton {
            Some(_) => AdmissionBounds { concurrency: Some(1), ..self.per_key },
            None => self.per_key,
        }
    }

    /// Weight of this key and priority: turns per turn of weight 1.
    pub fn weight(&self, key: &str, priority: u8) -> u64 {
        let of_key = self.weights.get(key).copied().unwrap_or(1).max(1);
        let of_priority = match self.order() {
            Some(PriorityOrder::Weighted) => u64::from(priority) + 1,
            Some(PriorityOrder::Strict) | None => 1,
        };
        u64::from(of_key) * of_priority
    }

    /// Effect of a higher priority. `None` if the rule has no priority.
    pub fn order(&self) -> Option<PriorityOrder> {
        self.priority.as_ref().map(|priority| priority.order)
    }
}

impl AdmissionBounds {
    /// True if there are no bounds.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Determines if another execution may be admitted when `running` are.
    pub fn room(&self, running: u64, bucket: TokenBucket, now: Timestamp) -> AdmissionCapacity {
        if self.concurrency.is_some_and(|most| running >= u64::from(most)) {
            return AdmissionCapacity::Full;
        }
        match self.rate.map(|rate| bucket.next(rate)) {
            Some(next) if next > now => AdmissionCapacity::At(next),
            Some(_) | None => AdmissionCapacity::Now,
        }
    }

    fn check(&self) -> Result<(), AdmissionRuleError> {
        self.concurrency.map_or(Ok(()), |most| positive("a concurrency", most, MOST))?;
        self.rate.map_or(Ok(()), AdmissionRate::check)
    }
}

impl AdmissionRate {
    fn check(self) -> Result<(), AdmissionRuleError> {
        positive("a rate", self.count, MOST)?;
        positive("a burst", self.burst, MOST)?;
        period("a period", self.period_ms)?;
        let Self { count, period_ms: Millis(period_ms), .. } = self;
        if i64::from(count) > period_ms.saturating_mul(1_000) {
            return Err(AdmissionRuleError::TooFast { count, period_ms });
        }
        Ok(())
    }
}

impl DebounceRule {
    fn check(&self) -> Result<(), AdmissionRuleError> {
        period("a debounce", self.period_ms)?;
        let Some(longest) = self.longest_ms else { return Ok(()) };
        period("a longest debounce", longest)?;
        if longest < self.period_ms {
            let (period_ms, longest_ms) = (self.period_ms.0, longest.0);
            return Err(AdmissionRuleError::ShortDebounce { period_ms, longest_ms });
        }
        Ok(())
    }
}

fn positive(what: &'static str, value: u32, most: u32) -> Result<(), AdmissionRuleError> {
    if value == 0 {
        return Err(AdmissionRuleError::Zero { what });
    }
    at_most(what, value.into(), most.into())
}

fn period(what: &'static str, length: Millis) -> Result<(), AdmissionRuleError> {
    if length.0 <= 0 {
        return Err(AdmissionRuleError::Zero { what });
    }
    at_most(what, length.0.unsigned_abs(), LONGEST_PERIOD.0.unsigned_abs())
}

fn at_most(what: &'static str, value: u64, most: u64) -> Result<(), AdmissionRuleError> {
    match value <= most {
        true => Ok(()),
        false => Err(AdmissionRuleError::TooLarge { what, value, most }),
    }
}

fn check_path(path: &str) -> Result<(), AdmissionRuleError> {
    let is_step = |step: &str| !step.is_empty() && !step.contains(char::is_whitespace);
    match path.len() <= LONGEST_PATH && path.split('.').all(is_step) {
        true => Ok(()),
        false => Err(AdmissionRuleError::Path { path: path.chars().take(100).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(json: &str) -> AdmissionRule {
        serde_json::from_str(json).expect("a rule")
    }

    #[test]
    fn rules_are_stored_as_they_are_written_here_for_ever() {
        for json in [
            r#"{"per_key":{"concurrency":5}}"#,
            r#"{"key":"customer.id","per_key":{"concurrency":5,"rate":{"count":10,"period_ms":1000,"burst":20}},"total":{"rate":{"count":100,"period_ms":1000,"burst":100}},"priority":{"path":"urgency","order":"weighted"},"weights":{"acme":5}}"#,
            r#"{"key":"id","singleton":"skip"}"#,
            r#"{"key":"id","singleton":"replace"}"#,
            r#"{"key":"id","debounce":{"period_ms":5000,"longest_ms":60000}}"#,
            r#"{"key":"id","priority":{"path":"p","order":"strict"},"debounce":{"period_ms":5000}}"#,
        ] {
            let read = rule(json);
            assert_eq!(read.check(), Ok(()), "{json}");
            assert_eq!(serde_json::to_string(&read).expect("JSON"), json);
        }
    }

    #[test]
    fn a_rule_that_makes_no_sense_is_refused_by_name() {
        for (json, said) in [
            ("{}", "says nothing"),
            (r#"{"key":"a"}"#, "says nothing"),
            (r#"{"per_key":{"concurrency":0}}"#, "a concurrency of 0 would let nothing begin"),
            (r#"{"per_key":{"concurrency":1000000001}}"#, "is too large"),
            (r#"{"per_key":{"rate":{"count":0,"period_ms":1,"burst":1}}}"#, "a rate of 0"),
            (r#"{"per_key":{"rate":{"count":1,"period_ms":0,"burst":1}}}"#, "a period of 0"),
            (r#"{"per_key":{"rate":{"count":1,"period_ms":1,"burst":0}}}"#, "a burst of 0"),
            (r#"{"per_key":{"rate":{"count":1001,"period_ms":1,"burst":1}}}"#, "microsecond"),
            (r#"{"per_key":{"concurrency":1},"total":{"concurrency":1}}"#, "give the limit a key"),
            (r#"{"per_key":{"concurrency":1},"weights":{"a":2}}"#, "weights are of keys"),
            (r#"{"key":"a","per_key":{"concurrency":1},"weights":{"a":0}}"#, "a weight of 0"),
            (r#"{"key":"a..b","per_key":{"concurrency":1}}"#, "`a..b` is no path"),
            (r#"{"key":"","per_key":{"concurrency":1}}"#, "is no path"),
            (r#"{"singleton":"skip","per_key":{"concurrency":2}}"#, "a singleton has"),
            (r#"{"singleton":"skip","debounce":{"period_ms":1}}"#, "not both"),
            (r#"{"debounce":{"period_ms":0}}"#, "a debounce of 0"),
            (r#"{"debounce":{"period_ms":2,"longest_ms":1}}"#, "is shorter than"),
        ] {
            let error = rule(json).check().expect_err(json).to_string();
            assert!(error.contains(said), "{json}: {error}");
        }
    }

    #[test]
    fn weights_of_keys_and_priorities_are_multiplied_and_strict_ones_weigh_nothing() {
        let mut rule = rule(
            r#"{"key":"k","total":{"concurrency":1},"weights":{"acme":5},"priority":{"path":"p","order":"weighted"}}"#,
        );
        assert_eq!(
            (rule.weight("acme", 0), rule.weight("acme", 3), rule.weight("x", 9)),
            (5, 20, 10)
        );
        rule.priority.as_mut().expect("it has one").order = PriorityOrder::Strict;
        assert_eq!((rule.weight("acme", 3), rule.weight("x", 9)), (5, 1));
    }
}
