//! What is limited, as a module declares it or an operator sets it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Bucket;
use crate::{
    time::{Millis, Timestamp},
    value::Text,
};

/// The highest priority; the lowest is 0.
pub const HIGHEST_PRIORITY: u8 = 9;
/// The largest weight of a key.
const HEAVIEST: u32 = 1_000;
/// The most weights a rule has.
const MOST_WEIGHTS: usize = 1_000;
/// The longest path into an input, in bytes.
const LONGEST_PATH: usize = 256;
/// The longest period of a rate or a debounce: a year.
const LONGEST_PERIOD: Millis = Millis(366 * 24 * 3_600_000);
/// The largest number of executions, so that sums of them fit everywhere.
const MOST: u32 = 1_000_000_000;

/// What is limited of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Where the key stands in the input: names and places with dots between, as `customer.id` or
    /// `0.region`. None: all executions of the function have one key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Text>,
    /// The bounds of each key.
    #[serde(skip_serializing_if = "Bounds::is_empty")]
    pub per_key: Bounds,
    /// The bounds of all keys together.
    #[serde(skip_serializing_if = "Bounds::is_empty")]
    pub total: Bounds,
    /// Who goes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// How many turns a key has for one of the others; 1 where nothing is said.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<Text, u32>,
    /// What happens to an execution of a key that has one already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub singleton: Option<Singleton>,
    /// Executions of a key wait until no other has come for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce: Option<Debounce>,
}

/// How many at a time, and how many in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bounds {
    /// Executions that were admitted and have not settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Admissions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// Admissions in a time: a token bucket, which is full at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// How many in a period.
    pub count: u32,
    /// The period.
    pub period_ms: Millis,
    /// The most tokens that the bucket holds.
    pub burst: u32,
}

/// Where the priority of an execution stands in the input, and what it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Priority {
    /// The path of a number from 0 to [`HIGHEST_PRIORITY`]; nothing there: 0.
    pub path: Text,
    /// What a higher one means.
    #[serde(default)]
    pub order: Order,
}

/// What a higher priority means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// It goes first, as far as its key has room.
    #[default]
    Strict,
    /// It has more turns: priority `n` has `n + 1` for one of priority 0.
    Weighted,
}

/// What happens to an execution of a key that has one already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Singleton {
    /// It does not begin.
    Skip,
    /// The other one is cancelled, and it begins when that one has ended.
    Replace,
}

/// Only the last of several executions of a key begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Debounce {
    /// It begins when no other has come for so long.
    pub period_ms: Millis,
    /// And at the latest so long after the first; none: there is no latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ms: Option<Millis>,
}

/// Whether one more may be admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// It may.
    Now,
    /// Not before this instant.
    At(Timestamp),
    /// Not before one of those that were admitted settles.
    Full,
}

/// A rule that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It limits nothing.
    #[error("the limit says nothing: give it a concurrency, a rate, a singleton or a debounce")]
    Empty,
    /// A number that is zero.
    #[error("{what} of 0 would let nothing begin: use at least 1, or leave it out")]
    Zero {
        /// Which.
        what: &'static str,
    },
    /// A number that is too large.
    #[error("{what} of {value} is too large: {most} is the most")]
    TooLarge {
        /// Which.
        what: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        most: u64,
    },
    /// More tokens than are counted.
    #[error("a rate of {count} in {period_ms} ms is more than one in a microsecond")]
    TooFast {
        /// How many.
        count: u32,
        /// In which time.
        period_ms: i64,
    },
    /// A path that leads nowhere.
    #[error(
        "`{path}` is no path into an input: write names with dots between, as `customer.id`, and at most {LONGEST_PATH} bytes"
    )]
    Path {
        /// The path.
        path: String,
    },
    /// Bounds of all keys where there is one key.
    #[error(
        "there is one key, so what is in all and what is per key is the same: give the limit a key, or leave out the total"
    )]
    TotalWithoutKey,
    /// Weights of keys where there is one key.
    #[error("weights are of keys, and the limit has none: give it a key")]
    WeightsWithoutKey,
    /// A singleton of several.
    #[error("a singleton has a concurrency of 1 per key: leave the concurrency out")]
    SingletonOfSeveral,
    /// A singleton that is debounced.
    #[error("a limit is a singleton or is debounced, and not both")]
    SingletonAndDebounce,
    /// A debounce that ends before it begins.
    #[error("the longest debounce ({longest_ms} ms) is shorter than its period ({period_ms} ms)")]
    ShortDebounce {
        /// The period.
        period_ms: i64,
        /// The longest.
        longest_ms: i64,
    },
}

