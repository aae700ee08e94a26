//! Recovers a run from its stored rows, which may be any prefix of any order of its facts.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    name::NodeName,
    progress::{RunProgress, SignalDelivery, Status, StatusCounts},
    state::{FailurePolicy, NodeStatus},
    topology::{NodeIndex, Topology},
};

/// The stored state of a node. A node without a row is pending, in its first attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredNode {
    /// The name of the node.
    pub node: NodeName,
    /// The stored status. Running means that an attempt was made, so such nodes are dispatched
    /// first; the attempt's promise tells if it is alive.
    pub status: NodeStatus,
    /// The attempt number, from 0.
    pub attempt: u32,
}

/// The rows cannot come from a run of this plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoverError {
    /// The plan has no such node.
    #[error("a row is stored for `{node}`, which is no node of the plan")]
    UnknownNode {
        /// The unknown name.
        node: NodeName,
    },
    /// Two rows for one node.
    #[error("two rows are stored for `{node}`")]
    Twice {
        /// The node with two rows.
        node: NodeName,
    },
    /// The topology of a run is fixed.
    #[error("`{node}` is stored as rewritten, which no node of a run becomes")]
    Rewritten {
        /// The node with this status.
        node: NodeName,
    },
    /// A node began before its predecessors ended.
    #[error("`{node}` is stored as {status:?}, although `{blocked_by}` does not let it begin")]
    Causal {
        /// The node that began too early.
        node: NodeName,
        /// The status of the node, with its signal resolved.
        status: Status,
        /// A predecessor that does not unblock.
        blocked_by: NodeName,
    },
}

impl RunProgress {
    /// Recovers the run with these rows and delivered signals: resolves nodes that wait for them,
    /// resets nodes that claim to run, closes failures and finds the ready nodes. Time and memory
    /// are proportional to nodes and edges.
    ///
    /// # Errors
    /// [`RecoverError`] if the rows cannot come from a run of this plan.
    pub fn recover(
        topology: Arc<Topology>,
        policy: FailurePolicy,
        rows: impl IntoIterator<Item = RecoveredNode>,
        signals: impl IntoIterator<Item = (String, SignalDelivery)>,
    ) -> Result<Self, RecoverError> {
        let nodes = topology.len();
        let delivered = signals.into_iter().map(|(name, delivery)| (name.into(), delivery));
        let mut progress = Self {
            policy,
            status: vec![Status::Pending; nodes],
            blocking: vec![0; nodes],
            attempts: vec![0; nodes],
            ready: [].into(),
            live: [].into(),
            running: [].into(),
            waiting: BTreeMap::new(),
            waiting_for: BTreeMap::new(),
            delivered: delivered.collect(),
            counts: StatusCounts { pending: nodes, ..StatusCounts::default() },
            topology,
        };
        let live = progress.read(rows)?;
        progress.check_causal()?;
        progress.close();
        progress.find_ready(&live);
        Ok(progress)
    }

    /// Reads the rows, resolved and reset. Returns the nodes that claimed to run.
    fn read(
        &mut self,
        rows: impl IntoIterator<Item = RecoveredNode>,
    ) -> Result<Vec<NodeIndex>, RecoverError> {
        let mut live = Vec::new();
        let mut seen = vec![false; self.topology.len()];
        for RecoveredNode { node: name, status, attempt } in rows {
            let Some(node) = self.topology.index_of(name.as_str()) else {
                return Err(RecoverError::UnknownNode { node: name });
            };
            if std::mem::replace(&mut seen[node.at()], true) {
                return Err(RecoverError::Twice { node: name });
            }
            self.attempts[node.at()] = attempt;
            match status {
                NodeStatus::Pending => {}
                NodeStatus::Running | NodeStatus::Interrupted => live.push(node),
                NodeStatus::Completed => self.put(node, Status::Completed),
                NodeStatus::Failed => self.put(node, Status::Failed),
                NodeStatus::Skipped => self.put(node, Status::Skipped),
                NodeStatus::Waiting(signal) => match self.delivered.get(signal.as_str()) {
                    Some(SignalDelivery::Value) => self.put(node, Status::Completed),
                    Some(SignalDelivery::Failure) => self.put(node, Status::Failed),
                    None => {
                        self.wait(node, signal.into());
                    }
                },
                NodeStatus::Rewritten => return Err(RecoverError::Rewritten { node: name }),
            }
        }
        Ok(live)
    }

    fn check_causal(&self) -> Result<(), RecoverError> {
        for node in self.topology.nodes() {
            let status = self.status(node);
            if !status.unblocks() && status != Status::Waiting {
                continue;
            }
            let predecessors = self.topology.predecessors(node);
            if let Some(one) = predecessors.iter().find(|one| !self.status(**one).unblocks()) {
                return Err(RecoverError::Causal {
                    node: self.topology.name(node).clone(),
                    status,
                    blocked_by: self.topology.name(*one).clone(),
                });
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        let nodes = self.topology.nodes();
        let failed: Vec<_> = nodes.filter(|node| self.status(*node) == Status::Failed).collect();
        for node in failed {
            self.fail(node);
        }
    }

    fn find_ready(&mut self, live: &[NodeIndex]) {
        for node in self.topology.nodes() {
            let predecessors = self.topology.predecessors(node).iter();
            let blocking = predecessors.filter(|one| !self.status(**one).unblocks()).count();
            self.blocking[node.at()] = u32::try_from(blocking).expect("indices have 32 bits");
            if blocking == 0 && self.status(node) == Status::Pending {
                self.ready.insert(node);
            }
        }
        for node in live {
            self.mark_live(*node);
        }
    }
}
