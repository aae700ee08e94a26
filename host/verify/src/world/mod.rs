//! The world of one run: the real host over a store in memory, in virtual time, on one thread.
//!
//! Hosts come and go; the store, the time and the external effects stay.

mod possible;

use std::sync::{Arc, PoisonError};

use segno_core::{
    command::Command,
    config::Config,
    id::{HostName, PromiseId},
    promise::{LONGEST_LEASE, NewPromise, Verdict},
    reply::Reply,
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};
use segno_engine::{
    host::Host,
    notifier::CommitNotifier,
    values,
    worker::{WarmBudget, WorkerSettings},
};
use segno_env::{Clock as _, Env, HandClock};
use segno_guest::{Failure, Payload};
use segno_sim::{
    BEGINNING, CommitFault, HintSwitch, HostLife, MortalStore, PlannedFaults, SimRuntime,
    TaskPanics, sleep,
};
use segno_store::{MemoryStore, NewModule, Store as _};

pub(crate) use self::possible::length;
use crate::{
    error::VerifyError,
    outside::{ExternalWorld, GuardedGuests, GuardedOutbound, ROOT, id_at},
    schedule::{CommitSide, EventChoice, InjectedFault, RelativeId},
    setup::VerifySetup,
};

/// No lease expires by itself: a delayed host would extend its own first, and virtual time passes
/// for all hosts together. Claims are lost only when a schedule says so.
const LEASE_TTL: Millis = LONGEST_LEASE;
/// Maximum number of concurrent executions, running or waiting at an edge.
const AT_ONCE: usize = 10_000;
/// Time after which a run counts as idle, in virtual milliseconds of the executor.
const IDLE: Millis = Millis(1);

/// The engine's settings: no instance stays warm, so each wait is a suspension; each result of a
/// `run` is committed, so that a host can die after each; and a trap is reported on its first
/// occurrence.
fn config() -> Config {
    Config {
        ttl: (LEASE_TTL, LEASE_TTL, LEASE_TTL),
        stall_limit: None,
        trap_limit: 1,
        hot_wait: Millis::ZERO,
        run_gather: Millis::ZERO,
        ..Config::default()
    }
}

/// The world of one run.
pub(crate) struct RunWorld {
    setup: Arc<VerifySetup>,
    memory: Arc<MemoryStore>,
    time: Arc<HandClock>,
    deaths: Arc<PlannedFaults>,
    outside: Arc<ExternalWorld>,
    switch: Arc<HintSwitch>,
    panics: TaskPanics,
    life: Option<HostLife>,
    /// Supplanted lives that continue.
    stale: Vec<HostLife>,
    lives: u64,
    cold: bool,
    sent: Vec<usize>,
}

impl RunWorld {
    /// Creates a world with deployed components, a stored root and a running host. If `cold`, no
    /// instance outlives a wait.
    ///
    /// # Errors
    /// The host does not start.
    pub(crate) async fn new(setup: Arc<VerifySetup>, cold: bool) -> Result<Self, VerifyError> {
        let time = HandClock::at(BEGINNING);
        let switch = Arc::new(HintSwitch::default());
        let panics = TaskPanics::default();
        let runtime = Arc::new(SimRuntime::by_hand(0, panics.clone(), time.clone()));
        let env = Env { clock: time.clone(), runtime };
        let memory = MemoryStore::new(config(), env, switch.clone());
        let outside = ExternalWorld::new(setup.clone(), time.clone(), memory.clone());
        let mut world = Self {
            outside: Arc::new(outside),
            deaths: Arc::default(),
            life: None,
            stale: Vec::new(),
            lives: 0,
            sent: Vec::new(),
            setup,
            memory,
            time,
            switch,
            panics,
            cold,
        };
        world.deploy().await?;
        world.boot().await?;
        Ok(world)
    }

