//! Queries and updates of workflows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::{IntoParams, ToSchema};

use super::FailureView;

/// Kind of a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandlerKind {
    /// Reads the workflow's state without changing it.
    Query,
    /// Is delivered to the workflow, which answers it.
    Update,
}

impl HandlerKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Update => "update",
        }
    }
}

/// A query or an update of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Handler {
    /// Kind of the handler.
    pub kind: HandlerKind,
    /// The name of the query or update.
    pub name: String,
    /// A description by the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// JSON schema of the input; the host rejects other inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// JSON schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

/// Parameters of a query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AskQuery {
    /// The input, as JSON (default: null).
    #[param(example = "\"ada\"")]
    pub input: Option<String>,
    /// Evaluates the query against the state after this number of journal records (1 or more).
    #[param(minimum = 1)]
    pub at: Option<u32>,
}

/// A query with its input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SendQuery {
    /// The input.
    pub input: Value,
    /// Evaluates the query against the state after this number of journal records (1 or more).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub at: Option<u32>,
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueryAnswer {
    /// Id of the invocation.
    pub id: String,
    /// The name of the query.
    pub name: String,
    /// The workflow's answer.
    pub value: Value,
    /// Number of records that the workflow had replayed when it answered.
    pub records: u32,
    /// Number of records in the journal, or the requested number. Larger than `records` if the code
    /// does not get that far.
    pub journal_len: u32,
    /// Digest of the module that answered.
    pub module: String,
}

/// The body of an update request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SendUpdate {
    /// The input.
    pub input: Value,
    /// Deduplication key: an update is sent once for each key. Without a key, a repeated request is
    /// a new update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The invocation to start first, under the id in the route, if none exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<StartFirst>,
    /// The stage to wait for: acceptance, or the answer.
    pub wait: UpdateWait,
    /// Maximum wait in milliseconds (default 30 s, at most 300 s). An accepted update is processed
    /// even if no client waits for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 300_000)]
    pub timeout_ms: Option<u64>,
}

/// An invocation to start if an update or a signal finds none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartFirst {
    /// The function: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`.
    #[schema(example = "shop/cart")]
    pub target: String,
    /// Input of the function; `null` if absent.
    #[serde(default)]
    pub input: Value,
    /// Milliseconds from now to the deadline. Absent: the function's own default, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Labels by which invocations are listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The budget of the invocation and everything below it: limits by unit, decimal numbers with at
    /// most six places. The host counts `calls`; activities report all others, as `tokens`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub budget: BTreeMap<String, Number>,
}

/// The stage of an update for which its sender waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateWait {
    /// Waits until the update is accepted.
    Accepted,
    /// Waits until the workflow has answered.
    #[default]
    Completed,
}

/// An accepted update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdateAnswer {
    /// Id of the invocation.
    pub id: String,
    /// The name of the update.
    pub name: String,
    /// The promise that the workflow settles with its answer.
    pub promise: String,
    /// Progress of the update.
    pub state: UpdateState,
    /// The answer, if completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The failure, if failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// Progress of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateState {
    /// Accepted, but not delivered to the workflow or not answered yet.
    Accepted,
    /// Answered by the workflow.
    Completed,
    /// Answered with a failure, or the workflow ended before it answered.
    Failed,
}
