//! The status of each node in one byte, and counts by status.

/// The status of a node: [`NodeStatus`](crate::state::NodeStatus) in one byte. Running means only
/// that the node was dispatched since the last recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not started, or to be started again.
    Pending,
    /// Dispatched since the last recovery.
    Running,
    /// Waiting until a signal is delivered; see
    /// [`RunProgress::waiting_for`](super::RunProgress::waiting_for).
    Waiting,
    /// Ended with an output.
    Completed,
    /// Ended without an output, because its condition is false.
    Skipped,
    /// Failed, or closed by a failure.
    Failed,
}

/// Number of nodes by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// Number of pending nodes, ready or not.
    pub pending: usize,
    /// Number of running nodes.
    pub running: usize,
    /// Number of nodes that wait for a signal.
    pub waiting: usize,
    /// Number of completed nodes.
    pub completed: usize,
    /// Number of skipped nodes.
    pub skipped: usize,
    /// Number of failed nodes.
    pub failed: usize,
}

impl Status {
    /// Returns true if the status is final.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Skipped | Self::Failed => true,
            Self::Pending | Self::Running | Self::Waiting => false,
        }
    }

    /// Returns true if successors may start.
    pub fn unblocks(self) -> bool {
        match self {
            Self::Completed | Self::Skipped => true,
            Self::Pending | Self::Running | Self::Waiting | Self::Failed => false,
        }
    }
}

impl StatusCounts {
    /// The counter of this status.
    pub(super) fn of(&mut self, status: Status) -> &mut usize {
        match status {
            Status::Pending => &mut self.pending,
            Status::Running => &mut self.running,
            Status::Waiting => &mut self.waiting,
            Status::Completed => &mut self.completed,
            Status::Skipped => &mut self.skipped,
            Status::Failed => &mut self.failed,
        }
    }
}
