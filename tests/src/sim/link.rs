//! The store as one life of a host, a worker or a client sees it: over a network that loses, doubles and delays, that may
//! be cut, and whose far end may be struck at a commit. After its end a life is never answered again.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use segno::{
    runtime::Runtime,
    store::{
        Census, Due, EventPlace, EventRow, InvocationFilter, InvocationRow, LogRow, ModuleRow,
        Page, PromiseFilter, PromiseRow, Ready, ScheduleFilter, SchedulePage, Store, StoreError,
        Waits,
    },
};
use segno_core::{
    command::Command,
    id::{Digest, PromiseId, ScheduleId},
    invocation::Record,
    promise::{MessageKind, Schedule},
    reply::Reply,
    snapshot::Snapshot,
    time::{Millis, Timestamp},
};
use tokio::sync::{Notify, mpsc};

use super::{
    book::Book,
    bus::{Bus, Weather},
    database::Database,
    dice::Dice,
    fault::{CommitFault, Fault, Noise},
    host::Control,
};
use crate::world::SimRuntime;

/// Calls at one instant after which nobody believes that time will go on.
const CALLS_AT_ONCE: u32 = 20_000;
/// Commands of one life that are kept, to be asked again.
const KEPT: usize = 20_000;

/// What all links of one world share.
pub struct Network {
    /// The far end.
    pub database: Arc<Database>,
    /// Who hears of commits.
    pub bus: Arc<Bus>,
    /// What every message risks.
    pub weather: Arc<Weather>,
    /// What happened.
    pub book: Arc<Book>,
    /// Where the world's own tasks run.
    pub runtime: Arc<SimRuntime>,
    /// Commits to be struck.
    pub strikes: Mutex<BTreeMap<u64, CommitFault>>,
    /// Decides.
    pub seed: u64,
}

/// What holds for all lives of one node.
#[derive(Default)]
pub struct Conditions {
    /// It cannot reach the store.
    pub cut: AtomicBool,
    /// It is frozen.
    pub frozen: AtomicBool,
    /// Its heartbeats do not arrive.
    pub heartless: AtomicBool,
    /// Told when it goes on.
    pub thawed: Notify,
    /// What it asked so far, and was carried out.
    pub asked: Mutex<Vec<Command>>,
}

impl Conditions {
    /// Goes on.
    pub fn thaw(&self) {
        self.frozen.store(false, Ordering::Relaxed);
        self.thawed.notify_waiters();
    }
}

/// See the module.
pub struct Link {
    who: String,
    life: Option<u64>,
    network: Arc<Network>,
    conditions: Arc<Conditions>,
    dead: AtomicBool,
    dice: Mutex<Dice>,
    calls: Mutex<(i64, u32)>,
    /// Whom to tell that the host has to die; nobody: its commits are not struck.
    control: Option<mpsc::UnboundedSender<Control>>,
}

impl Link {
    /// A link of a host's life.
    pub fn of_host(
        who: String,
        life: u64,
        network: Arc<Network>,
        conditions: Arc<Conditions>,
        control: mpsc::UnboundedSender<Control>,
    ) -> Self {
        let link = Self::of_client(who, network);
        Self { life: Some(life), conditions, control: Some(control), ..link }
    }

    /// A link of somebody outside.
    pub fn of_client(who: String, network: Arc<Network>) -> Self {
        let dice = Mutex::new(Dice::new(network.seed, &who));
        Self {
            who,
            life: None,
            network,
            conditions: Arc::default(),
            dead: AtomicBool::new(false),
            dice,
            calls: Mutex::default(),
            control: None,
        }
    }

    /// Is never answered again.
    pub fn die(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    /// Sends one command until it is answered.
    pub async fn insist(&self, command: Command) -> Reply {
        loop {
            if let Ok(mut replies) = self.execute(vec![command.clone()]).await {
                return replies.pop().expect("one reply for one command");
            }
            self.network.runtime.sleep(Millis(70)).await;
        }
    }

    async fn alive(&self) {
        loop {
            let thawed = self.conditions.thawed.notified();
            if self.dead.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            if !self.conditions.frozen.load(Ordering::Relaxed) {
                return;
            }
            thawed.await;
        }
    }

    /// The way to the store, or that there is none.
    async fn way(&self) -> Result<(), StoreError> {
        self.count().await;
        self.alive().await;
        self.delay().await;
        self.alive().await;
        if self.conditions.cut.load(Ordering::Relaxed) {
            self.network.runtime.sleep(Millis(20)).await;
            self.alive().await;
            let reason = "the network is cut".into();
            return Err(StoreError::Unavailable { reason });
        }
        Ok(())
    }

    /// A host that asks without end and without time going on is as good as dead.
    async fn count(&self) {
        let at = self.network.book.at();
        let many = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            *calls = if calls.0 == at { (at, calls.1 + 1) } else { (at, 1) };
            calls.1 == CALLS_AT_ONCE
        };
        if many {
            let book = &self.network.book;
            book.wrong(format_args!("{} asks the store without end at one instant", self.who));
            std::future::pending::<()>().await;
        }
    }

    async fn delay(&self) {
        let most = self.network.weather.level(Noise::Delay);
        if most > 0 {
            let length = self.dice().between(0, i64::try_from(most).unwrap_or(0));
            self.network.book.struck(Noise::Delay.kind());
            self.network.runtime.sleep(Millis(length)).await;
        }
    }

