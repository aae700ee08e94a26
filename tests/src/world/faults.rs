//! A store that fails at one chosen commit, and checks the invariants after every commit.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
};

use async_trait::async_trait;
use segno_core::{command::Command, invariants, reply::Reply, time::Millis};
use segno_env::Runtime as _;
use segno_store::{CallTree, Modules, Read, Scan, Store, StoreError, WorkQueue};
use tokio::sync::Notify;

use super::SimRuntime;
use crate::{gate::Gate, gated_reads};

/// Fault at a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The host dies before the commit: nothing was written.
    CrashBefore,
    /// The host dies after the commit: everything was written, and the outcome is unknown.
    CrashAfter,
    /// The commit succeeded, and its outcome is reported as unknown.
    UnknownButDone,
    /// The commit failed, and its outcome is reported as unknown.
    UnknownAndLost,
}

impl Fault {
    /// All kinds.
    pub const ALL: [Self; 4] =
        [Self::CrashBefore, Self::CrashAfter, Self::UnknownButDone, Self::UnknownAndLost];
}

/// Counts commits over all incarnations, and fails at one.
#[derive(Default)]
pub struct Faults {
    at: Option<(u64, Fault)>,
    commits: AtomicU64,
    /// Notified when the host must die.
    pub crash: Notify,
    injected: AtomicBool,
    refuse: Mutex<Option<Refuse>>,
    /// Name of the slow command, and its duration.
    slow: Mutex<Option<(&'static str, Millis)>>,
    /// Number of journal records that reads return. 0: all of them.
    shown: AtomicU32,
    submitted: Mutex<Vec<Vec<Command>>>,
    /// Maximum number of bytes of promises in one read.
    largest_read: AtomicU64,
}

type Refuse = Box<dyn Fn(&Command) -> bool + Send>;

impl Faults {
    /// Fails at commit `number`, counted from 0.
    pub fn at(number: u64, fault: Fault) -> Self {
        Self { at: Some((number, fault)), ..Self::default() }
    }

    /// Maximum number of bytes of promises in one read of a host.
    pub fn largest_read(&self) -> u64 {
        self.largest_read.load(Ordering::Relaxed)
    }

    /// Number of commits so far.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// True if the fault has occurred.
    pub fn injected(&self) -> bool {
        self.injected.load(Ordering::Relaxed)
    }

    /// From now on the store does not answer submissions with such a command.
    pub fn refuse(&self, which: impl Fn(&Command) -> bool + Send + 'static) {
        *self.refuse.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(which));
    }

    /// From now on a journal appears to be `len` records long, and one record longer at each read,
    /// as if its invocation were running.
    pub fn journals_grow_from(&self, len: u32) {
        self.shown.store(len, Ordering::Relaxed);
    }

    /// Number of records that this read returns.
    fn shown(&self) -> u32 {
        match self.shown.load(Ordering::Relaxed) {
            0 => u32::MAX,
            _ => self.shown.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Lets the store answer again.
    pub fn relent(&self) {
        *self.refuse.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// From now on a commit with such a command takes `length`, and other commits overtake it.
    pub fn slow(&self, name: &'static str, length: Millis) {
        *self.slow.lock().unwrap_or_else(PoisonError::into_inner) = Some((name, length));
    }

    /// Duration of a commit with these commands. `None` if it is not slow.
    fn length(&self, commands: &[Command]) -> Option<Millis> {
        let slow = *self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, length) = slow?;
        commands.iter().any(|command| command.name() == name).then_some(length)
    }

    /// Commands that hosts committed so far, in the batches in which they were submitted.
    pub fn submitted(&self) -> Vec<Vec<Command>> {
        self.submitted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn refuses(&self, commands: &[Command]) -> bool {
        let refuse = self.refuse.lock().unwrap_or_else(PoisonError::into_inner);
        refuse.as_ref().is_some_and(|refuse| commands.iter().any(refuse))
    }

    fn keep(&self, commands: &[Command]) {
        self.submitted.lock().unwrap_or_else(PoisonError::into_inner).push(commands.to_vec());
    }

    fn next(&self) -> Option<Fault> {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        let (at, fault) = self.at?;
        let happens = at == number;
        if happens {
            self.injected.store(true, Ordering::Relaxed);
        }
        happens.then_some(fault)
    }
}

/// The store as one incarnation of a host sees it. After its crash the store never answers again.
pub struct FaultyStore {
    /// Store behind the faults.
    pub inner: Arc<dyn Store>,
    pub faults: Arc<Faults>,
    dead: AtomicBool,
}

impl FaultyStore {
    /// Creates the view of an incarnation.
    pub fn new(inner: Arc<dyn Store>, faults: Arc<Faults>) -> Self {
        Self { inner, faults, dead: AtomicBool::new(false) }
    }

    async fn die(&self) -> ! {
        self.dead.store(true, Ordering::Relaxed);
        self.faults.crash.notify_one();
        std::future::pending().await
    }

    async fn alive(&self) {
        if self.dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.alive().await;
        if self.faults.refuses(&commands) {
            let reason = "a fault of the test".into();
            return Err(StoreError::Unavailable { reason });
        }
        let unknown = || StoreError::UnknownOutcome(anyhow::anyhow!("a fault of the test"));
        match self.faults.next() {
            Some(Fault::CrashBefore) => self.die().await,
            Some(Fault::UnknownAndLost) => return Err(unknown()),
            Some(fault @ (Fault::CrashAfter | Fault::UnknownButDone)) => {
                self.inner.execute(commands).await?;
                match fault {
                    Fault::CrashAfter => self.die().await,
                    _ => return Err(unknown()),
                }
            }
            None => {}
        }
        if let Some(length) = self.faults.length(&commands) {
            SimRuntime::default().sleep(length).await;
        }
        self.faults.keep(&commands);
        let replies = self.inner.execute(commands).await?;
        let violations = invariants::check(&self.inner.read().dump().await?);
        assert!(violations.is_empty(), "after commit {}: {violations:?}", self.faults.commits());
        Ok(replies)
    }

    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        self.execute(commands.to_vec()).await
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
        self.inner.call_tree()
    }

    fn modules(&self) -> &dyn Modules {
        self
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        self.alive().await;
        self.inner.check_writes().await
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        self.alive().await;
        self.inner.vacuum().await
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.inner.wipe().await
    }

    async fn close(&self) {}
}

impl Gate for FaultyStore {
    fn seen(&self, bytes: u64) {
        self.faults.largest_read.fetch_max(bytes, Ordering::Relaxed);
    }

    async fn pass(&self) -> Result<(), StoreError> {
        self.alive().await;
        Ok(())
    }

    fn behind(&self) -> &dyn Store {
        &*self.inner
    }

    /// Limits a read of a journal to the records that the faults allow.
    fn shown(&self) -> u32 {
        self.faults.shown()
    }
}

gated_reads!(FaultyStore);
