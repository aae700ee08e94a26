//! A cache of the coordinators of suspended graph runs, so that resuming a run reads no rows.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use segno_core::id::{PromiseId, Version};

use crate::graph::Coordinator;

/// Keeps the most recently suspended coordinators, up to a number of bytes.
pub(crate) struct RunCache {
    budget: usize,
    kept: Mutex<CachedRuns>,
}

#[derive(Default)]
struct CachedRuns {
    runs: BTreeMap<PromiseId, CachedRun>,
    order: BTreeMap<u64, PromiseId>,
    bytes: usize,
    clock: u64,
}

struct CachedRun {
    coordinator: Coordinator,
    version: Version,
    stamp: u64,
    bytes: usize,
}

impl RunCache {
    /// An empty cache with a limit in bytes.
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, kept: Mutex::default() }
    }

    /// Keeps a coordinator that was suspended at this version, and drops the oldest ones beyond the
    /// limit.
    pub(crate) fn put(&self, id: PromiseId, version: Version, coordinator: Coordinator) {
        let bytes = coordinator.footprint();
        if bytes > self.budget {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(&id);
        kept.clock += 1;
        let stamp = kept.clock;
        kept.bytes += bytes;
        kept.order.insert(stamp, id.clone());
        kept.runs.insert(id, CachedRun { coordinator, version, stamp, bytes });
        while kept.bytes > self.budget
            && let Some((_, oldest)) = kept.order.pop_first()
        {
            kept.remove(&oldest);
        }
    }

    /// Removes the coordinator of `id`, and returns it if its state is current: no other holder had
    /// a claim between its suspension and this version.
    pub(crate) fn take(&self, id: &PromiseId, version: Version) -> Option<Coordinator> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let run = kept.remove(id)?;
        (run.version.next() == version).then_some(run.coordinator)
    }

    /// Drops all coordinators.
    pub(crate) fn clear(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = CachedRuns::default();
    }
}

impl CachedRuns {
    fn remove(&mut self, id: &PromiseId) -> Option<CachedRun> {
        let run = self.runs.remove(id)?;
        self.order.remove(&run.stamp);
        self.bytes -= run.bytes;
        Some(run)
    }
}
