//! The version at which new tasks begin, as far as this host knows.

use std::sync::atomic::{AtomicU64, Ordering};

use segno_core::{
    id::Version,
    promise::{Task, TaskStatus},
};

/// The version at which new tasks begin. It rises when retention removes trees. A host learns the
/// new version when one of its tasks begins at another version than expected. The start of that
/// task then takes the longer path.
#[derive(Debug, Default)]
pub(crate) struct TaskVersions(AtomicU64);

impl TaskVersions {
    /// The version at which a new task begins.
    pub(crate) fn first(&self) -> Version {
        Version(self.0.load(Ordering::Relaxed))
    }

    /// Learns the version from a task that this host created and holds.
    pub(crate) fn learn(&self, task: &Task) {
        if task.status() == TaskStatus::Acquired {
            self.0.fetch_max(task.version.0.saturating_sub(1), Ordering::Relaxed);
        }
    }
}
