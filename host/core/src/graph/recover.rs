//! Recovery of a run from its stored rows.

use segno_graph::{
    NodeName, RunProgress,
    plan::NodeAction,
    progress::{self, RecoverError},
    state::NodeStatus,
};

use super::{GraphRunParameters, NodeRow, NodeState};
use crate::{id::PromiseId, value::Text};

impl GraphRunParameters {
    /// Recovers the state of the nodes from the rows of a run. Signals that arrived in between are
    /// not included; their promises carry them.
    ///
    /// # Errors
    /// [`RecoverError`]: the rows do not belong to a run of this plan.
    pub fn recover<'a>(
        &self,
        rows: impl IntoIterator<Item = (&'a Text, &'a NodeRow)>,
    ) -> Result<RunProgress, RecoverError> {
        let rows = rows.into_iter().filter_map(|(node, row)| {
            let status = match row.state {
                NodeState::Pending => NodeStatus::Pending,
                NodeState::Running => NodeStatus::Running,
                NodeState::Waiting => {
                    NodeStatus::Waiting(self.signal_of(node).unwrap_or_default().to_owned())
                }
                NodeState::Completed => NodeStatus::Completed,
                NodeState::Failed => NodeStatus::Failed,
                NodeState::Skipped => NodeStatus::Skipped,
            };
            let node = NodeName::new(node).ok()?;
            Some(progress::RecoveredNode { node, status, attempt: row.attempt })
        });
        RunProgress::recover(self.plan.topology().clone(), self.plan.on_failure(), rows, [])
    }

    /// The promise behind the row of a node in this run: its attempt, or its signal.
    pub fn promise_of(&self, run: &PromiseId, node: &str, row: &NodeRow) -> PromiseId {
        match self.signal_of(node) {
            Some(signal) => run.run_signal(signal),
            None => run.attempt(node, row.attempt),
        }
    }

    /// The signal that the node waits for, if the node is a signal node.
    fn signal_of(&self, node: &str) -> Option<&str> {
        match &self.plan.node(self.plan.topology().index_of(node)?).kind {
            NodeAction::Signal(name) => Some(name),
            _ => None,
        }
    }
}
