//! Limits of functions: rules and their sources, admitted and waiting executions.

use std::collections::BTreeMap;

use segno_core::limit::AdmissionRule;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{InvocationState, LimitRule, flat::flattened, whole};

/// Parameters of listing limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LimitListQuery {
    /// True to list what the databases that answer have, if the store has several and one is away.
    /// The page then names those that are `missing`. Without it such a list is refused with 503.
    pub partial: Option<bool>,
    /// The `next` of the previous page.
    pub after: Option<String>,
    /// Maximum number of items (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// Parameters of listing the keys of a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LimitQuery {
    /// The `next` of the previous page.
    pub after: Option<String>,
    /// Maximum number of items (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// Source of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitSource {
    /// Set by an operator. It takes precedence over the module's rule.
    Operator,
    /// Declared by the module.
    Module,
}

/// A limit, with the counts of all its keys together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitItem {
    /// The limited function: `MODULE/FUNCTION`.
    #[schema(example = "shop/order")]
    pub limit: String,
    /// The effective rule; absent if the function is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<LimitRule>)]
    pub rule: Option<AdmissionRule>,
    /// Source of the effective rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<LimitSource>,
    /// The rule that the module declares, if an operator's rule overrides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<LimitRule>)]
    pub declared: Option<AdmissionRule>,
    /// Number of executions that were admitted and have not settled.
    pub running: u64,
    /// Number of executions that wait to be admitted.
    pub waiting: u64,
    /// With a rate for all keys together: the number of executions that may begin immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// When the next token becomes available, if there is none now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_token_at_ms: Option<i64>,
}

/// A page of limits, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitList {
    /// Limits that modules declare or operators set, and limits that still count executions.
    pub items: Vec<LimitItem>,
    /// Addresses of the databases that do not answer, whose rows are left out (`partial`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The `after` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A limit with a page of its keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct LimitView {
    /// The limit itself.
    #[serde(flatten)]
    pub limit: LimitItem,
    /// Keys with admitted or waiting executions or with missing tokens, in order.
    pub keys: Vec<LimitKey>,
    /// The `after` of the next page of keys; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A key of a limit. An unlisted key has no executions and all of its tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitKey {
    /// The key; empty if the limit has no key.
    pub key: String,
    /// Number of executions that were admitted and have not settled.
    pub running: u64,
    /// Number of executions that wait to be admitted.
    pub waiting: u64,
    /// `waiting` by priority, if executions of several priorities wait.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub priorities: BTreeMap<String, u64>,
    /// With a rate for each key: the number of executions that may begin immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// When the next token becomes available, if there is none now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_token_at_ms: Option<i64>,
    /// Earliest begin of an execution of this key, because of `debounce`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounced_until_ms: Option<i64>,
    /// Admitted executions that have not settled: halted ones first, then in the order of admission
    /// (at most 10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<LimitHolder>,
}

flattened!(LimitView, limit, keys, next);
flattened!(LimitChanged, limit, before);

/// The body of `PUT /v1/limits/{module}/{function}`: the whole rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SetLimit(pub AdmissionRule);

impl<'de> Deserialize<'de> for SetLimit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut rule = Value::deserialize(from)?;
        whole::numbers(&mut rule);
        // Parses text, so that an error names the number.
        serde_json::from_str(&rule.to_string()).map(Self).map_err(de::Error::custom)
    }
}

/// The answer to setting a limit, or to resetting it to the module's declaration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct LimitChanged {
    /// The limit after the change.
    #[serde(flatten)]
    pub limit: LimitItem,
    /// The limit before the change.
    pub before: LimitBefore,
}

/// A limit before a change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitBefore {
    /// The rule; absent if the function was not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<LimitRule>)]
    pub rule: Option<AdmissionRule>,
    /// Source of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<LimitSource>,
}

/// The key of a limit that an execution is subject to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BehindLimit {
    /// The limit: `MODULE/FUNCTION`.
    #[schema(example = "shop/order")]
    pub limit: String,
    /// The key; absent if the limit has no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The priority; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Why it waits. Absent if it was admitted, or reaches its limit later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<LimitWait>,
}

/// The reason why an execution waits for its limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitWait {
    /// Number of waiting executions of its key and priority that came earlier (at most 1,000).
    pub before: u64,
    /// True if there are more than `before`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub before_more: bool,
    /// Number of executions of its key that were admitted and have not settled.
    pub running: u64,
    /// Maximum number of concurrent executions of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Number of admitted executions of all keys.
    pub total_running: u64,
    /// Maximum number of concurrent executions of all keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_concurrency: Option<u32>,
    /// When the next token of its key becomes available, if there is none now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_token_at_ms: Option<i64>,
    /// When the next token of all keys together becomes available, if there is none now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_next_token_at_ms: Option<i64>,
    /// Earliest begin of an execution of its key, because of `debounce`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounced_until_ms: Option<i64>,
    /// The executions that occupy the places for which it waits: halted ones first, then in the
    /// order of admission (at most 10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<LimitHolder>,
}

/// An execution that a limit has admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitHolder {
    /// Id of the execution.
    pub id: String,
    /// State of the execution.
    pub state: InvocationState,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_however_its_whole_numbers_are_written() {
        let read = |json: &str| serde_json::from_str::<SetLimit>(json);
        let rule = read(
            r#"{"per_key":{"concurrency":5.0,"rate":{"count":1e1,"period_ms":1000,"burst":1}}}"#,
        );
        let per_key = rule.expect("a rule").0.per_key;
        assert_eq!(per_key.concurrency, Some(5));
        assert_eq!(per_key.rate.map(|rate| rate.count), Some(10));
        for (json, says) in [
            (r#"{"per_key":{"concurrency":1.5}}"#, "1.5"),
            (r#"{"per_key":{"concurrency":-1}}"#, "-1"),
            (r#"{"concurrency":5}"#, "unknown field `concurrency`"),
            (r#"{"singleton":"first"}"#, "`skip` or `replace`"),
            (r#"{"per_key":{"rate":{"count":5}}}"#, "missing field `period_ms`"),
        ] {
            let error = read(json).expect_err(json).to_string();
            assert!(error.contains(says), "{json}: {error}");
        }
    }
}