    fn roll(&self, what: Noise) -> bool {
        let strikes = self.dice().chance(self.network.weather.level(what));
        if strikes {
            self.network.book.struck(what.kind());
        }
        strikes
    }

    fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn commit(&self, commands: &[Command]) -> Vec<Reply> {
        let (replies, effects) = self.network.database.execute(&self.who, commands).await;
        self.network.bus.committed(self.life, &effects);
        let mut asked = self.conditions.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() < KEPT {
            asked.extend_from_slice(commands);
        }
        replies
    }

    /// The same request, once more and later. A new life of a host is begun by its own connection only.
    fn again(&self, commands: Vec<Command>) {
        if commands.iter().any(|command| matches!(command, Command::HostStart { .. })) {
            return;
        }
        let delay = Millis(self.dice().between(1, 3_000));
        let (network, who) = (self.network.clone(), format!("{}'", self.who));
        let runtime = network.runtime.clone();
        runtime.clone().spawn(
            "request",
            Box::pin(async move {
                runtime.sleep(delay).await;
                let (_, effects) = network.database.execute(&who, &commands).await;
                network.bus.committed(None, &effects);
            }),
        );
    }

    async fn struck(&self, how: CommitFault, commands: &[Command]) -> StoreError {
        self.network
            .book
            .strikes(&Fault::Commit { number: self.network.database.commits() - 1, how });
        if matches!(how, CommitFault::CrashAfter | CommitFault::UnknownButDone) {
            self.commit(commands).await;
        }
        if matches!(how, CommitFault::CrashBefore | CommitFault::CrashAfter) {
            self.die();
            if let Some(control) = &self.control {
                // A host that is ending anyway hears of nothing.
                let _ = control.send(Control::Crash { down: 100 });
            }
            std::future::pending::<()>().await;
        }
        unknown()
    }
}

fn unknown() -> StoreError {
    StoreError::UnknownOutcome(anyhow::anyhow!("a fault of the simulation"))
}

#[async_trait]
impl Store for Link {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.way().await?;
        let is_heartbeat = |command: &Command| matches!(command, Command::TaskHeartbeat { .. });
        if self.conditions.heartless.load(Ordering::Relaxed) && commands.iter().any(is_heartbeat) {
            return Err(unknown());
        }
        if self.roll(Noise::RequestLoss) {
            return Err(unknown());
        }
        if self.control.is_some() {
            let number = self.network.database.next_commit();
            let strike = {
                let mut strikes =
                    self.network.strikes.lock().unwrap_or_else(PoisonError::into_inner);
                strikes.remove(&number)
            };
            if let Some(how) = strike {
                return Err(self.struck(how, &commands).await);
            }
        }
        let replies = self.commit(&commands).await;
        if self.roll(Noise::RequestTwice) {
            self.again(commands);
        }
        if self.roll(Noise::AnswerLoss) {
            return Err(unknown());
        }
        self.delay().await;
        self.alive().await;
        if self.conditions.cut.load(Ordering::Relaxed) {
            return Err(unknown());
        }
        for reply in &replies {
            if let (Reply::Message(Some(delivery)), Some(_)) = (reply, self.life) {
                self.network.bus.deliver(delivery);
            }
        }
        Ok(replies)
    }

    async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.promise(id).await
    }

    async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        self.way().await?;
        self.network.database.memory.promises(ids).await
    }

    async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        self.way().await?;
        self.network.database.memory.journal(id, from, limit).await
    }

    async fn logs(&self, id: &PromiseId, from: u32, limit: u32) -> Result<Vec<LogRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.logs(id, from, limit).await
    }

    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError> {
        self.way().await?;
        self.network.database.memory.log_count(id).await
    }

    async fn waits(&self, id: &PromiseId) -> Result<Waits, StoreError> {
        self.way().await?;
        self.network.database.memory.waits(id).await
    }

    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.list(filter).await
    }

    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
        self.way().await?;
        self.network.database.memory.schedule(id).await
    }

    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError> {
        self.way().await?;
        self.network.database.memory.schedules(filter).await
    }

    async fn find(&self, filter: &PromiseFilter) -> Result<Vec<PromiseRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.find(filter).await
    }

    async fn due(&self, now: Timestamp, limit: u32) -> Result<Due, StoreError> {
        self.way().await?;
        self.network.database.memory.due(now, limit).await
    }

    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Ready>, StoreError> {
        self.way().await?;
        self.network.database.memory.ready(now, after, limit).await
    }

    async fn outbox_due(
        &self,
        kind: MessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Due, StoreError> {
        self.way().await?;
        self.network.database.memory.outbox_due(kind, now, limit).await
    }

    async fn events(
        &self,
        after: Option<EventPlace>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.events(after, limit).await
    }

    async fn census(&self) -> Result<Census, StoreError> {
        self.way().await?;
        self.network.database.memory.census().await
    }

    async fn put_component(
        &self,
        digest: Digest,
        component: Arc<[u8]>,
        description: String,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.way().await?;
        self.network.database.memory.put_component(digest, component, description, now).await
    }

    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.way().await?;
        self.network.database.memory.component(digest).await
    }

    async fn modules(&self) -> Result<Vec<ModuleRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.modules().await
    }

    async fn dump(&self) -> Result<Snapshot, StoreError> {
        self.way().await?;
        self.network.database.memory.dump().await
    }

    async fn close(&self) {}
}
