//! A store that fails at one chosen commit, and checks the invariants after every one.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use segno::store::{
    Census, Due, EventPlace, EventRow, Examined, Found, History, InvocationFilter, InvocationRow,
    Lineage, LogRow, MemoryStore, ModuleRow, Page, PromiseFilter, PromiseRow, Ready,
    ScheduleFilter, SchedulePage, SizeReport, Store, StoreError, Survey, Waits,
    house::{HouseError, Van},
};
use segno_core::{
    command::Command,
    id::{Digest, PromiseId, ScheduleId},
    invariants,
    invocation::Record,
    promise::{MessageKind, Promise, Schedule},
    reply::Reply,
    snapshot::Snapshot,
    time::Timestamp,
};
use tokio::sync::Notify;

/// The faults of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The host dies before the commit: nothing was written.
    CrashBefore,
    /// The host dies after the commit: everything was written, and the outcome is unknown.
    CrashAfter,
    /// The commit happened, and its outcome is reported as unknown.
    UnknownButDone,
    /// The commit did not happen, and its outcome is reported as unknown.
    UnknownAndLost,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::CrashBefore, Self::CrashAfter, Self::UnknownButDone, Self::UnknownAndLost];
}

/// Counts commits over all lives, and fails at one.
#[derive(Default)]
pub struct Faults {
    at: Option<(u64, Fault)>,
    commits: AtomicU64,
    /// Told when the host has to die.
    pub crash: Notify,
    struck: AtomicBool,
    refuse: Mutex<Option<Refuse>>,
    /// How many records of a journal are shown, if not all.
    shown: AtomicU32,
    submitted: Mutex<Vec<Vec<Command>>>,
}

type Refuse = Box<dyn Fn(&Command) -> bool + Send>;

impl Faults {
    /// Fails at commit `number`, from 0.
    pub fn at(number: u64, fault: Fault) -> Self {
        Self { at: Some((number, fault)), ..Self::default() }
    }

    /// Commits so far.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Whether the fault has happened.
    pub fn struck(&self) -> bool {
        self.struck.load(Ordering::Relaxed)
    }

