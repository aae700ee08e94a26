//! The cache of suspended workflows with their instances, so that resuming one needs no replay.

use segno_core::id::{Digest, PromiseId, Version};
use segno_guest::Workflow;

use super::{
    instance_cache::{InstanceCache, WarmBudget},
    recording::SharedRecorder,
};

/// An instance whose commands and events are all committed.
pub(crate) struct WarmInstance {
    pub instance: Box<dyn Workflow>,
    /// The recorder, with the position in the journal.
    pub recorder: SharedRecorder,
    /// The version at which the instance was suspended.
    pub version: Version,
    /// The length of the journal at the suspension.
    pub journal_len: u32,
    /// The module that the instance runs.
    pub module: Digest,
    /// Number of signals delivered so far.
    pub signals: u32,
}

impl WarmInstance {
    fn fits(&self, version: Version, module: Digest, journal_len: u32) -> bool {
        self.version.next() == version && self.module == module && self.journal_len == journal_len
    }
}

/// Keeps the most recently suspended instances within a budget.
pub(crate) struct WarmCache(InstanceCache<WarmInstance>);

impl WarmCache {
    /// An empty cache.
    pub(crate) fn new(budget: WarmBudget) -> Self {
        Self(InstanceCache::new(budget))
    }

    /// Keeps `warm`, and evicts the oldest instances beyond the budget.
    pub(crate) fn put(&self, id: PromiseId, warm: WarmInstance) {
        self.0.put(id, warm.instance.footprint(), warm);
    }

    /// Removes the instance of `id`, and returns it if it may continue from `version` and
    /// `journal_len`.
    pub(crate) fn take(
        &self,
        id: &PromiseId,
        version: Version,
        module: Digest,
        journal_len: u32,
    ) -> Option<WarmInstance> {
        self.0.take(id).filter(|warm| warm.fits(version, module, journal_len))
    }

    /// True if [`WarmCache::take`] would return an instance.
    pub(crate) fn holds(
        &self,
        id: &PromiseId,
        version: Version,
        module: Digest,
        journal_len: u32,
    ) -> bool {
        self.0.holds(id, |warm| warm.fits(version, module, journal_len))
    }

    /// The number of instances, and the bytes of their memory.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.0.size()
    }

    /// Drops the instance that was suspended first, of this module or of any. Returns false if
    /// there is none.
    pub(crate) fn drop_oldest(&self, module: Option<Digest>) -> bool {
        self.0.drop_oldest(|warm| module.is_none_or(|module| warm.module == module))
    }

    /// Drops all instances.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }
}
