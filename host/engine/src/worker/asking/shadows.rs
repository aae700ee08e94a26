//! The cache of shadows for further questions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use segno_core::id::{Digest, PromiseId};
use tokio::sync::OwnedMutexGuard;

use super::replica::QueryReplica;
use crate::worker::instance_cache::{InstanceCache, WarmBudget};

/// The cache limits: usually a sixth of the instance pool.
const BUDGET: WarmBudget = WarmBudget { instances: 64, bytes: 64 << 20 };

type ReplicaLocks = HashMap<PromiseId, Weak<tokio::sync::Mutex<()>>>;

/// The shadows of recently asked workflows.
pub struct QueryReplicas {
    kept: InstanceCache<QueryReplica>,
    turns: Mutex<ReplicaLocks>,
}

impl Default for QueryReplicas {
    fn default() -> Self {
        Self { kept: InstanceCache::new(BUDGET), turns: Mutex::default() }
    }
}

impl QueryReplicas {
    /// Drops the least recently asked shadow, of this module or of any. Returns false if there is
    /// none.
    pub fn drop_oldest(&self, module: Option<Digest>) -> bool {
        self.kept.drop_oldest(|shadow| module.is_none_or(|module| shadow.module() == module))
    }

    /// Drops all shadows.
    pub fn clear(&self) {
        self.kept.clear();
    }

    /// Waits until no other question to `id` is running.
    pub(super) async fn turn(&self, id: &PromiseId) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            let known = turns.get(id).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                turns.retain(|_, turn| turn.strong_count() > 0);
                let turn = Arc::default();
                turns.insert(id.clone(), Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }

    pub(super) fn take(&self, id: &PromiseId) -> Option<QueryReplica> {
        self.kept.take(id)
    }

    pub(super) fn keep(&self, id: &PromiseId, shadow: QueryReplica) {
        if shadow.can_go_on() {
            self.kept.put(id.clone(), shadow.footprint(), shadow);
        }
    }
}
