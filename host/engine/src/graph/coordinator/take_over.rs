//! Taking over what another run of the same plan has done.

use segno_core::{
    command::FenceAct,
    graph::{NodeRow, NodeState},
    id::PromiseId,
    promise::{Promise, Verdict},
    value::Text,
};
use segno_graph::{NodeIndex, progress::Status};

use super::Coordinator;
use crate::graph::attempt;

/// A node of another run that is taken over.
#[derive(Debug)]
pub struct TakenOver {
    /// The node.
    pub node: NodeIndex,
    /// The promise of its output; none: it was left out.
    pub output: Option<PromiseId>,
}

impl Coordinator {
    /// Takes over what another run of the same plan has completed or left out, as far as this one
    /// knows nothing of it: nodes and the promises of their outputs, each after those that it needs.
    pub fn to_take_over(&self, from: &PromiseId, rows: &[(Text, NodeRow)]) -> Vec<TakenOver> {
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
            Some(TakenOver { node, output })
        });
        let mut taken: Vec<TakenOver> = taken.collect();
        let depths = self.start.plan.topology().depths();
        taken.sort_by_key(|taken| (depths[taken.node.at()], taken.node));
        taken
    }

    /// The acts by which a node of another run is taken over, with the promise of its output.
    pub fn take_over(&self, node: NodeIndex, output: Option<&Promise>) -> Vec<FenceAct> {
        let row = |state| self.row(node, state, None);
        let Some(value) = output.and_then(Promise::settlement) else {
            return vec![row(NodeState::Skipped)];
        };
        let id = self.output_of(node);
        vec![
            FenceAct::Create { new: attempt::bare(id.clone()) },
            FenceAct::Settle {
                id,
                verdict: Verdict::Resolved,
                value: value.value.clone().unwrap_or_default(),
            },
            row(NodeState::Completed),
        ]
    }
}
