//! Trees of calls as they are shown.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::InvocationState;

/// What a node of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// A call: a function of a module or of a worker produces the value.
    Call,
    /// A step that a worker outside recorded.
    Step,
    /// An instant.
    Timer,
    /// A signal.
    Signal,
    /// Settled from outside.
    Promise,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TreeNode {
    /// Its id.
    pub id: String,
    /// How far below the node that was asked for: 0 is that one.
    pub depth: u32,
    /// Its parent, but for the node that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What it is.
    pub kind: NodeKind,
    /// Of a call: the address of the worker or function that produces the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The function by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Where it stands.
    pub state: InvocationState,
    /// Failed attempts since it last got on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// Who holds its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Until when the claim lasts unless it is extended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
    /// While its task is pending: when it is offered again, or first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// The first of those that it waits for, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<String>,
    /// It waits for more than these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_more: bool,
    /// What it failed with, why it is halted, or the last error of one that goes on; in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// It outlives its parent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    /// How many children it has; 10,000 stands for as many or more.
    pub children: u32,
    /// How many of them are left out, by `width` or `depth`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// When it was made.
    pub created_at_ms: i64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// Its deadline, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A part of a tree: each node comes before what is below it, children in the order of their creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TreePage {
    /// The node that was asked for.
    pub id: String,
    /// Whose it is: its ancestors, the root first.
    pub path: Vec<String>,
    /// The nodes.
    pub nodes: Vec<TreeNode>,
    /// Pass it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Which part of a tree is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TreeQuery {
    /// How many levels below the node are shown, 0 to 64; 8 if left out.
    #[param(minimum = 0, maximum = 64)]
    pub depth: Option<u32>,
    /// How many children of each node are shown, the first ones; all of them if left out.
    pub width: Option<u32>,
    /// The `next` of the page before. `depth` and `width` must be those of that page.
    pub after: Option<String>,
    /// The largest number of nodes in the page, 1 to 1000; 500 if left out.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}
