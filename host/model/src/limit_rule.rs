//! What is limited of a function, as the document of the API describes it. The values are those of
//! `segno_core::limit::Rule`, which has no schema.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How many executions of a function may run, and how fast they begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitRule {
    /// Where the key stands in the input: names and places with dots between. Absent: all executions
    /// of the function have one key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "customer.id", min_length = 1, max_length = 256)]
    pub key: Option<String>,
    /// The bounds of each key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_key: Option<LimitBounds>,
    /// The bounds of all keys together; only with a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<LimitBounds>,
    /// Who goes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<LimitPriority>,
    /// How many turns a key has for one of the others; 1 where nothing is said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u32>,
    /// What happens to an execution of a key that has one already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singleton: Option<LimitSingleton>,
    /// Only the last of several executions of a key begins. Not together with `singleton`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce: Option<LimitDebounce>,
}

/// How many at a time, and how many in a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitBounds {
    /// Executions that were admitted and have not settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub concurrency: Option<u32>,
    /// Admissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<LimitRate>,
}

/// Admissions in a time: a token bucket, which is full at first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitRate {
    /// How many in a period.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub count: u32,
    /// The period; 366 days at the most.
    #[schema(minimum = 1)]
    pub period_ms: i64,
    /// The most that may begin at once.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub burst: u32,
}

/// Where the priority of an execution stands in the input, and what it means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitPriority {
    /// The path of a number from 0 to 9; nothing there: 0.
    #[schema(example = "urgency", min_length = 1, max_length = 256)]
    pub path: String,
    /// What a higher one means.
    #[serde(default)]
    pub order: LimitOrder,
}

/// What a higher priority means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOrder {
    /// It goes first, as far as its key has room.
    #[default]
    Strict,
    /// It has more turns: priority `n` has `n + 1` for one of priority 0.
    Weighted,
}

/// What happens to an execution of a key that has one already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitSingleton {
    /// It does not begin.
    Skip,
    /// The other one is cancelled, and it begins when that one has ended.
    Replace,
}

/// Only the last of several executions of a key begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitDebounce {
    /// It begins when no other has come for so long.
    #[schema(minimum = 1)]
    pub period_ms: i64,
    /// And at the latest so long after the first; absent: there is no latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub longest_ms: Option<i64>,
}

#[cfg(test)]
mod tests {
    use segno_core::limit::Rule;

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
            let rule: Rule = serde_json::from_str(json).expect("a rule");
            let described: LimitRule = serde_json::from_str(json).expect("it is described");
            assert_eq!(serde_json::to_string(&rule).expect("JSON"), json);
            assert_eq!(serde_json::to_string(&described).expect("JSON"), json);
        }
    }
}
