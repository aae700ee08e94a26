//! A host in virtual time: the real worker, recovery and wasm on one thread, over a store that can
//! crash it.

pub mod deployment;
mod faults;
mod ledger;
pub mod script;
mod sim;
mod story;

use std::sync::{Arc, Mutex, PoisonError};

use segno::{
    boot::{self, Running},
    guest::{Guests, Outbound, Payload},
    host::Host,
    notifier::CommitNotifier,
    runtime::{Clock, Env},
    services::{Connector, Services},
    store::{Hints, MemoryStore, NewModule, Store, StoreError},
    values,
    worker::WorkerSettings,
};
use segno_core::{
    address,
    command::Command,
    config::Config,
    effect::Effect,
    id::{Digest, NodeName, PromiseId},
    invocation::{Record, RecordBody},
    object::ModuleFacts,
    promise::{NewPromise, Promise, Task, TaskStatus, Verdict},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use serde_json::Value as Json;
use tokio::sync::oneshot::{self, error::TryRecvError};

pub use faults::{Fault, Faults, FaultyStore};
pub use ledger::{Ledger, Line};
pub use sim::{BEGINNING, SimClock, SimRuntime};
pub use story::story;

/// Where the answer to a start comes.
pub type Told = oneshot::Receiver<Result<Reply, StoreError>>;

/// An invocation of `target` with `input`.
fn invocation(id: &str, target: &str, input: &Json) -> NewPromise {
    let function = address::function_of(target);
    NewPromise {
        id: PromiseId::from(id),
        param: values::param(&function, &Payload::Json(input.to_string()), Tags::new()),
        tags: Tags::from([(tags::TARGET.to_owned(), target.to_owned())]),
        timeout_at: Timestamp::NEVER,
    }
}

/// The differences of a world from the default.
#[derive(Default)]
pub struct Plan {
    /// The engine's settings.
    pub config: Config,
    /// The worker's settings.
    pub worker: WorkerSettings,
    /// Whether every hint of every commit is lost.
    pub deaf: bool,
    /// The way out; none: the ledger.
    pub outbound: Option<Arc<dyn Outbound>>,
    /// What goes wrong.
    pub faults: Faults,
    /// What decisions know of the module.
    pub facts: ModuleFacts,
    /// What the module says of itself, as JSON; empty: nothing.
    pub description: String,
    /// How deployments of services are reached.
    pub connector: Option<Arc<dyn Connector>>,
}

/// Hints go to the life that is up.
#[derive(Default)]
struct Switch(Mutex<Option<Arc<CommitNotifier>>>);

impl Hints for Switch {
    fn committed(&self, effects: &[Effect]) {
        if let Some(notifier) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            notifier.committed(effects);
        }
    }
}

/// A host in virtual time with its store.
pub struct World {
    /// Everything that lasts.
    pub memory: Arc<MemoryStore>,
    /// The world outside.
    pub ledger: Arc<Ledger>,
    /// What goes wrong.
    pub faults: Arc<Faults>,
    /// Time, as every life sees it.
    pub clock: Arc<SimClock>,
    switch: Arc<Switch>,
    guests: Arc<dyn Guests>,
    outbound: Arc<dyn Outbound>,
    connector: Option<Arc<dyn Connector>>,
    config: Config,
    worker: WorkerSettings,
    deaf: bool,
    life: Option<Life>,
    lives: u64,
}

struct Life {
    runtime: Arc<SimRuntime>,
    running: Running,
    services: Arc<Services>,
}

impl World {
    /// A world in which `component` is deployed as `alias`, and no host is up.
    pub async fn new(
        guests: Arc<dyn Guests>,
        alias: &str,
        component: Arc<[u8]>,
        faults: Faults,
    ) -> Self {
        Self::planned(Plan { faults, ..Plan::default() }, guests, alias, component).await
    }

