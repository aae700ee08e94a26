//! Trees of calls.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{ForkedFrom, InvocationState};

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// A call of a function of a module or of an external worker.
    Call,
    /// A step recorded by an external worker.
    Step,
    /// A timer.
    Timer,
    /// A signal.
    Signal,
    /// A promise settled from outside.
    Promise,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TreeNode {
    /// The id of the promise.
    pub id: String,
    /// The number of levels below the requested node, which has 0.
    pub depth: u32,
    /// The id of the parent, except for the requested node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The kind of the node.
    pub kind: NodeKind,
    /// The address of the called function or worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The name of the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The state of the node.
    pub state: InvocationState,
    /// Number of failed attempts since the last progress.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// The holder of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The end of the lease, unless it is extended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
    /// For a pending node: when the task is offered next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// The ids of awaited promises (at most 10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<String>,
    /// True if the node waits for more promises than `waits` lists.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_more: bool,
    /// The failure, the reason of a halt, or the last error, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The error of the last failed attempt, in one line, if the node has since settled without a
    /// failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_error: Option<String>,
    /// The origin of the node, if it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// True if the node may outlive its parent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    /// Number of unread signals and unread promises that were settled early.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: u32,
    /// Number of children; 10,000 means 10,000 or more.
    pub children: u32,
    /// Number of children omitted because of `width` or `depth`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// True if siblings before this node are omitted because of `width`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_gap: bool,
    /// When the promise was created.
    pub created_at_ms: i64,
    /// When the promise was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// The deadline, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A page of a tree: each node comes before its children, which are in the order of their creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TreePage {
    /// The id of the requested node.
    pub id: String,
    /// The ids of the ancestors, the root first.
    pub path: Vec<String>,
    /// The nodes.
    pub nodes: Vec<TreeNode>,
    /// The `after` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Parameters of reading a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TreeQuery {
    /// Number of levels below the node (0 to 64; default 8).
    #[param(minimum = 0, maximum = 64)]
    pub depth: Option<u32>,
    /// Maximum number of children shown for each node: a quarter of them the first ones, the rest
    /// the latest. Children that the node waits for are shown in addition. Absent: no limit.
    pub width: Option<u32>,
    /// The `next` of the previous page, with the `depth` and `width` of that page.
    pub after: Option<String>,
    /// Maximum number of nodes (1 to 1000; default 500).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}
