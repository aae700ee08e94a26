//! Graphs: plans, and the state of their runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::{IntoParams, ToSchema};

use super::{FailureView, InvocationState, whole};

/// The body of `POST /v1/graphs` and `POST /v1/graphs/check`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartGraph {
    /// The id of the run. Starting the same id again returns the first run. Absent: the host
    /// generates one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        example = "prices-1",
        min_length = 1,
        max_length = 2048,
        pattern = r"^(?!\.{1,2}$)(?=.*\S)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: Option<String>,
    /// The plan; `segno graph schema` prints its schema.
    pub plan: Value,
    /// Value of `input` in the plan; `null` if absent.
    #[serde(default)]
    pub input: Value,
    /// The module of functions that the plan names without a module; its policy applies to the
    /// plan's HTTP requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Maximum number of concurrently running nodes; overrides the plan's setting.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    pub max_parallel: Option<u64>,
    /// True if the first failing node ends the run; overrides the plan's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_fast: Option<bool>,
    /// Storage of facts: each in its own transaction (`each`), or all available ones together
    /// (`wave`, the default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist: Option<GraphPersistence>,
    /// Labels by which invocations are listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The budget of the run and everything below it: limits by unit, decimal numbers with at
    /// most six places. The host counts `calls`; activities report all others, as `tokens`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub budget: BTreeMap<String, Number>,
}

/// Transaction granularity of a run's facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphPersistence {
    /// All available facts in one transaction.
    Wave,
    /// One transaction for each fact.
    Each,
}

/// The body of `POST /v1/graphs/{id}/retry`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryGraph {
    /// The id of the new run. Absent: the old run's id with `-r1`, `-r2` and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A valid plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphChecked {
    /// Number of nodes, without the nodes of nested plans.
    pub nodes: u64,
    /// Number of edges.
    pub edges: u64,
    /// Number of nodes on the longest path.
    pub depth: u64,
    /// SHA-256 of the plan's canonical form: plans with equal digests are equal.
    pub digest: String,
}

/// The answer to a start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphStarted {
    /// The id of the run.
    pub id: String,
    /// True if this request started the run; false if it existed already.
    pub created: bool,
    /// SHA-256 of the plan's canonical form.
    pub digest: String,
}

/// The query of `GET /v1/graphs/{id}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphQuery {
    /// Returns only nodes whose names follow this one: the `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Maximum number of nodes (1 to 10000; default 1000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A run, and a page of its nodes by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphRun {
    /// The id of the run.
    pub id: String,
    /// Name of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// SHA-256 of the plan's canonical form.
    pub digest: String,
    /// The state of the run.
    pub state: InvocationState,
    /// The module whose functions the plan names without a module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Maximum number of concurrently running nodes.
    pub max_parallel: u32,
    /// True if the first failing node ends the run.
    pub fail_fast: bool,
    /// The run whose completed nodes this run took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// When the run was started.
    pub created_at_ms: i64,
    /// When the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// Outputs of the nodes, by node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The failure, if the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// Number of nodes in each state; states without nodes are omitted.
    pub counts: BTreeMap<GraphNodeState, u64>,
    /// The nodes, by name.
    pub nodes: Vec<GraphNode>,
    /// Name of the last node of this page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The query of `GET /v1/graphs/{id}/history`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphHistoryQuery {
    /// Returns only facts after this one: the `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Maximum number of facts (1 to 10000; default 1000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The history of a run: a page of its facts, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphHistory {
    /// The id of the run.
    pub id: String,
    /// The facts. Events from before hosts recorded histories are missing.
    pub facts: Vec<GraphFact>,
    /// Cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A fact of a run: a state transition of a node. Facts are append-only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphFact {
    /// When the fact was written.
    pub at_ms: i64,
    /// The node.
    pub node: String,
    /// Number of the node's attempt, from 0.
    pub attempt: u32,
    /// The new state; `pending` marks a node that is restarted.
    pub state: GraphNodeState,
    /// For a restarted node: the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<GraphReset>,
    /// For a restarted node: the earliest start of the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_at_ms: Option<i64>,
}

/// Reason for restarting a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphReset {
    /// The attempt was cancelled from outside.
    Cancelled,
    /// The attempt failed, and the plan allows another one.
    Failed,
}

/// State of a node.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GraphNodeState {
    /// Waits for other nodes to end.
    Pending,
    /// Ready to start.
    Ready,
    /// Has an attempt that has not ended.
    Running,
    /// Waits for a signal.
    Waiting,
    /// Ended successfully.
    Completed,
    /// Skipped because of the node's condition.
    Skipped,
    /// Ended with a failure.
    Failed,
    /// Not run because a predecessor failed.
    NotRun,
}

impl GraphNodeState {
    /// Name of the state in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::NotRun => "not-run",
        }
    }
}

/// A node of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphNode {
    /// Name of the node in the plan.
    pub name: String,
    /// Short description of the action: `call fetch`, `http GET https://…`, `sleep 5s`, `signal
    /// go`.
    pub what: String,
    /// The nodes that must end before this one starts.
    pub needs: Vec<String>,
    /// Length of the longest path to the node.
    pub layer: u32,
    /// State of the node.
    pub state: GraphNodeState,
    /// Number of the latest attempt, from 0.
    pub attempt: u32,
    /// Promise of the latest attempt, or of the awaited signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
    /// When that promise was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<i64>,
    /// When that promise settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// The failure, if the node failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}
