//! The tree of calls of an execution.

use schemars::JsonSchema;
use segno_model::{TreeNode, TreeQuery};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument},
    excerpt::cut,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

const DEPTH: u32 = 4;
const WIDTH: u32 = 8;
const NODES: u32 = 100;

/// Arguments of `execution_tree`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecutionTree {
    /// Id of the execution, or of a promise.
    id: String,
    /// Number of levels below it (0 to 64; default 4).
    #[serde(default)]
    #[schemars(range(max = 64))]
    depth: Option<u32>,
    /// Maximum number of children of each node (default 8): the first ones and the latest.
    #[serde(default)]
    width: Option<u32>,
    /// The `after` of the previous page, with its `depth` and `width`.
    #[serde(default)]
    after: Option<String>,
}

/// A page of a tree: each node comes before its children.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExecutionTreeOutput {
    /// The ids of the ancestors, the root first.
    path: Vec<String>,
    nodes: Vec<NodeLine>,
    /// The `after` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// A node of the tree.
#[derive(Debug, Serialize, JsonSchema)]
struct NodeLine {
    id: String,
    /// Number of levels below the requested node.
    depth: u32,
    /// `call`, `step`, `timer`, `signal` or `promise`.
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    state: String,
    /// Ids of awaited promises.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Number of children that are not shown.
    left_out: u32,
}

impl From<TreeNode> for NodeLine {
    fn from(node: TreeNode) -> Self {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            id: node.id,
            depth: node.depth,
            kind: word(json!(node.kind)),
            target: node.target,
            state: word(json!(node.state)),
            waits: node.waits,
            error: node.error.or(node.attempt_error).map(|error| cut(error, 300)),
            left_out: node.left_out,
        }
    }
}

impl NodeLine {
    fn line(&self) -> String {
        let Self { id, kind, state, depth, .. } = self;
        let indent = "  ".repeat(*depth as usize);
        let target = self.target.as_deref().unwrap_or(kind);
        let error = self.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        let left_out = match self.left_out {
            0 => String::new(),
            left_out => format!(" ({left_out} children are not shown)"),
        };
        format!("{indent}{id}  {target}  {state}{error}{left_out}")
    }
}

impl HostTool for ExecutionTree {
    type Output = ExecutionTreeOutput;
    const NAME: &'static str = "execution_tree";
    const TITLE: &'static str = "Tree of calls";
    const ABOUT: &'static str = "The tree of calls, timers, signals and promises below an execution, with the state of each.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(
        self,
        access: &HostAccess,
    ) -> Result<ToolAnswer<ExecutionTreeOutput>, ToolFailure> {
        let (depth, width) = (self.depth.unwrap_or(DEPTH), self.width.unwrap_or(WIDTH));
        let query = TreeQuery {
            depth: Some(depth),
            width: Some(width),
            after: self.after,
            limit: Some(NODES),
        };
        let page = match access.client.tree(&self.id, &query).await {
            Ok(page) => page,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let nodes: Vec<NodeLine> = page.nodes.into_iter().map(NodeLine::from).collect();
        let text = nodes.iter().map(NodeLine::line).collect::<Vec<_>>().join("\n");
        let failed = nodes.iter().find(|node| node.error.is_some()).map(|node| node.id.clone());
        let after = page.next.clone();
        let output = ExecutionTreeOutput { path: page.path, nodes, after: page.next };
        let mut answer = ToolAnswer::new(text, output);
        if let Some(failed) = failed {
            answer =
                answer.then("inspect_execution", id_argument(&failed), "the node with an error");
        }
        if let Some(after) = after {
            let arguments = json!({"id": self.id, "depth": depth, "width": width, "after": after});
            answer = answer.then(Self::NAME, arguments, "the next page");
        }
        Ok(answer)
    }
}
