//! The state of snapshot making: which snapshots are due.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
};

use segno_core::id::{Digest, PromiseId};
use segno_guest::SnapshotFiles;

/// Maximum number of executions whose last snapshot is remembered.
const REMEMBERED: usize = 10_000;

/// The state of a worker's snapshot making.
#[derive(Default)]
pub(crate) struct SnapshotMaker {
    /// By execution, the length of the journal at the last snapshot, made or attempted.
    last: Mutex<HashMap<PromiseId, u32>>,
    /// Modules whose snapshots cannot be made.
    refused: Mutex<BTreeSet<Digest>>,
    /// True while a snapshot is being made.
    pub(super) busy: AtomicBool,
}

/// A suspended workflow.
#[derive(Clone, Copy)]
pub(crate) struct SuspendedWorkflow<'a> {
    pub id: &'a PromiseId,
    /// The module of the execution.
    pub module: Digest,
    /// The length of the journal.
    pub len: u32,
    /// Memory of the instance, in bytes.
    pub footprint: usize,
}

impl SnapshotMaker {
    pub(super) fn last(&self) -> MutexGuard<'_, HashMap<PromiseId, u32>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn refused(&self) -> MutexGuard<'_, BTreeSet<Digest>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, id: &PromiseId, len: u32) {
        let mut last = self.last();
        if last.len() >= REMEMBERED {
            last.clear();
        }
        last.insert(id.clone(), len);
    }

    pub(super) fn is_due(&self, files: &SnapshotFiles, of: SuspendedWorkflow<'_>) -> bool {
        // Most journals are short and need no look-up.
        files.policy.is_due(of.len, 0)
            && files.policy.is_due(of.len, self.last().get(of.id).copied().unwrap_or_default())
            && of.footprint <= files.policy.instance_bytes()
            && !self.refused().contains(&of.module)
    }
}
