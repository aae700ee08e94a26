//! Reuse of the results of another run of the same plan.

use segno_core::{
    command::FenceOperation,
    graph::{NodeRow, NodeState},
    id::PromiseId,
    promise::{Promise, Verdict},
    value::Text,
};
use segno_graph::{NodeIndex, progress::Status};

use super::Coordinator;
use crate::graph::attempt;

/// A node of another run whose result this run reuses.
#[derive(Debug)]
pub struct ReusedNode {
    pub node: NodeIndex,
    /// The promise of its output. `None` if the node was skipped.
    pub output: Option<PromiseId>,
}

impl Coordinator {
    /// The completed or skipped nodes of another run of the same plan that are still pending here,
    /// with the promises of their outputs. Each node comes after those that it needs.
    pub fn to_take_over(&self, from: &PromiseId, rows: &[(Text, NodeRow)]) -> Vec<ReusedNode> {
        let taken = rows.iter().filter_map(|(name, row)| {
            let node = self.start.plan.topology().index_of(name)?;
            if self.progress.status(node) != Status::Pending || self.made.contains(&node) {
                return None;
            }
            let output = match row.state {
                NodeState::Skipped => None,
                NodeState::Completed => Some(self.start.promise_of(from, name, row)),
                NodeState::Pending
                | NodeState::Running
                | NodeState::Waiting
                | NodeState::Failed => return None,
            };
            Some(ReusedNode { node, output })
        });
        let mut taken: Vec<ReusedNode> = taken.collect();
        let depths = self.start.plan.topology().depths();
        taken.sort_by_key(|taken| (depths[taken.node.at()], taken.node));
        taken
    }

    /// The acts that reuse a node of another run, with the promise of its output.
    pub fn take_over(&self, node: NodeIndex, output: Option<&Promise>) -> Vec<FenceOperation> {
        let row = |state| self.row(node, state, None);
        let Some(value) = output.and_then(Promise::settlement) else {
            return vec![row(NodeState::Skipped)];
        };
        let id = self.output_of(node);
        vec![
            FenceOperation::Create { new: attempt::bare(id.clone()), request: None },
            FenceOperation::Settle {
                id,
                verdict: Verdict::Resolved,
                value: value.value.clone().unwrap_or_default(),
            },
            row(NodeState::Completed),
        ]
    }
}
