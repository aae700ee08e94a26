//! History of a graph run: facts about its nodes. Facts are append-only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{NodeRow, NodeState};
use crate::{
    id::{PromiseId, Version},
    time::Timestamp,
    value::Text,
};

/// Key of a fact: the run, the node, the attempt and the node's new state.
pub type NodeFactKey = (PromiseId, Text, u32, NodeState);

/// A fact: a node entered a state. The first fact of a key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFact {
    /// Version of the claim on the run under which the fact was written. The clock may be set back
    /// between two claims, but never within one.
    pub claim: Version,
    pub at: Timestamp,
    /// The reason, if the node is reset.
    pub reset: Option<ResetReason>,
}

/// The reason why a node is reset to run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResetReason {
    /// The attempt was cancelled from outside the run.
    Cancelled,
    /// The attempt failed, and the plan allows another one.
    Failed {
        /// Earliest start of the next attempt.
        begins_at: Timestamp,
    },
}

/// An entry of a run's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEvent {
    pub node: Text,
    /// The state that the node entered, and the attempt.
    pub row: NodeRow,
    /// Time and reason.
    pub fact: NodeFact,
}

impl ResetReason {
    /// Stored number of the reason. Must never change.
    pub fn number(self) -> u8 {
        match self {
            Self::Cancelled => 1,
            Self::Failed { .. } => 2,
        }
    }

    /// Earliest start of the next attempt. `None`: it starts immediately.
    pub fn begins_at(self) -> Option<Timestamp> {
        match self {
            Self::Cancelled => None,
            Self::Failed { begins_at } => Some(begins_at),
        }
    }

    /// The reason in these stored columns. `None` if they hold none.
    pub fn from_stored(number: u8, begins_at: Option<Timestamp>) -> Option<Self> {
        match (number, begins_at) {
            (1, _) => Some(Self::Cancelled),
            (2, Some(begins_at)) => Some(Self::Failed { begins_at }),
            _ => None,
        }
    }
}

/// Resets of a run's nodes, taken from its history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResetHistory {
    /// Number of a node's attempts that were cancelled from outside.
    pub cancelled: BTreeMap<Text, u32>,
    /// Earliest start of an attempt, by node and attempt number.
    pub begins_at: BTreeMap<(Text, u32), Timestamp>,
}

impl ResetHistory {
    /// The resets in this history.
    pub fn of<'a>(history: impl IntoIterator<Item = &'a NodeEvent>) -> Self {
        let mut resets = Self::default();
        for NodeEvent { node, row, fact } in history {
            match fact.reset {
                Some(ResetReason::Cancelled) => {
                    *resets.cancelled.entry(node.clone()).or_default() += 1
                }
                Some(ResetReason::Failed { begins_at }) => {
                    resets.begins_at.insert((node.clone(), row.attempt), begins_at);
                }
                None => {}
            }
        }
        resets
    }
}
