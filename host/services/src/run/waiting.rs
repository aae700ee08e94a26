//! The wait sets of deployments at the end of their last attempts, kept on this host while the
//! invocations are suspended. If only some of the awaited results arrived, no attempt is made. A
//! wait set is a hint: a host without it makes an attempt.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use segno_core::id::PromiseId;
use segno_restate::immutable::{CANCEL_SIGNAL, Future, NotificationId};

use super::journal::ServiceJournal;

/// Maximum number of kept wait sets.
const WAITS_MAX: usize = 10_000;

/// The wait set of a deployment.
#[derive(Debug, Clone)]
pub(crate) struct DeploymentWait {
    awaiting: Future,
    /// Number of frames with which the attempt began.
    opened_with: usize,
}

impl DeploymentWait {
    /// A wait set of an attempt that began with this number of frames.
    pub(crate) fn new(awaiting: Future, opened_with: usize) -> Self {
        Self { awaiting, opened_with }
    }

    /// All notifications in the wait set.
    pub(crate) fn leaves(&self) -> BTreeSet<NotificationId> {
        self.awaiting.leaves()
    }

    /// True if the first result may not satisfy the wait.
    pub(crate) fn is_tree(&self) -> bool {
        !self.awaiting.is_race()
    }

    /// True if the results so far satisfy the wait. Also true in doubt.
    pub(crate) fn is_over(&self, journal: &ServiceJournal) -> bool {
        let came = journal.came(self.opened_with);
        came.contains_key(&NotificationId::Signal(CANCEL_SIGNAL))
            || self.awaiting.is_satisfied(|id| came.get(id).copied())
    }
}

/// The wait sets of suspended invocations.
#[derive(Debug, Default)]
pub(crate) struct WaitCache(Mutex<BTreeMap<PromiseId, (u32, DeploymentWait)>>);

impl WaitCache {
    /// Keeps the wait set of an invocation whose journal has this number of records. A wait for the
    /// first of several results is not kept.
    pub(crate) fn keep(&self, id: &PromiseId, waiting: DeploymentWait, recorded: u32) {
        if !waiting.is_tree() {
            return;
        }
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waits.len() >= WAITS_MAX {
            waits.pop_first();
        }
        waits.insert(id.clone(), (recorded, waiting));
    }

    /// Takes the wait set of a resumed invocation. `None` if its journal grew on another host.
    pub(crate) fn take(&self, id: &PromiseId, recorded: u32) -> Option<DeploymentWait> {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (len, waiting) = waits.remove(id)?;
        (len == recorded).then_some(waiting)
    }
}
