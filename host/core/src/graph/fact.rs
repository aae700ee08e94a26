//! The history of a run: facts about its nodes, which are only ever added.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{NodeRow, NodeState};
use crate::{
    id::{PromiseId, Version},
    time::Timestamp,
    value::Text,
};

/// The key of a fact: the run, the node, the attempt and the state that it came to.
pub type NodeFactKey = (PromiseId, Text, u32, NodeState);

/// A fact: a node came to a state. The first one of a key stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFact {
    /// The claim on the run under which it was written. The clock may be set back between two claims,
    /// and never within one.
    pub claim: Version,
    /// When it was written.
    pub at: Timestamp,
    /// Of a node that is begun again, why.
    pub reset: Option<Reset>,
}

/// The reason why a node is begun again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reset {
    /// Its attempt was cancelled from outside.
    Cancelled,
    /// Its attempt failed, and the plan wants another one.
    Failed {
        /// The next attempt does not begin before.
        begins_at: Timestamp,
    },
}

/// A line of the history of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEvent {
    /// The node.
    pub node: Text,
    /// The state that it came to, and its attempt.
    pub row: NodeRow,
    /// When and why.
    pub fact: NodeFact,
}

impl Reset {
    /// The stored number of the reason. It outlives the code.
    pub fn number(self) -> u8 {
        match self {
            Self::Cancelled => 1,
            Self::Failed { .. } => 2,
        }
    }

    /// When the next attempt begins at the earliest, if it does not begin at once.
    pub fn begins_at(self) -> Option<Timestamp> {
        match self {
            Self::Cancelled => None,
            Self::Failed { begins_at } => Some(begins_at),
        }
    }

    /// The reason in these stored columns; `None` if they hold none.
    pub fn from_stored(number: u8, begins_at: Option<Timestamp>) -> Option<Self> {
        match (number, begins_at) {
            (1, _) => Some(Self::Cancelled),
            (2, Some(begins_at)) => Some(Self::Failed { begins_at }),
            _ => None,
        }
    }
}

/// What the history of a run says of the nodes that are begun again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resets {
    /// How often the attempts of a node were cancelled from outside.
    pub cancelled: BTreeMap<Text, u32>,
    /// When the attempt with this number of a node begins at the earliest.
    pub begins_at: BTreeMap<(Text, u32), Timestamp>,
}

impl Resets {
    /// The resets in this history.
    pub fn of<'a>(history: impl IntoIterator<Item = &'a NodeEvent>) -> Self {
        let mut resets = Self::default();
        for NodeEvent { node, row, fact } in history {
            match fact.reset {
                Some(Reset::Cancelled) => *resets.cancelled.entry(node.clone()).or_default() += 1,
                Some(Reset::Failed { begins_at }) => {
                    resets.begins_at.insert((node.clone(), row.attempt), begins_at);
                }
                None => {}
            }
        }
        resets
    }
}
