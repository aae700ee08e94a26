//! The version at which this host takes new tasks to begin.

use std::sync::atomic::{AtomicU64, Ordering};

use segno_core::{
    id::Version,
    promise::{Task, TaskStatus},
};

/// The version rises where retention removes trees. A host learns of that when one of its tasks
/// begins at another version than expected: the start of that task takes the longer way.
#[derive(Debug, Default)]
pub struct TaskVersions(AtomicU64);

impl TaskVersions {
    /// The version at which a new task begins.
    pub fn first(&self) -> Version {
        Version(self.0.load(Ordering::Relaxed))
    }

    /// Takes note of a task that this host made and holds.
    pub fn learn(&self, task: &Task) {
        if task.status() == TaskStatus::Acquired {
            self.0.fetch_max(task.version.0.saturating_sub(1), Ordering::Relaxed);
        }
    }
}
