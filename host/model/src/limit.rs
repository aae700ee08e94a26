//! Limits of functions: what they say, where it comes from, who runs and who waits.

use std::collections::BTreeMap;

use segno_core::limit::Rule;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{InvocationState, LimitRule, flat::flattened, whole};

/// Parameters of listing limits, or the keys of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LimitQuery {
    /// The `next` of the page before.
    pub after: Option<String>,
    /// Maximum number of items (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitSource {
    /// An operator set it. It goes before what the module declares.
    Operator,
    /// The module declares it.
    Module,
}

/// A limit, and what all of its keys count together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitItem {
    /// What is limited: `MODULE/FUNCTION`.
    #[schema(example = "shop/order")]
    pub limit: String,
    /// The rule that holds; absent: the function is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<LimitRule>)]
    pub rule: Option<Rule>,
    /// Where that rule comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<LimitSource>,
    /// The rule that the module declares, where an operator's holds instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<LimitRule>)]
    pub declared: Option<Rule>,
    /// Number of executions that were admitted and have not settled.
    pub running: u64,
    /// Number of executions that wait to be admitted.
    pub waiting: u64,
    /// Where the rate of all keys together is bounded: how many may begin at once now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// When the next token comes, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_token_at_ms: Option<i64>,
}

/// A page of limits, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitList {
    /// The limits that modules declare or operators set, and those that count an execution still.
    pub items: Vec<LimitItem>,
    /// What the next page comes after; absent: this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A limit with a page of its keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct LimitView {
    /// The limit.
    #[serde(flatten)]
    pub limit: LimitItem,
    /// The keys of which an execution runs or waits, or that lack tokens, in their order.
    pub keys: Vec<LimitKey>,
    /// What the next page of keys comes after; absent: this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A key of a limit. A key that is not listed has nobody, and all of its tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitKey {
    /// The key; empty where the limit has none.
    pub key: String,
    /// Number of executions that were admitted and have not settled.
    pub running: u64,
    /// Number of executions that wait to be admitted.
    pub waiting: u64,
    /// The same by priority, where those of several priorities wait.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub priorities: BTreeMap<String, u64>,
    /// Where the rate of a key is bounded: how many may begin at once now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// When the next token comes, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_token_at_ms: Option<i64>,
    /// Nobody begins before: it is debounced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounced_until_ms: Option<i64>,
    /// Who was admitted and has not settled: halted ones first, then in the order in which they came (at
    /// most 10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<LimitHolder>,
}

flattened!(LimitView, limit, keys, next);
flattened!(LimitChanged, limit, before);

/// The body of `PUT /v1/limits/{module}/{function}`: the whole rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SetLimit(pub Rule);

impl<'de> Deserialize<'de> for SetLimit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut rule = Value::deserialize(from)?;
        whole::numbers(&mut rule);
        // As text again: an error then names the number.
        serde_json::from_str(&rule.to_string()).map(Self).map_err(de::Error::custom)
    }
}

/// The answer to setting a limit, or to going back to what the module declares.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct LimitChanged {
    /// What holds now.
    #[serde(flatten)]
    pub limit: LimitItem,
    /// What held before.
    pub before: LimitBefore,
}

/// What held before a limit was changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitBefore {
    /// The rule; absent: the function was not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<LimitRule>)]
    pub rule: Option<Rule>,
    /// Where that rule came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<LimitSource>,
}

/// The key of a limit that an execution is behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BehindLimit {
    /// The limit: `MODULE/FUNCTION`.
    #[schema(example = "shop/order")]
    pub limit: String,
    /// The key; absent where the limit has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The priority; absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Why it waits; absent: it was admitted, or comes to its limit later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<LimitWait>,
}

/// Why an execution waits behind its limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitWait {
    /// Number of executions of its key and priority that came before it and wait (at most 1,000).
    pub before: u64,
    /// Whether there are more of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub before_more: bool,
    /// Number of executions of its key that were admitted and have not settled.
    pub running: u64,
    /// How many of its key may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The number of admitted executions of all keys.
    pub total_running: u64,
    /// How many of all keys may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_concurrency: Option<u32>,
    /// When the next token of its key comes, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_token_at_ms: Option<i64>,
    /// When the next token of all keys together comes, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_next_token_at_ms: Option<i64>,
    /// Nobody of its key begins before: it is debounced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounced_until_ms: Option<i64>,
    /// Who has the places that it waits for, if it waits for one: halted ones first, then in the order in
    /// which they came (at most 10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<LimitHolder>,
}

/// An execution that a limit has admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitHolder {
    /// Its id.
    pub id: String,
    /// Its state.
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
