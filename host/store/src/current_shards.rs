//! The map of the shards as this host knows it.

use std::sync::{Arc, PoisonError, RwLock};

use segno_core::shard::ShardMap;

/// The newest map that this host has read. Copies share it.
#[derive(Debug, Clone)]
pub(crate) struct CurrentShards(Arc<RwLock<KnownMaps>>);

#[derive(Debug)]
struct KnownMaps {
    reads: Arc<ShardMap>,
    /// [`ShardMap::for_writes`].
    writes: Arc<ShardMap>,
}

impl KnownMaps {
    fn of(map: ShardMap) -> Self {
        Self { writes: Arc::new(map.for_writes()), reads: Arc::new(map) }
    }
}

impl CurrentShards {
    pub(crate) fn new(map: ShardMap) -> Self {
        Self(Arc::new(RwLock::new(KnownMaps::of(map))))
    }

    /// The map for reads.
    pub(crate) fn get(&self) -> Arc<ShardMap> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).reads.clone()
    }

    /// The map for writes.
    pub(crate) fn for_writes(&self) -> Arc<ShardMap> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).writes.clone()
    }

    /// Replaces the map by a newer one; an older one is ignored.
    pub(crate) fn advance(&self, map: ShardMap) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if map.epoch > known.reads.epoch {
            *known = KnownMaps::of(map);
        }
    }
}
