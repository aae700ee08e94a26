//! The store as one life of a host sees it: the host may die before or after any of its commits.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use segno_core::{command::Command, reply::Reply};
use segno_store::{CallTree, MemoryStore, Modules, Read, Scan, Store, StoreError, WorkQueue};
use tokio::sync::Notify;

/// The side of a commit on which a host dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommitSide {
    /// The commit was not written.
    Before,
    /// The commit was written, but the host does not know.
    After,
}

/// The planned deaths of hosts, over all lives of a run.
#[derive(Default)]
pub struct PlannedDeaths {
    /// Planned deaths: the number of further commits before, and the side.
    armed: Mutex<Vec<(u64, CommitSide)>>,
    commits: AtomicU64,
    /// Notified when a host has to die.
    pub due: Notify,
    died: AtomicBool,
}

impl PlannedDeaths {
    /// Plans a death at the commit after `skipped` others.
    pub fn arm(&self, skipped: u64, side: CommitSide) {
        let at = self.commits() + skipped;
        self.armed.lock().unwrap_or_else(PoisonError::into_inner).push((at, side));
    }

    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Returns true if a planned death has not happened yet.
    pub fn pending(&self) -> bool {
        !self.armed.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns true if a host has died since the last call.
    pub fn take(&self) -> bool {
        self.died.swap(false, Ordering::Relaxed)
    }

    fn next(&self) -> Option<CommitSide> {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        let place = armed.iter().position(|(at, _)| *at == number)?;
        Some(armed.remove(place).1)
    }
}

/// The store of one life.
pub struct MortalStore {
    inner: Arc<MemoryStore>,
    deaths: Arc<PlannedDeaths>,
    dead: AtomicBool,
}

impl MortalStore {
    /// Creates the view of a new life.
    pub fn new(inner: Arc<MemoryStore>, deaths: Arc<PlannedDeaths>) -> Self {
        Self { inner, deaths, dead: AtomicBool::new(false) }
    }

    async fn die<T>(&self) -> T {
        self.dead.store(true, Ordering::Relaxed);
        self.deaths.died.store(true, Ordering::Relaxed);
        self.deaths.due.notify_one();
        std::future::pending().await
    }
}

#[async_trait]
impl Store for MortalStore {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        if self.dead.load(Ordering::Relaxed) {
            return std::future::pending().await;
        }
        match self.deaths.next() {
            None => self.inner.execute(commands).await,
            Some(CommitSide::Before) => self.die().await,
            Some(CommitSide::After) => {
                self.inner.execute(commands).await?;
                self.die().await
            }
        }
    }

    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        self.execute(commands.to_vec()).await
    }

    fn read(&self) -> &dyn Read {
        self.inner.read()
    }

    fn work_queue(&self) -> &dyn WorkQueue {
        self.inner.work_queue()
    }

    fn scan(&self) -> &dyn Scan {
        self.inner.scan()
    }

    fn call_tree(&self) -> &dyn CallTree {
        self.inner.call_tree()
    }

    fn modules(&self) -> &dyn Modules {
        self.inner.modules()
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        self.inner.check_writes().await
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        self.inner.vacuum().await
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.inner.wipe().await
    }

    async fn close(&self) {}
}
