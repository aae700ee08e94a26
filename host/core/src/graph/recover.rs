//! A run out of its stored rows.

use segno_graph::{
    NodeName, Progress,
    plan::Kind,
    progress::{self, RecoverError},
    state::NodeStatus,
};

use super::{NodeRow, NodeState, Start};
use crate::{id::PromiseId, value::Text};

impl Start {
    /// Where the nodes of the run with these rows stand. Signals that came meanwhile are not told
    /// here: their promises are.
    ///
    /// # Errors
    /// [`RecoverError`]: the rows are not those of a run of this plan.
    pub fn recover<'a>(
        &self,
        rows: impl IntoIterator<Item = (&'a Text, &'a NodeRow)>,
    ) -> Result<Progress, RecoverError> {
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
            Some(progress::NodeRow { node, status, attempt: row.attempt })
        });
        Progress::recover(self.plan.topology().clone(), self.plan.on_failure(), rows, [])
    }

    /// The promise that the row of a node of this run is about: its attempt, or its signal.
    pub fn promise_of(&self, run: &PromiseId, node: &str, row: &NodeRow) -> PromiseId {
        match self.signal_of(node) {
            Some(signal) => run.run_signal(signal),
            None => run.attempt(node, row.attempt),
        }
    }

    /// The signal that a node of the plan waits for, if it is one that does.
    fn signal_of(&self, node: &str) -> Option<&str> {
        match &self.plan.node(self.plan.topology().index_of(node)?).kind {
            Kind::Signal(name) => Some(name),
            _ => None,
        }
    }
}
