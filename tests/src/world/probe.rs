//! Observes and obstructs the commits and reads of a host, and checks the invariants after every
//! commit.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use async_trait::async_trait;
use segno_core::{command::Command, invariants, reply::Reply, time::Millis};
use segno_sim::{GatedStore, StoreGate, sleep};
use segno_store::{PromiseRow, Store, StoreError};

/// Obstructions of a store, and the record of its use, over all incarnations of a host.
#[derive(Default)]
pub struct StoreProbe {
    refuse: Mutex<Option<Refuse>>,
    /// Name of the slow command, and its duration.
    slow: Mutex<Option<(&'static str, Millis)>>,
    /// Number of journal records that reads return. 0: all of them.
    shown: AtomicU32,
    submitted: Mutex<Vec<Vec<Command>>>,
    /// Maximum number of bytes of promises in one read.
    largest_read: AtomicU64,
    /// Number of settled promises that reads returned.
    settled_reads: AtomicU64,
}

type Refuse = Box<dyn Fn(&Command) -> bool + Send>;

impl StoreProbe {
    /// `inner` as seen through this probe.
    pub fn over(self: &Arc<Self>, inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(GatedStore(ProbeGate { inner, probe: self.clone() }))
    }

    /// Maximum number of bytes of promises in one read of a host.
    pub fn largest_read(&self) -> u64 {
        self.largest_read.load(Ordering::Relaxed)
    }

    /// Number of settled promises that hosts read.
    pub fn settled_reads(&self) -> u64 {
        self.settled_reads.load(Ordering::Relaxed)
    }

    /// From now on the store does not answer submissions with such a command.
    pub fn refuse(&self, which: impl Fn(&Command) -> bool + Send + 'static) {
        *lock(&self.refuse) = Some(Box::new(which));
    }

    /// Lets the store answer again.
    pub fn relent(&self) {
        *lock(&self.refuse) = None;
    }

    /// From now on a journal appears to be `len` records long, and one record longer at each read,
    /// as if its invocation were running.
    pub fn journals_grow_from(&self, len: u32) {
        self.shown.store(len, Ordering::Relaxed);
    }

    /// From now on a commit with such a command takes `length`, and other commits overtake it.
    pub fn slow(&self, name: &'static str, length: Millis) {
        *lock(&self.slow) = Some((name, length));
    }

    /// Commands that hosts committed so far, in the batches in which they were submitted.
    pub fn submitted(&self) -> Vec<Vec<Command>> {
        lock(&self.submitted).clone()
    }

    fn refuses(&self, commands: &[Command]) -> bool {
        lock(&self.refuse).as_ref().is_some_and(|refuse| commands.iter().any(refuse))
    }

    /// Duration of a commit with these commands. `None` if it is not slow.
    fn length(&self, commands: &[Command]) -> Option<Millis> {
        let (name, length) = (*lock(&self.slow))?;
        commands.iter().any(|command| command.name() == name).then_some(length)
    }
}

struct ProbeGate {
    inner: Arc<dyn Store>,
    probe: Arc<StoreProbe>,
}

#[async_trait]
impl StoreGate for ProbeGate {
    fn behind(&self) -> &dyn Store {
        &*self.inner
    }

    async fn pass(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn commit(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        if self.probe.refuses(&commands) {
            let reason = "a fault of the test".into();
            return Err(StoreError::Unavailable { reason });
        }
        if let Some(length) = self.probe.length(&commands) {
            sleep(length).await;
        }
        lock(&self.probe.submitted).push(commands.clone());
        let replies = self.inner.execute(commands).await?;
        let violations = invariants::check(&self.inner.read().dump().await?);
        let commit = lock(&self.probe.submitted).len();
        assert!(violations.is_empty(), "after commit {commit}: {violations:?}");
        Ok(replies)
    }

    fn shown(&self) -> u32 {
        match self.probe.shown.load(Ordering::Relaxed) {
            0 => u32::MAX,
            _ => self.probe.shown.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn seen(&self, rows: &[Option<PromiseRow>]) {
        let bytes = |row: &PromiseRow| {
            let value = row.promise.settlement().and_then(|it| it.value.as_ref());
            let value = value.map_or(0, |value| value.data.len());
            (row.promise.spec.param.data.len() + value) as u64
        };
        let bytes = rows.iter().flatten().map(bytes).sum();
        self.probe.largest_read.fetch_max(bytes, Ordering::Relaxed);
        let settled = rows.iter().flatten().filter(|row| !row.promise.is_pending()).count();
        self.probe.settled_reads.fetch_add(settled as u64, Ordering::Relaxed);
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