    /// A world whose one module, `m`, is this script.
    pub async fn scripted(script: &Arc<script::Script>) -> Self {
        Self::with(Plan::default(), script).await
    }

    /// The same, but for the differences in `plan`.
    pub async fn with(plan: Plan, script: &Arc<script::Script>) -> Self {
        Self::planned(plan, script.clone(), "m", Arc::from(&b"a script"[..])).await
    }

    /// A world in which `component` is deployed as `alias`, but for the differences in `plan`.
    ///
    /// # Panics
    /// The module cannot be stored.
    pub async fn planned(
        plan: Plan,
        guests: Arc<dyn Guests>,
        alias: &str,
        component: Arc<[u8]>,
    ) -> Self {
        let Plan { config, worker, deaf, outbound, faults, facts, description, connector } = plan;
        let clock = Arc::new(SimClock::default());
        let switch = Arc::new(Switch::default());
        let ledger = Arc::new(Ledger::default());
        let quiet = Env { clock: clock.clone(), runtime: Arc::new(SimRuntime::default()) };
        let memory = MemoryStore::new(config.clone(), quiet, switch.clone());
        let digest = Digest::of(&component);
        memory
            .modules()
            .put(NewModule {
                facts,
                description,
                ..NewModule::plain(digest, component, clock.now())
            })
            .await
            .expect("memory takes everything");
        let world = Self {
            memory,
            outbound: outbound.unwrap_or_else(|| ledger.clone()),
            ledger,
            faults: Arc::new(faults),
            clock,
            switch,
            guests,
            connector,
            config,
            worker,
            deaf,
            life: None,
            lives: 0,
        };
        world.client(Command::Deploy { alias: alias.into(), module: digest }).await;
        world
    }

    /// Brings a host up; one that is up crashes first.
    pub async fn boot(&mut self) {
        loop {
            self.crash();
            self.lives += 1;
            let runtime = Arc::new(SimRuntime::life(self.lives));
            let notifier = Arc::new(CommitNotifier::default());
            *self.switch.0.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(notifier.clone()).filter(|_| !self.deaf);
            let (host, services) = self.parts(runtime.clone(), notifier);
            let starting = boot::start(host, NodeName::from("world"), self.worker);
            let faults = self.faults.clone();
            let running = tokio::select! {
                biased;
                () = faults.crash.notified() => None,
                running = starting => Some(running),
            };
            match running {
                Some(Ok(running)) => {
                    self.life = Some(Life { runtime, running, services });
                    return;
                }
                // It died while it came up, or does not know whether it did: the next life tries
                // again.
                Some(Err(_)) | None => runtime.crash(),
            }
        }
    }

    fn parts(
        &self,
        runtime: Arc<SimRuntime>,
        notifier: Arc<CommitNotifier>,
    ) -> (Host, Arc<Services>) {
        let host = Host::new(
            Env { clock: self.clock.clone(), runtime },
            self.config.clone(),
            Arc::new(FaultyStore::new(self.memory.clone(), self.faults.clone())),
            self.guests.clone(),
            self.outbound.clone(),
            notifier,
        );
        let services = Services::join(&host);
        self.connector.iter().for_each(|connector| services.connect(connector.clone()));
        (host, services)
    }

    /// Registers a deployment of services, as its manifest describes it.
    ///
    /// # Panics
    /// It is no manifest.
    pub async fn register(&self, manifest: &Json) {
        let (new, deploys) = deployment::registration("test", manifest, self.clock.now());
        self.memory.modules().put(new).await.expect("memory takes everything");
        for deploy in deploys {
            self.client(deploy).await;
        }
    }

    /// The parts of a host over this world's store, for what needs no worker.
    pub fn host(&self) -> Host {
        self.parts(Arc::new(SimRuntime::life(0)), Arc::new(CommitNotifier::default())).0
    }

    /// Asks an invocation to pause; answers whether it runs on the host.
    pub fn pause(&self, id: &PromiseId) -> bool {
        let life = self.life.as_ref();
        life.is_some_and(|life| life.services.pauses().ask(id))
    }

