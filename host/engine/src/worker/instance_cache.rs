//! A cache of instances in memory: the most recent ones, up to a budget.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use segno_core::id::PromiseId;

/// The limits of a cache of instances.
#[derive(Debug, Clone, Copy)]
pub struct WarmBudget {
    /// Maximum number of instances.
    pub instances: usize,
    /// Maximum number of bytes of guest memory.
    pub bytes: usize,
}

/// The most recently added entries, by invocation.
pub(super) struct InstanceCache<T> {
    budget: WarmBudget,
    kept: Mutex<CachedInstances<T>>,
}

struct CachedInstances<T> {
    entries: HashMap<PromiseId, (u64, usize, T)>,
    order: BTreeMap<u64, PromiseId>,
    bytes: usize,
    clock: u64,
}

impl<T> InstanceCache<T> {
    /// An empty cache.
    pub(super) fn new(budget: WarmBudget) -> Self {
        Self { budget, kept: Mutex::default() }
    }

    /// Keeps `entry`, which has `size` bytes, and evicts the oldest entries beyond the budget.
    pub(super) fn put(&self, id: PromiseId, size: usize, entry: T) {
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
            kept.entries.insert(id, (stamp, size, entry));
            while kept.entries.len() > self.budget.instances || kept.bytes > self.budget.bytes {
                let Some(oldest) = kept.order.first_key_value().map(|(_, id)| id.clone()) else {
                    break;
                };
                evicted.extend(kept.remove(&oldest));
            }
        }
        // Evicted entries are dropped after the lock is released, since returning an instance to
        // the pool takes a moment.
        drop(evicted);
    }

    /// Removes and returns the entry of `id`.
    pub(super) fn take(&self, id: &PromiseId) -> Option<T> {
        self.lock().remove(id)
    }

    /// True if there is an entry of `id` that matches.
    pub(super) fn holds(&self, id: &PromiseId, is_meant: impl Fn(&T) -> bool) -> bool {
        self.lock().entries.get(id).is_some_and(|(_, _, entry)| is_meant(entry))
    }

    /// The number of entries, and their total size in bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        let kept = self.lock();
        (kept.entries.len(), kept.bytes)
    }

    /// Drops the oldest entry that matches. Returns false if there is none.
    pub(super) fn drop_oldest(&self, is_meant: impl Fn(&T) -> bool) -> bool {
        let dropped = {
            let mut kept = self.lock();
            let entries = &kept.entries;
            let is_it =
                |id: &&PromiseId| entries.get(*id).is_some_and(|(_, _, entry)| is_meant(entry));
            let oldest = kept.order.values().find(is_it).cloned();
            oldest.and_then(|id| kept.remove(&id))
        };
        dropped.is_some()
    }

    /// Drops all entries.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    fn lock(&self) -> MutexGuard<'_, CachedInstances<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for CachedInstances<T> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: BTreeMap::new(), bytes: 0, clock: 0 }
    }
}

impl<T> CachedInstances<T> {
    fn remove(&mut self, id: &PromiseId) -> Option<T> {
        let (stamp, size, entry) = self.entries.remove(id)?;
        self.order.remove(&stamp);
        self.bytes -= size;
        Some(entry)
    }
}
