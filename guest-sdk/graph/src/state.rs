//! The known facts about a run: a status for each node, and an output for some.
//! [`rules`](crate::rules) has their consequences.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{name::NodeName, relation::Relation};

/// The status of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// Not started, or to be started again.
    Pending,
    /// An attempt was made; it may be alive or not.
    Running,
    /// An attempt was cut off; equivalent to pending.
    Interrupted,
    /// Ended with an output.
    Completed,
    /// Failed, or closed by the failure of a predecessor.
    Failed,
    /// Skipped by its condition; its successors continue.
    Skipped,
    /// Waiting until the run's signal with this name is delivered.
    Waiting(String),
    /// Replaced by other nodes. Never produced: the topology of a run is fixed.
    Rewritten,
}

impl NodeStatus {
    /// Returns true if the status is final.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Skipped | Self::Rewritten => true,
            Self::Pending | Self::Running | Self::Interrupted | Self::Waiting(_) => false,
        }
    }

    /// Returns true if successors may start.
    pub fn unblocks(&self) -> bool {
        match self {
            Self::Completed | Self::Skipped | Self::Rewritten => true,
            Self::Pending | Self::Running | Self::Interrupted => false,
            Self::Failed | Self::Waiting(_) => false,
        }
    }

    /// Returns true if the node has an output.
    pub fn owns_output(&self) -> bool {
        match self {
            Self::Completed | Self::Rewritten => true,
            Self::Pending | Self::Running | Self::Interrupted => false,
            Self::Failed | Self::Skipped | Self::Waiting(_) => false,
        }
    }

    /// Returns true if a failure of a predecessor closes the node.
    pub fn is_propagatable(&self) -> bool {
        match self {
            Self::Pending | Self::Waiting(_) => true,
            Self::Running | Self::Interrupted => false,
            Self::Completed | Self::Failed | Self::Skipped | Self::Rewritten => false,
        }
    }
}

/// The reason of a node's failure. Codes 400 to 599 have the meaning that they have in HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureDetail {
    /// The code, for programs.
    pub code: u32,
    /// The message, for people.
    pub message: String,
    /// Further data from the failing party.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

/// The outcome of a node's attempt, with an output of type `V`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeOutcome<V> {
    /// Succeeded with an output.
    Succeeded(V),
    /// Skipped by its condition.
    Skipped,
    /// Suspended until the run's signal with this name arrives, whose value becomes the output.
    SuspendedOn(String),
    /// Ended with a failure.
    Failed(FailureDetail),
    /// Exceeded its deadline.
    TimedOut,
    /// Cancelled: started again unless the run is cancelled.
    Cancelled,
    /// The worker went away: started again.
    Shutdown,
    /// Cancelled together with the run.
    RunCancelled,
}

impl<V> NodeOutcome<V> {
    /// The resulting status of the node.
    pub fn status(&self) -> NodeStatus {
        match self {
            Self::Succeeded(_) => NodeStatus::Completed,
            Self::Skipped => NodeStatus::Skipped,
            Self::SuspendedOn(signal) => NodeStatus::Waiting(signal.clone()),
            Self::Failed(_) | Self::TimedOut => NodeStatus::Failed,
            Self::Cancelled | Self::Shutdown | Self::RunCancelled => NodeStatus::Pending,
        }
    }

    /// Returns true if the node is started again.
    pub fn is_reset(&self) -> bool {
        self.status() == NodeStatus::Pending
    }
}

/// A fact: the outcome of an attempt of this node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeResult<V> {
    /// The name of the node.
    pub node: NodeName,
    /// The outcome of the attempt.
    pub outcome: NodeOutcome<V>,
}

/// The known facts about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphState<V> {
    /// The status of every node.
    pub status: BTreeMap<NodeName, NodeStatus>,
    /// The outputs of the nodes whose status owns one.
    pub output: BTreeMap<NodeName, V>,
}

impl<V> GraphState<V> {
    /// The initial state: every node is pending.
    pub fn new(relation: &Relation) -> Self {
        let pending = |node: &NodeName| (node.clone(), NodeStatus::Pending);
        Self { status: relation.nodes().map(pending).collect(), output: BTreeMap::new() }
    }

    /// The status of a node; pending if it has none.
    pub fn status(&self, node: &NodeName) -> &NodeStatus {
        self.status.get(node).unwrap_or(&NodeStatus::Pending)
    }
}

/// The effect of a failed node on the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailurePolicy {
    /// Nodes that do not depend on it are finished first.
    #[default]
    Drain,
    /// The run settles immediately.
    FailFast,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// No node failed.
    Completed,
    /// A node failed.
    Failed,
}

/// The classification of a state: the next step of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Classification<V> {
    /// These nodes can run, ascending.
    Progressing(GraphState<V>, Vec<NodeName>),
    /// The run has ended.
    Settled(GraphState<V>, RunOutcome),
    /// Nothing can run before a signal is delivered.
    Suspended(GraphState<V>),
    /// Nothing can run, and no signal is awaited. No well-formed state of a run leads here.
    Stuck(GraphState<V>, StuckDiagnostic),
}

impl<V> Classification<V> {
    /// The closed state.
    pub fn state(&self) -> &GraphState<V> {
        match self {
            Self::Progressing(state, _) | Self::Settled(state, _) => state,
            Self::Suspended(state) | Self::Stuck(state, _) => state,
        }
    }

    /// The kind of the step.
    pub fn kind(&self) -> ClassificationKind {
        match self {
            Self::Progressing(..) => ClassificationKind::Progressing,
            Self::Settled(_, outcome) => ClassificationKind::Settled(*outcome),
            Self::Suspended(_) => ClassificationKind::Suspended,
            Self::Stuck(..) => ClassificationKind::Stuck,
        }
    }
}

/// The kind of a step, without the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassificationKind {
    /// Some nodes can run or are running.
    Progressing,
    /// The run has ended.
    Settled(RunOutcome),
    /// Nothing can run before a signal is delivered.
    Suspended,
    /// Nothing can run, and no signal is awaited.
    Stuck,
}

/// The reason that a run is stuck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckDiagnostic {
    /// Each node that is neither terminal nor waiting, with its blockers: predecessors that do not
    /// unblock, and their status. A node that was merely not normalised has no blockers.
    pub blocked: BTreeMap<NodeName, BTreeMap<NodeName, NodeStatus>>,
}