    /// Ends the host where it stands.
    pub fn crash(&mut self) {
        if let Some(life) = self.life.take() {
            life.runtime.crash();
        }
    }

    /// Stops the host as an operator does; answers how many claims it had to give back unfinished.
    ///
    /// # Panics
    /// No host is up.
    pub async fn shutdown(&mut self, limit: Millis) -> usize {
        let Life { runtime, running, .. } = self.life.take().expect("a host is up");
        let left = running.shutdown(limit).await;
        runtime.crash();
        left
    }

    /// Lets time pass; a host that is not up comes up.
    pub async fn pass(&mut self, length: Millis) {
        let end = self.clock.now() + length;
        while self.clock.now() < end {
            let until = end.min(self.clock.now() + Millis::seconds(12 * 60 * 60));
            self.until("time passes", async |world| world.clock.now() >= until).await;
        }
    }

    /// The metrics of the host that is up, as text.
    ///
    /// # Panics
    /// No host is up.
    pub fn metrics(&self) -> String {
        self.life.as_ref().expect("a host is up").running.host.metrics.text()
    }

    /// How many lives there were.
    pub fn lives(&self) -> u64 {
        self.lives
    }

    /// A command from a client, which no fault touches.
    pub async fn client(&self, command: Command) -> Reply {
        self.memory
            .execute(vec![command])
            .await
            .expect("memory does not fail")
            .pop()
            .expect("one reply for one command")
    }

    /// Starts `target` with `input`.
    pub async fn start(&self, id: &str, target: &str, input: &Json) {
        let reply = self.client(Command::PromiseCreate(invocation(id, target, input))).await;
        assert!(matches!(reply, Reply::Promise { changed: true, .. }), "{reply:?}");
    }

    /// Starts `target` of `module` speculatively at the host that is up, as its API does. If the
    /// outcome is unknown, the start is repeated until the invocation exists.
    pub async fn begin(&mut self, id: &str, target: &str, module: Digest, input: &Json) {
        let told = Mutex::new(None);
        self.until(&format!("`{id}` has begun"), async |world| {
            if world.promise(id).await.is_some() {
                return true;
            }
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let waits = told
                .as_mut()
                .is_some_and(|told: &mut Told| matches!(told.try_recv(), Err(TryRecvError::Empty)));
            if !waits {
                *told = world.try_begin(id, target, module, input);
            }
            false
        })
        .await;
    }

    /// Asks the host that is up once to begin `target` of `module`; none: no host is up.
    pub fn try_begin(&self, id: &str, target: &str, module: Digest, input: &Json) -> Option<Told> {
        let slots = self.life.as_ref()?.running.host.slots()?;
        let new = invocation(id, target, input);
        Some(slots.begin(slots.slot(&new)?, new, module))
    }

    /// The task of an invocation.
    ///
    /// # Panics
    /// There is no such invocation.
    pub async fn task(&self, id: &str) -> Task {
        let row = self.memory.read().promise(&PromiseId::from(id)).await.expect("memory answers");
        row.and_then(|row| row.task).unwrap_or_else(|| panic!("`{id}` has no task"))
    }

    /// Runs until the task of an invocation, which may not exist yet, stands so.
    pub async fn stands(&mut self, id: &str, status: TaskStatus) {
        self.until(&format!("`{id}` is {status}"), async |world| {
            let row =
                world.memory.read().promise(&PromiseId::from(id)).await.expect("memory answers");
            row.and_then(|row| row.task).is_some_and(|task| task.status() == status)
        })
        .await;
    }

    /// Sends a signal.
    pub async fn signal(&self, id: &str, name: &str, payload: &Json) -> Reply {
        self.client(Command::Signal {
            invocation: PromiseId::from(id),
            name: name.into(),
            payload: Value::of(payload.to_string().into_bytes()),
            key: None,
        })
        .await
    }

