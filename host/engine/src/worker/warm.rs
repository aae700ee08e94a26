//! Suspended workflows with their instances in memory: resuming one costs no replay.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use segno_core::id::{Digest, PromiseId, Version};
use segno_guest::Workflow;

use super::recording::SharedRecorder;

/// An instance whose commands and events are all committed.
pub struct Warm {
    /// The instance.
    pub instance: Box<dyn Workflow>,
    /// The recorder with the journal's position.
    pub recorder: SharedRecorder,
    /// The version at which it was suspended.
    pub version: Version,
    /// The length of the journal at the suspension.
    pub journal_len: u32,
    /// The module that the instance runs.
    pub module: Digest,
    /// Number of signals delivered.
    pub signals: u32,
}

impl Warm {
    fn fits(&self, version: Version, module: Digest, journal_len: u32) -> bool {
        self.version.next() == version && self.module == module && self.journal_len == journal_len
    }
}

/// The limits of the cache.
#[derive(Debug, Clone, Copy)]
pub struct WarmBudget {
    /// Maximum number of instances.
    pub instances: usize,
    /// Maximum number of bytes of guest memory.
    pub bytes: usize,
}

/// Keeps the most recently suspended instances within a budget.
pub struct WarmCache {
    budget: WarmBudget,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    entries: HashMap<PromiseId, (u64, usize, Warm)>,
    order: std::collections::BTreeMap<u64, PromiseId>,
    bytes: usize,
    clock: u64,
}

impl WarmCache {
    /// An empty cache.
    pub fn new(budget: WarmBudget) -> Self {
        Self { budget, kept: Mutex::default() }
    }

    /// Keeps `warm`, and drops the oldest ones beyond the budget.
    pub fn put(&self, id: PromiseId, warm: Warm) {
        let size = warm.instance.footprint();
        if size > self.budget.bytes || self.budget.instances == 0 {
            return;
        }
        let mut evicted = Vec::new();
        {
            let mut kept = self.lock();
            evicted.extend(kept.remove(&id));
            kept.clock += 1;
            let stamp = kept.clock;
            kept.bytes += size;
            kept.order.insert(stamp, id.clone());
            kept.entries.insert(id, (stamp, size, warm));
            while kept.entries.len() > self.budget.instances || kept.bytes > self.budget.bytes {
                let Some(oldest) = kept.order.first_key_value().map(|(_, id)| id.clone()) else {
                    break;
                };
                evicted.extend(kept.remove(&oldest));
            }
        }
        // Dropped after the lock is released: returning an instance to the pool takes a moment.
        drop(evicted);
    }

    /// Hands over the instance of `id` if it may go on from `version` and `journal_len`; drops it
    /// otherwise.
    pub fn take(
        &self,
        id: &PromiseId,
        version: Version,
        module: Digest,
        journal_len: u32,
    ) -> Option<Warm> {
        let warm = self.lock().remove(id)?;
        warm.fits(version, module, journal_len).then_some(warm)
    }

    /// Whether [`WarmCache::take`] would answer with an instance.
    pub fn holds(
        &self,
        id: &PromiseId,
        version: Version,
        module: Digest,
        journal_len: u32,
    ) -> bool {
        let kept = self.lock();
        kept.entries.get(id).is_some_and(|(_, _, warm)| warm.fits(version, module, journal_len))
    }

    /// The number of instances kept, and the bytes of their memory.
    pub fn size(&self) -> (usize, usize) {
        let kept = self.lock();
        (kept.entries.len(), kept.bytes)
    }

    /// Drops the instance that was suspended first, of this module or of any; false: there is none.
    pub fn drop_oldest(&self, module: Option<Digest>) -> bool {
        let dropped = {
            let mut kept = self.lock();
            let is_meant = |id: &&PromiseId| {
                let entry = kept.entries.get(*id);
                entry.is_some_and(|(_, _, warm)| module.is_none_or(|module| warm.module == module))
            };
            let oldest = kept.order.values().find(is_meant).cloned();
            oldest.and_then(|id| kept.remove(&id))
        };
        dropped.is_some()
    }

    /// Drops everything.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, id: &PromiseId) -> Option<Warm> {
        let (stamp, size, warm) = self.entries.remove(id)?;
        self.order.remove(&stamp);
        self.bytes -= size;
        Some(warm)
    }
}
