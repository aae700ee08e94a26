//! Stored rows of nodes.

use serde::{Deserialize, Serialize};

/// Row of a node. A node without a row has not begun.
///
/// Only events of the node itself are written. That a node is closed by a failure of a predecessor
/// follows from the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRow {
    pub state: NodeState,
    /// Number of the newest attempt, from 0.
    pub attempt: u32,
}

/// State of a node. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum NodeState {
    /// To be run again, as the attempt of the row.
    Pending = 1,
    /// The attempt of the row was created.
    Running = 2,
    /// Waits for the signal that the plan names.
    Waiting = 3,
    /// Finished: its output is the value of its attempt, or of its signal.
    Completed = 4,
    /// The attempt, or the signal, did not succeed.
    Failed = 5,
    /// The condition did not hold.
    Skipped = 6,
}

impl NodeRow {
    /// True if this row is further along than `before`. Stores apply the same order, attempts
    /// first, then states by number, so a late duplicate of a write has no effect.
    pub fn follows(&self, before: &Self) -> bool {
        (self.attempt, self.state) > (before.attempt, before.state)
    }
}

impl NodeState {
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Running, Self::Waiting, Self::Completed, Self::Failed, Self::Skipped];

    pub fn number(self) -> u8 {
        self as u8
    }

    /// The state with this stored number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.number() == number)
    }

    /// Name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// True if the state never changes again.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Skipped => true,
            Self::Pending | Self::Running | Self::Waiting => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_later_follows_what_came_before() {
        let row = |attempt, state| NodeRow { state, attempt };
        let way = [
            row(0, NodeState::Pending),
            row(0, NodeState::Running),
            row(1, NodeState::Pending),
            row(1, NodeState::Running),
            row(1, NodeState::Completed),
        ];
        for (place, earlier) in way.iter().enumerate() {
            assert!(!earlier.follows(earlier));
            assert!(
                way[place + 1..].iter().all(|row| row.follows(earlier) && !earlier.follows(row))
            );
        }
        assert!(row(0, NodeState::Failed).follows(&row(0, NodeState::Waiting)));
    }

    #[test]
    fn stored_numbers_come_back() {
        for number in 0..=u8::MAX {
            assert_eq!(NodeState::from_number(number).is_some(), (1..=6).contains(&number));
        }
        assert_eq!(NodeState::Skipped.number(), 6);
    }
}
