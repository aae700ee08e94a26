//! The cached descriptions of modules, which never change.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::id::Digest;
use segno_model::ModuleDescription;

/// Maximum number of cached descriptions.
const MODULES: usize = 512;

/// The descriptions of modules by their digests.
#[derive(Debug, Default)]
pub struct DescriptionCache(Mutex<HashMap<Digest, Arc<ModuleDescription>>>);

impl DescriptionCache {
    /// The description of `module`. `None` if it is not cached.
    pub fn get(&self, module: Digest) -> Option<Arc<ModuleDescription>> {
        self.kept().get(&module).cloned()
    }

    /// Caches the description of `module`. A full cache is emptied first.
    pub fn put(&self, module: Digest, description: Arc<ModuleDescription>) {
        let mut kept = self.kept();
        if kept.len() >= MODULES {
            kept.clear();
        }
        kept.insert(module, description);
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Digest, Arc<ModuleDescription>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