    /// What a guest logged.
    pub async fn logs(&self, id: &str) -> Vec<String> {
        let rows = self.memory.read().logs(&PromiseId::from(id), 0, u32::MAX).await;
        rows.expect("memory answers").into_iter().map(|row| row.message).collect()
    }

    /// The journal, a line a record: see [`story`].
    pub async fn story(&self, id: &str) -> Vec<String> {
        story(&self.journal(id).await)
    }

    /// Resolves a promise as a person would.
    pub async fn resolve(&self, id: &str, value: &Json) {
        self.settle(id, Verdict::Resolved, value).await;
    }

    /// Settles a promise as a person would.
    pub async fn settle(&self, id: &str, verdict: Verdict, value: &Json) {
        let value = Value::of(value.to_string().into_bytes());
        let id = PromiseId::from(id);
        self.client(Command::PromiseSettle { id, verdict, value }).await;
    }

    /// The promise, if it is there.
    pub async fn promise(&self, id: &str) -> Option<Promise> {
        self.memory
            .read()
            .promise(&PromiseId::from(id))
            .await
            .expect("memory answers")
            .map(|row| row.promise)
    }

    /// Runs until `done` says so of the store, restarting the host whenever it dies.
    ///
    /// # Panics
    /// It takes longer than a day of virtual time.
    pub async fn until<F>(&mut self, what: &str, mut done: F)
    where
        F: AsyncFnMut(&Self) -> bool,
    {
        let limit = self.clock.now() + Millis::seconds(24 * 60 * 60);
        if self.life.is_none() {
            self.boot().await;
        }
        while !done(self).await {
            assert!(self.clock.now() < limit, "{what} did not happen within a day");
            let faults = self.faults.clone();
            let runtime = SimRuntime::default();
            let crashed = tokio::select! {
                biased;
                () = faults.crash.notified() => true,
                () = segno::runtime::Runtime::sleep(&runtime, Millis(20)) => false,
            };
            if crashed {
                self.boot().await;
            }
        }
    }

    /// Runs until the host dies of its fault, and leaves it down: true. Or until `done`, which is
    /// asked now and then: false.
    pub async fn until_it_dies(&mut self, mut done: impl AsyncFnMut(&Self) -> bool) -> bool {
        self.boot().await;
        if self.faults.injected() {
            // While it came up.
            self.crash();
            return true;
        }
        while !done(self).await {
            let faults = self.faults.clone();
            let runtime = SimRuntime::default();
            let crashed = tokio::select! {
                biased;
                () = faults.crash.notified() => true,
                () = segno::runtime::Runtime::sleep(&runtime, Millis(20)) => false,
            };
            if crashed {
                self.crash();
                return true;
            }
        }
        false
    }

    /// Runs until the invocation has its outcome: the verdict, and the value as JSON.
    pub async fn outcome(&mut self, id: &str) -> (Verdict, Json) {
        self.until(&format!("the end of `{id}`"), async |world| {
            world.promise(id).await.is_some_and(|promise| !promise.is_pending())
        })
        .await;
        let promise = self.promise(id).await.expect("it is settled");
        let settlement = promise.settlement().expect("it is settled");
        let value = settlement.value.as_ref().filter(|value| !value.data.is_empty());
        let value = value.map_or(Json::Null, |value| {
            serde_json::from_slice(&value.data).expect("values are JSON")
        });
        (settlement.verdict, value)
    }

    /// The whole journal.
    pub async fn journal(&self, id: &str) -> Vec<Record> {
        self.memory.read().journal(&PromiseId::from(id), 0, u32::MAX).await.expect("memory answers")
    }

    /// The journal without its times: what must not depend on crashes.
    pub async fn history(&self, id: &str) -> Vec<RecordBody> {
        self.journal(id).await.into_iter().map(|record| record.body).collect()
    }
}
