//! Where the nodes of a run stand, in one byte each, and how many stand where.

/// Where a node stands: [`NodeStatus`](crate::state::NodeStatus) in one byte. A running node has been
/// dispatched since the last recovery, and no more than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not begun, or to be begun again.
    Pending,
    /// Dispatched.
    Running,
    /// Until a signal is delivered; see [`Progress::waiting_for`](super::Progress::waiting_for).
    Waiting,
    /// Done, with an output.
    Completed,
    /// Left out.
    Skipped,
    /// Failed, or closed by a failure.
    Failed,
}

/// How many nodes have each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pending, ready or not.
    pub pending: usize,
    /// Running.
    pub running: usize,
    /// Waiting for a signal.
    pub waiting: usize,
    /// Completed.
    pub completed: usize,
    /// Skipped.
    pub skipped: usize,
    /// Failed.
    pub failed: usize,
}

impl Status {
    /// Whether nothing changes it any more.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Skipped | Self::Failed => true,
            Self::Pending | Self::Running | Self::Waiting => false,
        }
    }

    /// Whether successors may begin.
    pub fn unblocks(self) -> bool {
        match self {
            Self::Completed | Self::Skipped => true,
            Self::Pending | Self::Running | Self::Waiting | Self::Failed => false,
        }
    }
}

impl Counts {
    /// The count of this status.
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
