//! A host in virtual time: the real worker, recovery and wasm on one thread, over a store that can
//! crash the host.

pub mod deployment;
mod ledger;
mod probe;
pub mod script;
mod story;

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use segno_core::{
    address,
    command::Command,
    config::Config,
    id::{Digest, HostName, PromiseId},
    invocation::{Record, RecordBody},
    object::ModuleFacts,
    promise::{NewPromise, Promise, Task, TaskStatus, Verdict},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_engine::host::Host;
use segno_engine::notifier::CommitNotifier;
use segno_engine::values;
use segno_engine::worker::WorkerSettings;
use segno_env::{Clock, Env};
use segno_guest::{Guests, Outbound, Payload};
use segno_services::{
    Connector, Services,
    front::{ServicesApi, ingress_router},
};
use segno_sim::{HintSwitch, HostLife, MortalStore, PlannedFaults, SimClock, SimRuntime};
use segno_store::{MemoryStore, NewModule, Store, StoreError};
use serde_json::Value as Json;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::front::api_of;

pub use ledger::{Ledger, Line};
pub use probe::StoreProbe;
pub use story::story;

/// Receiver of the answer to a start.
pub type Told = oneshot::Receiver<Result<Reply, StoreError>>;

/// An invocation of `target` with `input`.
pub fn invocation(id: &str, target: &str, input: &Json) -> NewPromise {
    let function = address::function_of(target);
    NewPromise {
        id: PromiseId::from(id),
        param: values::param(&function, &Payload::Json(input.to_string()), Tags::new()),
        tags: Tags::from([(tags::TARGET.to_owned(), target.to_owned())]),
        timeout_at: Timestamp::NEVER,
    }
}

/// Settings of a world.
#[derive(Default)]
pub struct Plan {
    /// Settings of the engine.
    pub config: Config,
    /// Settings of the worker.
    pub worker: WorkerSettings,
    /// True if every commit hint is lost.
    pub deaf: bool,
    /// Handler of outgoing requests. `None`: the ledger.
    pub outbound: Option<Arc<dyn Outbound>>,
    /// Faults of commits.
    pub faults: PlannedFaults,
    /// Facts of the module that decisions depend on.
    pub facts: ModuleFacts,
    /// Description of the module, as JSON. Empty if there is none.
    pub description: String,
    /// Connector to deployments of services. `None` if there are none.
    pub connector: Option<Arc<dyn Connector>>,
}

/// A host in virtual time, with its store.
pub struct World {
    /// Store, which survives crashes.
    pub memory: Arc<MemoryStore>,
    /// Ledger of external requests.
    pub ledger: Arc<Ledger>,
    /// Faults of commits.
    pub faults: Arc<PlannedFaults>,
    /// Obstructions of the store, and the record of its use.
    pub probe: Arc<StoreProbe>,
    /// Clock of every incarnation.
    pub clock: Arc<SimClock>,
    switch: Arc<HintSwitch>,
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
    host: HostLife,
    services: Arc<Services>,
}

impl World {
    /// Creates a world in which `component` is deployed as `alias`, and no host is up.
    pub async fn new(
        guests: Arc<dyn Guests>,
        alias: &str,
        component: Arc<[u8]>,
        faults: PlannedFaults,
    ) -> Self {
        Self::planned(Plan { faults, ..Plan::default() }, guests, alias, component).await
    }

    /// Creates a world in which nothing gathers: each result and each outcome has a commit of its
    /// own.
    pub async fn one_by_one(
        guests: Arc<dyn Guests>,
        alias: &str,
        component: Arc<[u8]>,
        faults: PlannedFaults,
    ) -> Self {
        let config = Config { run_gather: Millis::ZERO, ..Config::default() };
        let plan = Plan { config, faults, ..Plan::default() };
        Self::planned(plan, guests, alias, component).await
    }

    /// Creates a world with this script as its only module, `m`.
    pub async fn scripted(script: &Arc<script::Script>) -> Self {
        Self::with(Plan::default(), script).await
    }

    /// Does the same with the settings in `plan`.
    pub async fn with(plan: Plan, script: &Arc<script::Script>) -> Self {
        Self::planned(plan, script.clone(), "m", Arc::from(&b"a script"[..])).await
    }

    /// Creates a world in which `component` is deployed as `alias`, with the settings in `plan`.
    ///
    /// # Panics
    /// If the module cannot be stored.
    pub async fn planned(
        plan: Plan,
        guests: Arc<dyn Guests>,
        alias: &str,
        component: Arc<[u8]>,
    ) -> Self {
        let Plan { config, worker, deaf, outbound, faults, facts, description, connector } = plan;
        let clock = Arc::new(SimClock::default());
        let switch = Arc::new(HintSwitch::default());
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
            probe: Arc::default(),
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

    /// Starts a host. A host that is up crashes first.
    pub async fn boot(&mut self) {
        loop {
            self.crash();
            self.lives += 1;
            let runtime = Arc::new(SimRuntime::life(self.lives));
            let notifier = Arc::new(CommitNotifier::default());
            self.switch.set(Some(notifier.clone() as _).filter(|_| !self.deaf));
            let (host, services) = self.parts(runtime.clone(), notifier);
            let node = HostName::from("world");
            let life = HostLife::start(host, runtime, node, self.worker, &self.faults).await;
            if let Ok(Some(host)) = life {
                self.life = Some(Life { host, services });
                return;
            }
            // The host died during its start, or the outcome of the start is unknown. The next
            // incarnation tries again.
        }
    }

    fn parts(
        &self,
        runtime: Arc<SimRuntime>,
        notifier: Arc<CommitNotifier>,
    ) -> (Host, Arc<Services>) {
        let probed = self.probe.over(self.memory.clone());
        let host = Host::new(
            Env { clock: self.clock.clone(), runtime },
            self.config.clone(),
            Arc::new(MortalStore::new(probed, self.faults.clone())),
            self.guests.clone(),
            self.outbound.clone(),
            notifier,
        );
        let services = Services::join(&host);
        self.connector.iter().for_each(|connector| services.connect(connector.clone()));
        (host, services)
    }

    /// Registers a deployment of services with this manifest.
    ///
    /// # Panics
    /// If `manifest` is not a manifest.
    pub async fn register(&self, manifest: &Json) {
        let (new, deploys) = deployment::registration("test", manifest, self.clock.now());
        self.memory.modules().put(new).await.expect("memory takes everything");
        for deploy in deploys {
            self.client(deploy).await;
        }
    }

    /// The routes on which callers of services reach the host that is up.
    ///
    /// # Panics
    /// If no host is up.
    pub fn ingress(&self) -> Router {
        let life = self.life.as_ref().expect("a host is up");
        let api = api_of(&life.host.running.host);
        ingress_router(ServicesApi::new(api, life.services.clone()))
    }

    /// Parts of a host over this world's store, for uses without a worker.
    pub fn host(&self) -> Host {
        self.parts(Arc::new(SimRuntime::life(0)), Arc::new(CommitNotifier::default())).0
    }

    /// Requests the pause of an invocation. Returns true if it is running on the host.
    pub fn pause(&self, id: &PromiseId) -> bool {
        let life = self.life.as_ref();
        life.is_some_and(|life| life.services.pauses().ask(id))
    }

    /// Crashes the host.
    pub fn crash(&mut self) {
        if let Some(life) = self.life.take() {
            life.host.runtime.crash();
        }
    }

    /// Stops the host as an operator does. Returns the number of claims that it released
    /// unfinished.
    ///
    /// # Panics
    /// If no host is up.
    pub async fn shutdown(&mut self, limit: Millis) -> usize {
        let life = self.life.take().expect("a host is up");
        let HostLife { runtime, running } = life.host;
        let left = running.shutdown(limit).await;
        runtime.crash();
        left
    }

    /// Lets time pass. Starts a host if none is up.
    pub async fn pass(&mut self, length: Millis) {
        let end = self.clock.now() + length;
        while self.clock.now() < end {
            let until = end.min(self.clock.now() + Millis::seconds(12 * 60 * 60));
            self.until("time passes", async |world| world.clock.now() >= until).await;
        }
    }

    /// Metrics of the host that is up, as text.
    ///
    /// # Panics
    /// If no host is up.
    pub fn metrics(&self) -> String {
        self.life.as_ref().expect("a host is up").host.running.host.metrics.text()
    }

    /// Number of incarnations so far.
    pub fn lives(&self) -> u64 {
        self.lives
    }

    /// Executes a command of a client, which no fault affects.
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
    /// outcome is unknown, repeats the start until the invocation exists.
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

    /// Requests once that the host begin `target` of `module`. `None` if no host is up or it has no
    /// free slot.
    pub fn try_begin(&self, id: &str, target: &str, module: Digest, input: &Json) -> Option<Told> {
        let slots = self.life.as_ref()?.host.running.host.slots()?;
        let new = invocation(id, target, input);
        Some(slots.begin(slots.slot(&new)?, new, module))
    }

    /// Task of an invocation.
    ///
    /// # Panics
    /// If there is no such invocation.
    pub async fn task(&self, id: &str) -> Task {
        let row = self.memory.read().promise(&PromiseId::from(id)).await.expect("memory answers");
        row.and_then(|row| row.task).unwrap_or_else(|| panic!("`{id}` has no task"))
    }

    /// Runs until the task of an invocation, which may not exist yet, has this status.
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

    /// Log messages of a guest.
    pub async fn logs(&self, id: &str) -> Vec<String> {
        let rows = self.memory.read().logs(&PromiseId::from(id), 0, u32::MAX).await;
        rows.expect("memory answers").into_iter().map(|row| row.message).collect()
    }

    /// The journal, with one line per record: see [`story()`].
    pub async fn story(&self, id: &str) -> Vec<String> {
        story(&self.journal(id).await)
    }

    /// Resolves a promise as an external client does.
    pub async fn resolve(&self, id: &str, value: &Json) {
        self.settle(id, Verdict::Resolved, value).await;
    }

    /// Settles a promise as an external client does.
    pub async fn settle(&self, id: &str, verdict: Verdict, value: &Json) {
        let value = Value::of(value.to_string().into_bytes());
        let id = PromiseId::from(id);
        self.client(Command::PromiseSettle { id, verdict, value }).await;
    }

    /// The promise with this id. `None` if it does not exist.
    pub async fn promise(&self, id: &str) -> Option<Promise> {
        self.memory
            .read()
            .promise(&PromiseId::from(id))
            .await
            .expect("memory answers")
            .map(|row| row.promise)
    }

    /// Runs until `done` returns true, and restarts the host whenever it dies.
    ///
    /// # Panics
    /// If that takes longer than a day of virtual time.
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
            if self.faults.crash_within(Millis(20)).await {
                self.boot().await;
            }
        }
    }

    /// Runs until the host dies of its fault, leaves it down, and returns true. Returns false if
    /// `done`, which is polled every 20 ms, returns true first.
    pub async fn until_it_dies(&mut self, mut done: impl AsyncFnMut(&Self) -> bool) -> bool {
        self.boot().await;
        if self.faults.injected() {
            // The host died during its start.
            self.crash();
            return true;
        }
        while !done(self).await {
            if self.faults.crash_within(Millis(20)).await {
                self.crash();
                return true;
            }
        }
        false
    }

    /// Runs until the invocation has its outcome. Returns the verdict, and the value as JSON.
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

    pub async fn journal(&self, id: &str) -> Vec<Record> {
        self.memory.read().journal(&PromiseId::from(id), 0, u32::MAX).await.expect("memory answers")
    }

    /// The journal without its times. It must not depend on crashes.
    pub async fn history(&self, id: &str) -> Vec<RecordBody> {
        self.journal(id).await.into_iter().map(|record| record.body).collect()
    }
}
