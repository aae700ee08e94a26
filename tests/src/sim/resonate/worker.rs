//! A process that acquires tasks, as released clients do. It listens, extends its claims, runs
//! functions from their start with the stored results of their steps, and suspends a task that
//! waits. It dies, falls silent, and continues too late.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use segno_core::time::Millis;
use segno_env::Runtime;
use segno_sim::{SimRuntime, TaskPanics};
use serde_json::{Value as Json, json};

use super::{
    super::{effects::Effects, network::Network},
    caller::Caller,
    claimed::{Claimed, Stop, receipt},
    flow, inbox,
};

/// Duration of its claims, in milliseconds.
const TTL: i64 = 3_000;
/// Fraction of tasks that it releases immediately, in thousandths.
const RELUCTANT: u64 = 40;

/// A simulated worker.
pub(crate) struct Worker {
    name: String,
    caller: Arc<Caller>,
    effects: Arc<Effects>,
    panics: TaskPanics,
    /// Current incarnation. `None` while it is down.
    life: Mutex<Option<Arc<SimRuntime>>>,
    /// Versions of the claims that it holds, by task id.
    held: Mutex<BTreeMap<String, u64>>,
    colon: bool,
}

impl Worker {
    /// Starts a worker.
    pub(crate) fn start(
        number: usize,
        network: Arc<Network>,
        effects: Arc<Effects>,
        panics: TaskPanics,
    ) -> Arc<Self> {
        let name = format!("p{number}");
        let colon = network.seed.is_multiple_of(2);
        let caller = Arc::new(Caller::new(name.clone(), network));
        let (life, held) = Default::default();
        let worker = Self { name, caller, effects, panics, life, held, colon };
        let worker = Arc::new(worker);
        worker.live();
        worker
    }

    /// Process id that it sends to hosts.
    pub(crate) fn pid(&self) -> &str {
        &self.name
    }

    /// Client through which it sends requests.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// True if it names steps as `root:0.1`, and not `root.0.1`.
    pub(crate) fn is_of_the_colon_dialect(&self) -> bool {
        self.colon
    }

    /// Separator between an id and the number of a step.
    pub(crate) fn separator(&self, id: &str) -> char {
        if self.colon && !id.contains(':') { ':' } else { '.' }
    }

    /// Dies with all work in progress, and restarts after `down`.
    pub(crate) async fn die(self: &Arc<Self>, down: i64) {
        let Some(life) = self.life().take() else { return };
        life.crash();
        self.held().clear();
        self.caller.sleep(Millis(down)).await;
        self.live();
    }

    /// Freezes the worker for `lasts`. Then it continues as if no time had passed, and repeats its
    /// requests.
    pub(crate) async fn freeze(&self, lasts: i64) {
        self.caller.conditions.frozen.store(true, Ordering::Relaxed);
        self.caller.sleep(Millis(lasts)).await;
        self.caller.conditions.thaw();
        self.caller.sleep(Millis(500)).await;
        self.caller.everything_again().await;
    }

    /// Sends no heartbeats for `lasts`.
    pub(crate) async fn fall_silent(&self, lasts: i64) {
        self.caller.conditions.heartless.store(true, Ordering::Relaxed);
        self.caller.sleep(Millis(lasts)).await;
        self.caller.conditions.heartless.store(false, Ordering::Relaxed);
    }

    /// Ends its faults: it sends heartbeats again, and is unfrozen.
    pub(crate) fn heal(&self) {
        self.caller.conditions.heartless.store(false, Ordering::Relaxed);
        self.caller.conditions.thaw();
    }

    /// Runs a task that it was handed.
    pub(crate) fn take(self: &Arc<Self>, taken: Json) {
        let worker = self.clone();
        self.begin(async move {
            if let Some(task) = Claimed::of(worker.clone(), &taken) {
                worker.execute(task).await;
            }
        });
    }

    /// Makes an external effect. Returns the receipt with the number of the run.
    pub(crate) async fn works(&self, key: &str) -> Json {
        let run = self.effects.ran(key);
        self.caller.sleep(Millis(self.effects.length(key, run))).await;
        self.caller.conditions.going().await;
        receipt(key, run)
    }

    fn live(self: &Arc<Self>) {
        let life = Arc::new(SimRuntime::watched(0, self.panics.clone()));
        *self.life() = Some(life.clone());
        let worker = self.clone();
        let receive = Arc::new(move |message: Json| worker.receive(&message));
        let listening =
            inbox::listen(self.caller.clone(), life.clone(), "workers", self.name.clone(), receive);
        life.spawn("inbox", Box::pin(listening));
        let worker = self.clone();
        life.spawn("heartbeat", Box::pin(async move { worker.beat().await }));
    }

    fn receive(self: &Arc<Self>, message: &Json) {
        if message["kind"] != "execute" {
            return;
        }
        let task = &message["data"]["task"];
        let (id, version) = (task["id"].clone(), task["version"].clone());
        let worker = self.clone();
        self.begin(async move {
            let data = json!({ "id": id, "version": version, "pid": worker.name, "ttl": TTL });
            if let Some((200, taken)) = worker.caller.ask("task.acquire", data).await
                && let Some(task) = Claimed::of(worker.clone(), &taken)
            {
                worker.execute(task).await;
            }
        });
    }

    async fn execute(self: &Arc<Self>, mut task: Claimed) {
        let (id, version) = (task.id.clone(), task.version);
        self.held().insert(id.clone(), version);
        let reluctant = self.caller.dice().chance(RELUCTANT);
        let gives_up = reluctant || self.carry_on(&mut task).await == Err(Stop::Unreachable);
        if gives_up {
            let data = json!({ "id": id, "version": version });
            // If the request is lost, the lease expires later.
            self.caller.ask("task.release", data).await;
        }
        let mut held = self.held();
        if held.get(&id) == Some(&version) {
            held.remove(&id);
        }
    }

    /// Runs until the task waits, is complete, or belongs to another worker.
    async fn carry_on(&self, task: &mut Claimed) -> Result<(), Stop> {
        loop {
            match flow::run(task).await {
                Ok(value) => return task.fulfill("resolved", &value).await,
                Err(Stop::Failed(error)) => return task.fulfill("rejected", &error).await,
                Err(Stop::Awaits(awaited)) => {
                    if !task.suspend(&awaited).await? {
                        return Ok(());
                    }
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Extends its claims, twice per lease. Some clients name every task, and now and then some
    /// name none.
    async fn beat(&self) {
        loop {
            self.caller.sleep(Millis(TTL / 2)).await;
            let held = self.held().clone();
            if held.is_empty() || self.caller.conditions.heartless.load(Ordering::Relaxed) {
                continue;
            }
            let named = held.iter().map(|(id, version)| json!({ "id": id, "version": version }));
            let tasks: Vec<Json> =
                if self.caller.dice().chance(100) { Vec::new() } else { named.collect() };
            // The answer is ignored.
            self.caller.ask("task.heartbeat", json!({ "pid": self.name, "tasks": tasks })).await;
        }
    }

    /// Spawns work that ends with the current incarnation.
    fn begin(&self, task: impl Future<Output = ()> + Send + 'static) {
        let life = self.life().clone();
        if let Some(life) = life {
            life.spawn("task", Box::pin(task));
        }
    }

    fn life(&self) -> MutexGuard<'_, Option<Arc<SimRuntime>>> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
