//! Queries and updates of workflows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::FailureView;

/// What a handler is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandlerKind {
    /// It only reads.
    Query,
    /// It is told to the workflow, which answers it.
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
    /// What it is.
    pub kind: HandlerKind,
    /// The name of the query or update.
    pub name: String,
    /// A description by the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The JSON schema of its input: another input is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// The JSON schema of its answer.
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
    /// Asks the workflow as it was when its journal had this number of records (1 or more).
    #[param(minimum = 1)]
    pub at: Option<u32>,
}

/// A query with its input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SendQuery {
    /// The input.
    pub input: Value,
    /// Asks the workflow as it was when its journal had this number of records (1 or more).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub at: Option<u32>,
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueryAnswer {
    /// The invocation.
    pub id: String,
    /// The name of the query.
    pub name: String,
    /// What the workflow answered.
    pub value: Value,
    /// How many records of its journal the workflow had seen.
    pub records: u32,
    /// How many there were, or how many were asked for: more than `records` where the code does not
    /// get further.
    pub journal_len: u32,
    /// The module that answered.
    pub module: String,
}

/// An update.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SendUpdate {
    /// The input.
    pub input: Value,
    /// The update is sent once for each key; without one, a repetition of the request is another
    /// update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is started first, under the id of the route, if there is no such invocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<StartFirst>,
    /// How long to wait: until it is accepted, or until it is answered.
    pub wait: UpdateWait,
    /// Maximum wait, in milliseconds (default 30 s, at most 300 s). What was accepted is answered
    /// also if nobody waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 300_000)]
    pub timeout_ms: Option<u64>,
}

/// An invocation that is started for an update.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartFirst {
    /// The function: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`.
    #[schema(example = "shop/cart")]
    pub target: String,
    /// Its input; `null` if absent.
    #[serde(default)]
    pub input: Value,
    /// The time from now to the deadline; absent: the function's own default, else none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Labels by which invocations are listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// How long the sender of an update waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateWait {
    /// Until it is accepted.
    Accepted,
    /// Until the workflow has answered.
    #[default]
    Completed,
}

/// An update that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdateAnswer {
    /// The invocation.
    pub id: String,
    /// The name of the update.
    pub name: String,
    /// The promise that the workflow settles with its answer.
    pub promise: String,
    /// How far it is.
    pub state: UpdateState,
    /// The answer, if completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The failure, if failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// How far an update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateState {
    /// The workflow will be told of it, or has not answered yet.
    Accepted,
    /// The workflow has answered.
    Completed,
    /// The workflow has answered with a failure, or ended before it answered.
    Failed,
}
