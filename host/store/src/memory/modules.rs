//! Modules, read from the model.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    id::{Digest, PromiseId},
    promise::TaskStatus,
    source_module::SourceModule,
    time::Timestamp,
};

use super::{MemoryStore, kept::MemoryModule};
use crate::{ModuleRow, Modules, NewModule, StoreError};

#[async_trait]
impl Modules for MemoryStore {
    async fn put(&self, module: NewModule) -> Result<(), StoreError> {
        let NewModule { digest, component, description, facts, created_at } = module;
        let mut kept = self.kept();
        kept.modules.entry(digest).or_insert(MemoryModule {
            component,
            description,
            facts: facts.clone(),
            created_at,
        });
        Arc::make_mut(&mut kept.model).put_module(digest, facts);
        Ok(())
    }

    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        Ok(self.kept().modules.get(&digest).map(|module| module.component.clone()))
    }

    async fn named(&self, alias: &str) -> Result<Option<Digest>, StoreError> {
        let kept = self.kept();
        let mut aliases = kept.model.aliases();
        Ok(aliases.find(|(known, _)| known.as_str() == alias).map(|(_, digest)| *digest))
    }

    async fn list(&self) -> Result<Vec<ModuleRow>, StoreError> {
        let kept = self.kept();
        let rows = kept.modules.iter().map(|(digest, module)| {
            let aliases = kept.model.aliases().filter(|(_, named)| *named == digest);
            ModuleRow {
                digest: *digest,
                size: module.component.len() as u64,
                created_at: module.created_at,
                description: module.description.clone(),
                aliases: aliases.map(|(alias, _)| alias.to_string()).collect(),
            }
        });
        Ok(rows.collect())
    }

    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        let kept = self.kept();
        let unfinished = kept.model.tasks().filter(|task| task.status() != TaskStatus::Fulfilled);
        let mut in_use = BTreeMap::new();
        for module in unfinished.filter_map(|task| task.module) {
            *in_use.entry(module).or_default() += 1;
        }
        Ok(in_use)
    }

    async fn unfinished(&self, digest: Digest, limit: u32) -> Result<Vec<PromiseId>, StoreError> {
        let kept = self.kept();
        let runs = |id: &&PromiseId| {
            let task = kept.model.task(id).filter(|task| task.status() != TaskStatus::Fulfilled);
            task.is_some_and(|task| task.module == Some(digest))
        };
        Ok(kept.numbers.values().filter(runs).take(limit as usize).cloned().collect())
    }

    async fn remove(&self, digest: Digest, before: Timestamp) -> Result<bool, StoreError> {
        let mut kept = self.kept();
        let old = kept.modules.get(&digest).is_some_and(|module| module.created_at <= before);
        let used = kept.model.aliases().any(|(_, named)| *named == digest)
            || kept.model.tasks().any(|task| task.module == Some(digest))
            || kept
                .modules
                .values()
                .any(|module| SourceModule::runtime_of(&module.component) == Some(digest));
        if !old || used {
            return Ok(false);
        }
        kept.modules.remove(&digest);
        Arc::make_mut(&mut kept.model).remove_module(&digest);
        Ok(true)
    }
}
