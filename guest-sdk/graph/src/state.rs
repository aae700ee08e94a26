//! What is known of a run: a status for each node, an output for some. What follows from it is in
//! [`rules`](crate::rules).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{name::NodeName, relation::Relation};

/// Where a node stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// Not begun, or to be begun again.
    Pending,
    /// An attempt was made; says nothing about whether it is alive.
    Running,
    /// An attempt was cut off; as good as pending.
    Interrupted,
    /// Done, with an output.
    Completed,
    /// Failed, or closed by the failure of a node before it.
    Failed,
    /// Left out; its successors go on.
    Skipped,
    /// Until the run's signal with this name is delivered.
    Waiting(String),
    /// Replaced by other nodes. Never produced: the topology of a run is fixed.
    Rewritten,
}

impl NodeStatus {
    /// Whether nothing changes it any more.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Skipped | Self::Rewritten => true,
            Self::Pending | Self::Running | Self::Interrupted | Self::Waiting(_) => false,
        }
    }

    /// Whether successors may begin.
    pub fn unblocks(&self) -> bool {
        match self {
            Self::Completed | Self::Skipped | Self::Rewritten => true,
            Self::Pending | Self::Running | Self::Interrupted => false,
            Self::Failed | Self::Waiting(_) => false,
        }
    }

    /// Whether the node has an output.
    pub fn owns_output(&self) -> bool {
        match self {
            Self::Completed | Self::Rewritten => true,
            Self::Pending | Self::Running | Self::Interrupted => false,
            Self::Failed | Self::Skipped | Self::Waiting(_) => false,
        }
    }

    /// Whether a failure before the node closes it.
    pub fn is_propagatable(&self) -> bool {
        match self {
            Self::Pending | Self::Waiting(_) => true,
            Self::Running | Self::Interrupted => false,
            Self::Completed | Self::Failed | Self::Skipped | Self::Rewritten => false,
        }
    }
}

/// Why a node failed. Codes 400 to 599 have the meaning that they have in HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureDetail {
    /// The code, for programs.
    pub code: u32,
    /// The message, for people.
    pub message: String,
    /// Further data of the failing side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

/// How an attempt of a node ended, with an output of type `V`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeOutcome<V> {
    /// With an output.
    Succeeded(V),
    /// Left out.
    Skipped,
    /// It waits for the run's signal with this name, whose value becomes its output.
    SuspendedOn(String),
    /// With a failure.
    Failed(FailureDetail),
    /// Not in time.
    TimedOut,
    /// Cancelled: begun again unless the run is.
    Cancelled,
    /// Its worker went away: begun again.
    Shutdown,
    /// Cancelled together with the run.
    RunCancelled,
}

impl<V> NodeOutcome<V> {
    /// The status that it leaves.
    pub fn status(&self) -> NodeStatus {
        match self {
            Self::Succeeded(_) => NodeStatus::Completed,
            Self::Skipped => NodeStatus::Skipped,
            Self::SuspendedOn(signal) => NodeStatus::Waiting(signal.clone()),
            Self::Failed(_) | Self::TimedOut => NodeStatus::Failed,
            Self::Cancelled | Self::Shutdown | Self::RunCancelled => NodeStatus::Pending,
        }
    }

    /// Whether the node is begun again.
    pub fn is_reset(&self) -> bool {
        self.status() == NodeStatus::Pending
    }
}

/// A fact: how an attempt of this node ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeResult<V> {
    /// The node.
    pub node: NodeName,
    /// How it ended.
    pub outcome: NodeOutcome<V>,
}

/// What is known of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphState<V> {
    /// The status of every node.
    pub status: BTreeMap<NodeName, NodeStatus>,
    /// The outputs of the nodes whose status owns one.
    pub output: BTreeMap<NodeName, V>,
}

impl<V> GraphState<V> {
    /// Before anything happened: every node is pending.
    pub fn new(relation: &Relation) -> Self {
        let pending = |node: &NodeName| (node.clone(), NodeStatus::Pending);
        Self { status: relation.nodes().map(pending).collect(), output: BTreeMap::new() }
    }

    /// The status of a node; a missing one is pending.
    pub fn status(&self, node: &NodeName) -> &NodeStatus {
        self.status.get(node).unwrap_or(&NodeStatus::Pending)
    }
}

/// What a failed node means for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailurePolicy {
    /// What does not depend on it is finished first.
    #[default]
    Drain,
    /// The run settles at once.
    FailFast,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// No node failed.
    Completed,
    /// A node failed.
    Failed,
}

/// What a state calls for.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<V> {
    /// These nodes can run, ascending.
    Progressing(GraphState<V>, Vec<NodeName>),
    /// The run is over.
    Settled(GraphState<V>, RunOutcome),
    /// Nothing can run before a signal is delivered.
    Suspended(GraphState<V>),
    /// Nothing can run and nothing will come. No well-formed state of a run leads here.
    Stuck(GraphState<V>, StuckDiagnostic),
}

impl<V> Step<V> {
    /// The closed state.
    pub fn state(&self) -> &GraphState<V> {
        match self {
            Self::Progressing(state, _) | Self::Settled(state, _) => state,
            Self::Suspended(state) | Self::Stuck(state, _) => state,
        }
    }

    /// Which step this is.
    pub fn kind(&self) -> StepKind {
        match self {
            Self::Progressing(..) => StepKind::Progressing,
            Self::Settled(_, outcome) => StepKind::Settled(*outcome),
            Self::Suspended(_) => StepKind::Suspended,
            Self::Stuck(..) => StepKind::Stuck,
        }
    }
}

/// Which of the four steps, without the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// There are nodes that can run, or run.
    Progressing,
    /// The run is over.
    Settled(RunOutcome),
    /// Nothing can run before a signal is delivered.
    Suspended,
    /// Nothing can run and nothing will come.
    Stuck,
}

/// Why a run is stuck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckDiagnostic {
    /// Each node that is neither terminal nor waiting, with what blocks it: predecessors that do
    /// not unblock, and their status. A node that only was not normalised has none.
    pub blocked: BTreeMap<NodeName, BTreeMap<NodeName, NodeStatus>>,
}