    async fn deploy(&self) -> Result<(), VerifyError> {
        for (component, digest) in &self.setup.components {
            let plain = NewModule::plain(*digest, component.bytes.clone(), self.time.now());
            let module = NewModule { facts: component.facts.clone(), ..plain };
            self.memory.modules().put(module).await.map_err(host_failed)?;
            let alias = Text::from(component.alias.as_str());
            self.client(Command::Deploy { alias, module: *digest }).await?;
        }
        let target = self.setup.target();
        let function = segno_core::address::function_of(&target);
        let input = Payload::Json(self.setup.input.to_string());
        let root = NewPromise {
            id: PromiseId::from(ROOT),
            param: values::param(&function, &input, Tags::new()),
            tags: Tags::from([(tags::TARGET.to_owned(), target.clone())]),
            timeout_at: Timestamp::NEVER,
        };
        match self.client(Command::PromiseCreate(root)).await? {
            Reply::Promise { .. } => Ok(()),
            refused => Err(VerifyError::Host(format!("the root was not made: {refused:?}"))),
        }
    }

    /// Starts a life. If it dies during its start, another follows.
    async fn boot(&mut self) -> Result<(), VerifyError> {
        loop {
            self.lives += 1;
            let (panics, time) = (self.panics.clone(), self.time.clone());
            let runtime = Arc::new(SimRuntime::by_hand(self.lives, panics, time));
            let notifier = Arc::new(CommitNotifier::default());
            self.switch.set(Some(notifier.clone()));
            let (outside, life) = (self.outside.clone(), self.lives);
            let host = Host::new(
                Env { clock: self.time.clone(), runtime: runtime.clone() },
                config(),
                Arc::new(MortalStore::new(self.memory.clone(), self.deaths.clone())),
                Arc::new(GuardedGuests { outside: outside.clone(), life }),
                Arc::new(GuardedOutbound { outside, life }),
                notifier,
            );
            let budget = if self.cold { 0 } else { 512 };
            let settings = WorkerSettings {
                slots: AT_ONCE,
                processors: AT_ONCE,
                warm: WarmBudget { instances: budget, bytes: budget << 20 },
                ..WorkerSettings::default()
            };
            let node = HostName::from("verify");
            let life = HostLife::start(host, runtime, node, settings, &self.deaths).await;
            self.life = life.map_err(host_failed)?;
            if self.life.is_some() {
                return Ok(());
            }
        }
    }

    /// Lets the host do everything that it can do by itself, and restarts it if it dies. Returns
    /// true if it died.
    ///
    /// # Errors
    /// The run cannot continue.
    pub(crate) async fn idle(&mut self) -> Result<bool, VerifyError> {
        let mut died = false;
        loop {
            // The executor's own clock, which nothing else uses, advances when nothing else can
            // continue.
            sleep(IDLE).await;
            if let Some(trouble) = self.outside.trouble() {
                return Err(trouble);
            }
            if let Some(panic) = self.panics.lock().unwrap_or_else(PoisonError::into_inner).first()
            {
                let text = format!("`{}` of the host panicked: {}", panic.task, panic.message);
                return Err(VerifyError::Host(text));
            }
            if !self.deaths.has_crashed() {
                return Ok(died);
            }
            died = true;
            self.crash().await?;
        }
    }

    async fn crash(&mut self) -> Result<(), VerifyError> {
        if let Some(life) = self.life.take() {
            life.runtime.crash();
        }
        self.boot().await
    }

    /// Executes `choice`, which must be possible, with everything that follows by itself.
    ///
    /// # Errors
    /// The run cannot continue.
    pub(crate) async fn happen(&mut self, choice: &EventChoice) -> Result<(), VerifyError> {
        match choice {
            EventChoice::Go(place) => loop {
                self.outside.finish(place).await;
                let died = self.idle().await?;
                // The claim was lost with the host: the attempt is repeated as the same event.
                if !died || !self.outside.waiting().iter().any(|waits| waits.place == *place) {
                    return Ok(());
                }
            },
            EventChoice::Send(number) => {
                self.sent.push(*number);
                self.send(*number).await?;
            }
            EventChoice::Time => {
                let rows = self.rows().await?;
                if let Some((at, _)) = self.due(&rows) {
                    self.time.set(at);
                }
            }
            EventChoice::Cancel => {
                self.client(Command::Cancel { invocation: PromiseId::from(ROOT) }).await?;
            }
        }
        self.idle().await?;
        Ok(())
    }

