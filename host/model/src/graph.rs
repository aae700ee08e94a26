//! Graphs: plans, and how their runs stand.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{FailureView, InvocationState};

/// The body of `POST /v1/graphs` and `POST /v1/graphs/check`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartGraph {
    /// The id of the run. The same id again answers the first run. Absent: the host generates one.
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
    /// What the plan knows as `input`; `null` if absent.
    #[serde(default)]
    pub input: Value,
    /// The module whose functions the plan names without a module, and whose policy applies to its
    /// requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// How many nodes run at once, in place of what the plan says.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub max_parallel: Option<u64>,
    /// Whether the first node that fails ends the run, in place of what the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_fast: Option<bool>,
    /// Whether each fact is stored by itself (`each`), or all that are there at once (`wave`, the
    /// default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist: Option<GraphPersistence>,
    /// Labels by which invocations are listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// How the facts of a run are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphPersistence {
    /// All that are there at once, in one transaction.
    Wave,
    /// Each in a transaction of its own.
    Each,
}

/// The body of `POST /v1/graphs/{id}/retry`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryGraph {
    /// The id of the new run. Absent: the old one's with `-r1`, `-r2` and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A plan in which nothing is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphChecked {
    /// How many nodes there are, without those of plans in it.
    pub nodes: u64,
    /// How many edges.
    pub edges: u64,
    /// How many nodes lie on the longest path.
    pub depth: u64,
    /// SHA-256 of the plan's canonical form: two plans with one digest are the same.
    pub digest: String,
}

/// The answer to a start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphStarted {
    /// The id of the run.
    pub id: String,
    /// Whether this request started it.
    pub created: bool,
    /// SHA-256 of the plan's canonical form.
    pub digest: String,
}

/// The query of `GET /v1/graphs/{id}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphQuery {
    /// Only nodes after this one, by name: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many nodes, 1 to 10000; absent: 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A run, and a page of its nodes by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphRun {
    /// The id of the run.
    pub id: String,
    /// What the plan is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// SHA-256 of the plan's canonical form.
    pub digest: String,
    /// The state of the run.
    pub state: InvocationState,
    /// The module whose functions the plan names without a module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// How many nodes run at once.
    pub max_parallel: u32,
    /// Whether the first node that fails ends the run.
    pub fail_fast: bool,
    /// The run whose completed nodes this one took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// When it was started.
    pub created_at_ms: i64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// What it came to: the outputs by node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// How many nodes are in each state; those in no state are left out.
    pub counts: BTreeMap<GraphNodeState, u64>,
    /// Nodes, by name.
    pub nodes: Vec<GraphNode>,
    /// The last node of this page, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The query of `GET /v1/graphs/{id}/history`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphHistoryQuery {
    /// Only facts after this one: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// How many facts, 1 to 10000; absent: 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The history of a run: a page of its facts, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphHistory {
    /// The id of the run.
    pub id: String,
    /// The facts. Runs of hosts before histories were kept have none of what happened then.
    pub facts: Vec<GraphFact>,
    /// Where the next page begins, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A fact of a run: a node came to a state. Facts are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphFact {
    /// When it was written.
    pub at_ms: i64,
    /// The node.
    pub node: String,
    /// Its attempt, from 0.
    pub attempt: u32,
    /// The state: `pending` is that of a node that is begun again.
    pub state: GraphNodeState,
    /// Of a node that is begun again: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<GraphReset>,
    /// Of a node that is begun again: when, at the earliest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_at_ms: Option<i64>,
}

/// The reason why a node is begun again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphReset {
    /// Its attempt was cancelled from outside.
    Cancelled,
    /// Its attempt failed, and the plan wants another one.
    Failed,
}

/// Where a node stands.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GraphNodeState {
    /// It waits for others to end.
    Pending,
    /// It can begin.
    Ready,
    /// It has an attempt that has not ended.
    Running,
    /// It waits for a signal.
    Waiting,
    /// Done.
    Completed,
    /// Left out by its condition.
    Skipped,
    /// It failed.
    Failed,
    /// It did not run, because one before it failed.
    NotRun,
}

impl GraphNodeState {
    /// The state as it is written.
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
    /// Its name in the plan.
    pub name: String,
    /// What it does, in short: `call fetch`, `http GET https://…`, `sleep 5s`, `signal go`.
    pub what: String,
    /// The nodes that end before it begins.
    pub needs: Vec<String>,
    /// The length of the longest path to it.
    pub layer: u32,
    /// Where it stands.
    pub state: GraphNodeState,
    /// The number of its newest attempt, from 0.
    pub attempt: u32,
    /// The promise of its newest attempt, or of the signal that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
    /// When that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<i64>,
    /// When that settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}