impl Rule {
    /// Refuses a rule that makes no sense.
    ///
    /// # Errors
    /// [`RuleError`] says what is wrong with it.
    pub fn check(&self) -> Result<(), RuleError> {
        let Self { key, per_key, total, priority, weights, singleton, debounce } = self;
        if per_key.is_empty() && total.is_empty() && singleton.is_none() && debounce.is_none() {
            return Err(RuleError::Empty);
        }
        key.iter().try_for_each(|path| check_path(path))?;
        priority.iter().try_for_each(|priority| check_path(&priority.path))?;
        per_key.check()?;
        total.check()?;
        if key.is_none() && !total.is_empty() {
            return Err(RuleError::TotalWithoutKey);
        }
        if key.is_none() && !weights.is_empty() {
            return Err(RuleError::WeightsWithoutKey);
        }
        at_most("a number of weights", weights.len() as u64, MOST_WEIGHTS as u64)?;
        weights.values().try_for_each(|weight| positive("a weight", *weight, HEAVIEST))?;
        if singleton.is_some() && per_key.concurrency.is_some_and(|most| most != 1) {
            return Err(RuleError::SingletonOfSeveral);
        }
        if singleton.is_some() && debounce.is_some() {
            return Err(RuleError::SingletonAndDebounce);
        }
        debounce.as_ref().map_or(Ok(()), Debounce::check)
    }

    /// The bounds of each key: of a singleton one at a time.
    pub fn of_key(&self) -> Bounds {
        match self.singleton {
            Some(_) => Bounds { concurrency: Some(1), ..self.per_key },
            None => self.per_key,
        }
    }

    /// How many turns those of this key and priority have for one of the others.
    pub fn weight(&self, key: &str, priority: u8) -> u64 {
        let of_key = self.weights.get(key).copied().unwrap_or(1).max(1);
        let of_priority = match self.order() {
            Some(Order::Weighted) => u64::from(priority) + 1,
            Some(Order::Strict) | None => 1,
        };
        u64::from(of_key) * of_priority
    }

    /// What a higher priority means, if there are any.
    pub fn order(&self) -> Option<Order> {
        self.priority.as_ref().map(|priority| priority.order)
    }
}

impl Bounds {
    /// Whether nothing is bounded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether one more may be admitted beside `running` others.
    pub fn room(&self, running: u64, bucket: Bucket, now: Timestamp) -> Room {
        if self.concurrency.is_some_and(|most| running >= u64::from(most)) {
            return Room::Full;
        }
        match self.rate.map(|rate| bucket.next(rate)) {
            Some(next) if next > now => Room::At(next),
            Some(_) | None => Room::Now,
        }
    }

    fn check(&self) -> Result<(), RuleError> {
        self.concurrency.map_or(Ok(()), |most| positive("a concurrency", most, MOST))?;
        self.rate.map_or(Ok(()), Rate::check)
    }
}

impl Rate {
    fn check(self) -> Result<(), RuleError> {
        positive("a rate", self.count, MOST)?;
        positive("a burst", self.burst, MOST)?;
        period("a period", self.period_ms)?;
        let Self { count, period_ms: Millis(period_ms), .. } = self;
        if i64::from(count) > period_ms.saturating_mul(1_000) {
            return Err(RuleError::TooFast { count, period_ms });
        }
        Ok(())
    }
}

impl Debounce {
    fn check(&self) -> Result<(), RuleError> {
        period("a debounce", self.period_ms)?;
        let Some(longest) = self.longest_ms else { return Ok(()) };
        period("a longest debounce", longest)?;
        if longest < self.period_ms {
            let (period_ms, longest_ms) = (self.period_ms.0, longest.0);
            return Err(RuleError::ShortDebounce { period_ms, longest_ms });
        }
        Ok(())
    }
}

fn positive(what: &'static str, value: u32, most: u32) -> Result<(), RuleError> {
    if value == 0 {
        return Err(RuleError::Zero { what });
    }
    at_most(what, value.into(), most.into())
}

fn period(what: &'static str, length: Millis) -> Result<(), RuleError> {
    if length.0 <= 0 {
        return Err(RuleError::Zero { what });
    }
    at_most(what, length.0.unsigned_abs(), LONGEST_PERIOD.0.unsigned_abs())
}

fn at_most(what: &'static str, value: u64, most: u64) -> Result<(), RuleError> {
    match value <= most {
        true => Ok(()),
        false => Err(RuleError::TooLarge { what, value, most }),
    }
}

fn check_path(path: &str) -> Result<(), RuleError> {
    let is_step = |step: &str| !step.is_empty() && !step.contains(char::is_whitespace);
    match path.len() <= LONGEST_PATH && path.split('.').all(is_step) {
        true => Ok(()),
        false => Err(RuleError::Path { path: path.chars().take(100).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(json: &str) -> Rule {
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
        rule.priority.as_mut().expect("it has one").order = Order::Strict;
        assert_eq!((rule.weight("acme", 3), rule.weight("x", 9)), (5, 1));
    }
}