    async fn send(&self, number: usize) -> Result<(), VerifyError> {
        let sending = &self.setup.script.sends[number];
        let to = id_at(&RelativeId(sending.to.clone().unwrap_or_default()));
        let json = sending.value.clone().unwrap_or(serde_json::Value::Null);
        let value = Value::of(json.to_string().into_bytes());
        let command = match (&sending.signal, &sending.promise, sending.fails) {
            (Some(name), ..) => Command::Signal {
                invocation: to,
                name: Text::from(name.as_str()),
                payload: value,
                key: None,
            },
            (None, Some(name), None) => Command::PromiseSettle {
                id: promise_of(&to, name),
                verdict: Verdict::Resolved,
                value,
            },
            (None, Some(name), Some(code)) => {
                let message =
                    sending.message.clone().unwrap_or_else(|| "as the script says".into());
                let value = values::failure_value(&Failure { code, message, details: None });
                Command::PromiseSettle {
                    id: promise_of(&to, name),
                    verdict: Verdict::Rejected,
                    value,
                }
            }
            (None, None, _) => return Ok(()),
        };
        self.client(command).await.map(drop)
    }

    /// Applies `fault`, which must be possible.
    ///
    /// # Errors
    /// The run cannot continue.
    pub(crate) async fn suffer(&mut self, fault: &InjectedFault) -> Result<(), VerifyError> {
        match fault {
            InjectedFault::Cold => return Ok(()),
            InjectedFault::Crash => self.crash().await?,
            InjectedFault::Supplant => {
                self.stale.extend(self.life.take());
                self.boot().await?;
            }
            InjectedFault::Again(place) => {
                self.outside.lose(place).await;
                let id = id_at(place);
                self.client(Command::TaskHalt { id: id.clone() }).await?;
                self.idle().await?;
                self.client(Command::TaskContinue { id }).await?;
            }
            InjectedFault::Die { skipped, side } => {
                let fault = match side {
                    CommitSide::Before => CommitFault::CrashBefore,
                    CommitSide::After => CommitFault::CrashAfter,
                };
                self.deaths.after(*skipped, fault);
                return Ok(());
            }
        }
        self.idle().await?;
        Ok(())
    }

    /// All stored rows.
    ///
    /// # Errors
    /// The store does not answer.
    pub(crate) async fn rows(&self) -> Result<Snapshot, VerifyError> {
        self.memory.read().dump().await.map_err(host_failed)
    }

    /// The edges of the host.
    pub(crate) fn outside(&self) -> &ExternalWorld {
        &self.outside
    }

    /// The planned deaths and the commit counter.
    pub(crate) fn deaths(&self) -> &PlannedFaults {
        &self.deaths
    }

    async fn client(&self, command: Command) -> Result<Reply, VerifyError> {
        let replies = self.memory.execute(vec![command]).await.map_err(host_failed)?;
        let reply = replies.into_iter().next();
        reply.ok_or_else(|| VerifyError::Host("a command was not answered".to_owned()))
    }
}

impl Drop for RunWorld {
    fn drop(&mut self) {
        for life in self.life.iter().chain(&self.stale) {
            life.runtime.crash();
        }
    }
}

fn is_pending(rows: &Snapshot, id: &PromiseId) -> bool {
    rows.promises.get(id).is_some_and(|promise| promise.is_pending())
}

/// The promise of this name within `to`; a name with a slash, such as `/3`, is a place.
fn promise_of(to: &PromiseId, name: &str) -> PromiseId {
    match name.contains('/') {
        true => PromiseId::new(format!("{to}/{}", name.trim_start_matches('/'))),
        false => to.named(name),
    }
}

fn host_failed(error: impl ToString) -> VerifyError {
    VerifyError::Host(error.to_string())
}