    /// From now on the store does not answer submissions with such a command.
    pub fn refuse(&self, which: impl Fn(&Command) -> bool + Send + 'static) {
        *self.refuse.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(which));
    }

    /// From now on a journal seems to be `len` records long, and one record longer at each look, as if its invocation
    /// ran meanwhile.
    pub fn journals_grow_from(&self, len: u32) {
        self.shown.store(len, Ordering::Relaxed);
    }

    /// How long a journal is at this look.
    fn shown(&self) -> u32 {
        match self.shown.load(Ordering::Relaxed) {
            0 => u32::MAX,
            _ => self.shown.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The store answers again.
    pub fn relent(&self) {
        *self.refuse.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What hosts committed so far, together as they submitted it.
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
        let strikes = at == number;
        if strikes {
            self.struck.store(true, Ordering::Relaxed);
        }
        strikes.then_some(fault)
    }
}

/// The store as one incarnation of a host sees it: after its crash it never answers again.
pub struct FaultyStore {
    /// What it keeps.
    pub memory: Arc<MemoryStore>,
    /// When it fails.
    pub faults: Arc<Faults>,
    dead: AtomicBool,
}

impl FaultyStore {
    /// A life's view of the store.
    pub fn new(memory: Arc<MemoryStore>, faults: Arc<Faults>) -> Self {
        Self { memory, faults, dead: AtomicBool::new(false) }
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
                self.memory.execute(commands).await?;
                match fault {
                    Fault::CrashAfter => self.die().await,
                    _ => return Err(unknown()),
                }
            }
            None => {}
        }
        self.faults.keep(&commands);
        let replies = self.memory.execute(commands).await?;
        let violations = invariants::check(&self.memory.dump().await?);
        assert!(violations.is_empty(), "after commit {}: {violations:?}", self.faults.commits());
        Ok(replies)
    }

    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        self.execute(commands.to_vec()).await
    }

    async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        self.alive().await;
        self.memory.promise(id).await
    }

    async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        self.alive().await;
        self.memory.promises(ids).await
    }

    async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        self.alive().await;
        let shown = self.faults.shown();
        self.memory.journal(id, from, limit.min(shown.saturating_sub(from))).await
    }

    async fn logs(&self, id: &PromiseId, from: u32, limit: u32) -> Result<Vec<LogRow>, StoreError> {
        self.memory.logs(id, from, limit).await
    }

    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError> {
        self.alive().await;
        self.memory.log_count(id).await
    }

    async fn histories(&self, of: &[(PromiseId, u32)]) -> Result<Vec<History>, StoreError> {
        let mut histories = Vec::with_capacity(of.len());
        for (id, len) in of {
            let records = self.journal(id, 0, *len).await?;
            histories.push(History { records, lines: self.log_count(id).await? });
        }
        Ok(histories)
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
    }

    async fn waits(&self, id: &PromiseId) -> Result<Waits, StoreError> {
        self.memory.waits(id).await
    }

    async fn find(
        &self,
        filter: &PromiseFilter,
    ) -> Result<Page<PromiseRow, PromiseId>, StoreError> {
        self.alive().await;
        self.memory.find(filter).await
    }

    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        self.memory.list(filter).await
    }

    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
        self.alive().await;
        self.memory.schedule(id).await
    }

    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError> {
        self.memory.schedules(filter).await
    }

    async fn due(&self, now: Timestamp, limit: u32) -> Result<Due, StoreError> {
        self.alive().await;
        self.memory.due(now, limit).await
    }

    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Ready>, StoreError> {
        self.alive().await;
        self.memory.ready(now, after, limit).await
    }

    async fn outbox_due(
        &self,
        kind: MessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Due, StoreError> {
        self.alive().await;
        self.memory.outbox_due(kind, now, limit).await
    }

    async fn events(
        &self,
        after: Option<EventPlace>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.memory.events(after, limit).await
    }

    async fn census(&self) -> Result<Census, StoreError> {
        self.memory.census().await
    }

    async fn put_component(
        &self,
        digest: Digest,
        component: Arc<[u8]>,
        description: String,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.memory.put_component(digest, component, description, now).await
    }

    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.memory.component(digest).await
    }

    async fn modules(&self) -> Result<Vec<ModuleRow>, StoreError> {
        self.memory.modules().await
    }

    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        self.memory.in_use().await
    }

    fn survey(&self) -> &dyn Survey {
        self
    }

    fn lineage(&self) -> &dyn Lineage {
        self.memory.lineage()
    }

    async fn remove_component(
        &self,
        digest: Digest,
        before: Timestamp,
    ) -> Result<bool, StoreError> {
        self.alive().await;
        self.memory.remove_component(digest, before).await
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        self.alive().await;
        self.memory.check_writes().await
    }

    async fn give_back_room(&self) -> Result<bool, StoreError> {
        self.alive().await;
        self.memory.give_back_room().await
    }

    async fn dump(&self) -> Result<Snapshot, StoreError> {
        self.memory.dump().await
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.memory.wipe().await
    }

    async fn close(&self) {}
}

/// The duties that look over everything read through the same faults.
#[async_trait]
impl Survey for FaultyStore {
    async fn suspects(&self, after: i64, limit: u32) -> Result<Found<PromiseId>, StoreError> {
        self.alive().await;
        self.memory.survey().suspects(after, limit).await
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<Found<Promise>, StoreError> {
        self.alive().await;
        self.memory.survey().finished(after, limit, before).await
    }

    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<Examined, StoreError> {
        self.alive().await;
        self.memory.survey().examine(maker, after, limit).await
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        self.memory.survey().integrity().await
    }

    async fn move_out(&self, van: &mut dyn Van) -> Result<(), HouseError> {
        self.memory.survey().move_out(van).await
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        self.memory.survey().size(top).await
    }
}
