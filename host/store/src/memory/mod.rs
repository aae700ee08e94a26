//! The in-memory store: the core's model behind a mutex, whole journals included. Nothing survives
//! the process.

mod admissions;
mod call_tree;
mod due;
mod kept;
mod modules;
mod objects;
#[cfg(test)]
mod part;
mod read;
mod scan;
mod streams;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use segno_core::{
    command::Command, config::Config, delta::Delta, effect::Effect, model::Model, reply::Reply,
};
use segno_env::{Clock, Env};

use self::kept::MemoryContent;
use super::{
    CallTree, CommitMetrics, Hints, Modules, Read, Scan, Store, StoreError, WorkQueue,
    hints::{self, CommitChanges},
};

pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    config: Config,
    hints: Arc<dyn Hints>,
    kept: Mutex<MemoryContent>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(config: Config, env: Env, hints: Arc<dyn Hints>) -> Arc<Self> {
        let kept = Mutex::new(MemoryContent::new());
        Arc::new(Self { clock: env.clock, config, hints, kept })
    }

    /// A snapshot of all rows, for decisions made outside this store.
    pub fn rows(&self) -> Arc<Model> {
        Arc::clone(&self.kept().model)
    }

    /// Applies a delta decided elsewhere, and reports its hints.
    pub fn write(&self, delta: &Delta, mut effects: Vec<Effect>) {
        let mut kept = self.kept();
        kept.apply(delta);
        hints::drop_stale(&mut effects, &kept.model);
        self.hints.committed(&effects, &kept.model);
        let mut changes = CommitChanges::watched_by(&*self.hints);
        changes.add(delta);
        changes.tell(&*self.hints);
    }

    /// A copy of the store with the same rows.
    fn copied(&self) -> Self {
        Self {
            clock: self.clock.clone(),
            config: self.config.clone(),
            hints: self.hints.clone(),
            kept: Mutex::new(self.kept().clone()),
        }
    }

    fn kept(&self) -> MutexGuard<'_, MemoryContent> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        let mut effects = Vec::new();
        let mut replies = Vec::with_capacity(commands.len());
        {
            let mut kept = self.kept();
            let now = self.clock.now();
            let mut changes = CommitChanges::watched_by(&*self.hints);
            for command in &commands {
                let decision = kept.model.decide(command, now, &self.config);
                kept.apply(&decision.delta);
                changes.add(&decision.delta);
                effects.extend(decision.effects);
                replies.push(decision.reply);
            }
            hints::drop_stale(&mut effects, &kept.model);
            // Still under the lock, so that hints follow commit order.
            self.hints.committed(&effects, &kept.model);
            changes.tell(&*self.hints);
            let commit =
                CommitMetrics { commands: commands.len(), took: Duration::ZERO, waiting: 0 };
            self.hints.measured(&commit);
        }
        Ok(replies)
    }

    fn read(&self) -> &dyn Read {
        self
    }

    fn work_queue(&self) -> &dyn WorkQueue {
        self
    }

    fn scan(&self) -> &dyn Scan {
        self
    }

    fn call_tree(&self) -> &dyn CallTree {
        self
    }

    fn modules(&self) -> &dyn Modules {
        self
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.kept().wipe();
        Ok(())
    }

    async fn close(&self) {}
}
