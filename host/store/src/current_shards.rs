//! The map of the shards as this host knows it.

use std::sync::{Arc, PoisonError, RwLock};

use segno_core::shard::ShardMap;

/// The newest map that this host has read. Copies share it.
#[derive(Debug, Clone)]
pub(crate) struct CurrentShards(Arc<RwLock<Arc<ShardMap>>>);

impl CurrentShards {
    pub(crate) fn new(map: ShardMap) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(map))))
    }

    pub(crate) fn get(&self) -> Arc<ShardMap> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the map by a newer one; an older one is ignored.
    pub(crate) fn advance(&self, map: ShardMap) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if map.epoch > known.epoch {
            *known = Arc::new(map);
        }
    }
}
