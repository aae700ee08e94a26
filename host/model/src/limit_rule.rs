//! Schema of a function's limit in the OpenAPI document. The values are those of
//! `segno_core::limit::Rule`, which has no schema.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Bounds on the concurrency and the start rate of a function's executions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitRule {
    /// Path of the key in the input: field names and array indexes separated by dots. Absent: all
    /// executions of the function share one key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "customer.id", min_length = 1, max_length = 256)]
    pub key: Option<String>,
    /// The bounds of each key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_key: Option<LimitBounds>,
    /// The bounds of all keys together; only with a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<LimitBounds>,
    /// Order of waiting executions by priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<LimitPriority>,
    /// Relative shares of keys: a key with weight n gets n turns for each turn of a key with weight
    /// 1 (the default).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u32>,
    /// Handling of an execution whose key already has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singleton: Option<LimitSingleton>,
    /// Debouncing: only the last of several executions of a key begins. Not together with
    /// `singleton`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce: Option<LimitDebounce>,
}

/// Bounds on concurrency and rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitBounds {
    /// Maximum number of executions that were admitted and have not settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub concurrency: Option<u32>,
    /// Maximum rate of admissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<LimitRate>,
}

/// A rate of admissions: a token bucket that is full at first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitRate {
    /// Number of tokens added in each period.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub count: u32,
    /// The period in milliseconds, at most 366 days.
    #[schema(minimum = 1)]
    pub period_ms: i64,
    /// Capacity of the bucket: the maximum number of executions that begin in one go.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub burst: u32,
}

/// Location of the priority in the input, and its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitPriority {
    /// Path of an integer from 0 to 9 in the input; 0 if absent there.
    #[schema(example = "urgency", min_length = 1, max_length = 256)]
    pub path: String,
    /// Meaning of a higher priority.
    #[serde(default)]
    pub order: LimitOrder,
}

/// Meaning of a higher priority.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOrder {
    /// Higher priorities go first, as far as their keys have room.
    #[default]
    Strict,
    /// Higher priorities get more turns: priority `n` gets `n + 1` turns for each turn of priority
    /// 0.
    Weighted,
}

/// Handling of an execution whose key already has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitSingleton {
    /// The new execution does not begin.
    Skip,
    /// The other execution is cancelled; the new one begins when it has ended.
    Replace,
}

/// Debouncing: only the last of several executions of a key begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitDebounce {
    /// Quiet time in milliseconds: the execution begins when no other has arrived for this long.
    #[schema(minimum = 1)]
    pub period_ms: i64,
    /// Maximum delay after the first execution, in milliseconds. Absent: no maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub longest_ms: Option<i64>,
}

#[cfg(test)]
mod tests {
    use segno_core::limit::AdmissionRule;

    use super::*;

    #[test]
    fn the_document_describes_the_rules_as_they_are() {
        for json in [
            r#"{"per_key":{"concurrency":5}}"#,
            r#"{"key":"customer.id","per_key":{"concurrency":5,"rate":{"count":10,"period_ms":1000,"burst":20}},"total":{"rate":{"count":100,"period_ms":1000,"burst":100}},"priority":{"path":"urgency","order":"weighted"},"weights":{"acme":5}}"#,
            r#"{"key":"id","priority":{"path":"p","order":"strict"},"singleton":"skip"}"#,
            r#"{"key":"id","singleton":"replace"}"#,
            r#"{"key":"id","debounce":{"period_ms":5000,"longest_ms":60000}}"#,
        ] {
            let rule: AdmissionRule = serde_json::from_str(json).expect("a rule");
            let described: LimitRule = serde_json::from_str(json).expect("it is described");
            assert_eq!(serde_json::to_string(&rule).expect("JSON"), json);
            assert_eq!(serde_json::to_string(&described).expect("JSON"), json);
        }
    }
}
