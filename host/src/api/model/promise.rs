//! Promises as they are shown and settled from outside.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Where a promise stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromiseState {
    /// Not settled yet.
    Pending,
    /// Settled with a value.
    Resolved,
    /// Settled with a failure.
    Rejected,
    /// Settled by a cancellation.
    Cancelled,
    /// Its deadline passed.
    TimedOut,
}

/// Why something failed. Codes 400 to 599 read as in HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailureView {
    /// For programs.
    pub code: u32,
    /// For people.
    pub message: String,
    /// Whatever the failing side added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// A promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromiseView {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub state: PromiseState,
    /// What it was made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<Value>,
    /// What it was settled with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// What it was rejected with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// The invocation that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// The invocations that wait for it.
    pub awaited_by: Vec<String>,
    /// When it was made.
    pub created_at_ms: i64,
    /// Its deadline, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
    /// When it was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// Whether this request changed it; absent in answers to reads. A promise settles once: later attempts answer the
    /// first outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
}

/// The body of `POST /v1/promises/{id}/resolve`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolvePromise {
    /// Any JSON; `null` if it is left out.
    #[serde(default)]
    pub value: Value,
}

/// The body of `POST /v1/promises/{id}/reject`: a failure in words and a code, or any JSON as `value`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectPromise {
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// In place of `failure`: any JSON, for those who read the promise with other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}
