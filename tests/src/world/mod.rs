//! A host in virtual time: the real worker, recovery and wasm on one thread, over a store that can crash it.

mod faults;
mod ledger;
mod sim;

use std::sync::{Arc, Mutex, PoisonError};

use segno::{
    boot::{self, Running},
    guest::{Guests, Payload},
    host::Host,
    hub::Hub,
    runtime::{Clock, Surroundings},
    store::{Hints, MemoryStore, Store},
    worker::{WorkerSettings, convention},
};
use segno_core::{
    command::Command,
    config::Config,
    effect::Effect,
    id::{Digest, NodeName, PromiseId},
    invocation::{Record, RecordBody},
    promise::{NewPromise, Promise, Verdict},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use serde_json::Value as Json;

pub use faults::{Fault, Faults, FaultyStore};
pub use ledger::{Ledger, Line};
pub use sim::{BEGINNING, SimClock, SimRuntime};

/// Hints go to the life that is up.
#[derive(Default)]
struct Switch(Mutex<Option<Arc<Hub>>>);

impl Hints for Switch {
    fn committed(&self, effects: &[Effect]) {
        if let Some(hub) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            hub.committed(effects);
        }
    }
}

/// See the module.
pub struct World {
    /// Everything that lasts.
    pub memory: Arc<MemoryStore>,
    /// The world outside.
    pub ledger: Arc<Ledger>,
    /// What goes wrong.
    pub faults: Arc<Faults>,
    clock: Arc<dyn Clock>,
    switch: Arc<Switch>,
    guests: Arc<dyn Guests>,
    config: Config,
    life: Option<Life>,
    lives: u64,
}

struct Life {
    runtime: Arc<SimRuntime>,
    _running: Running,
}

impl World {
    /// A world in which `component` is deployed as `alias`, and no host is up.
    pub async fn new(
        guests: Arc<dyn Guests>,
        alias: &str,
        component: Arc<[u8]>,
        faults: Faults,
    ) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SimClock::default());
        let switch = Arc::new(Switch::default());
        let config = Config::default();
        let quiet = Surroundings { clock: clock.clone(), runtime: Arc::new(SimRuntime::default()) };
        let memory = MemoryStore::new(config.clone(), quiet, switch.clone());
        let digest = Digest::of(&component);
        memory
            .put_component(digest, component, String::new(), clock.now())
            .await
            .expect("memory takes everything");
        let world = Self {
            memory,
            ledger: Arc::new(Ledger::default()),
            faults: Arc::new(faults),
            clock,
            switch,
            guests,
            config,
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
            let hub = Arc::new(Hub::default());
            *self.switch.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(hub.clone());
            let host = Host {
                surroundings: Surroundings { clock: self.clock.clone(), runtime: runtime.clone() },
                config: Arc::new(self.config.clone()),
                store: Arc::new(FaultyStore::new(self.memory.clone(), self.faults.clone())),
                guests: self.guests.clone(),
                outbound: self.ledger.clone(),
                hub,
            };
            let starting = boot::start(host, NodeName::from("world"), WorkerSettings::default());
            let faults = self.faults.clone();
            let running = tokio::select! {
                biased;
                () = faults.crash.notified() => None,
                running = starting => Some(running),
            };
            match running {
                Some(Ok(running)) => {
                    self.life = Some(Life { runtime, _running: running });
                    return;
                }
                // It died while it came up, or does not know whether it did: the next life tries again.
                Some(Err(_)) | None => runtime.crash(),
            }
        }
    }

    /// Ends the host where it stands.
    pub fn crash(&mut self) {
        if let Some(life) = self.life.take() {
            life.runtime.crash();
        }
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
        let function = target.rsplit('/').next().expect("a target names a function");
        let new = NewPromise {
            id: PromiseId::from(id),
            param: convention::param(function, &Payload::Json(input.to_string()), Tags::new()),
            tags: Tags::from([(tags::TARGET.to_owned(), target.to_owned())]),
            timeout_at: Timestamp::NEVER,
        };
        let reply = self.client(Command::PromiseCreate(new)).await;
        assert!(matches!(reply, Reply::Promise { changed: true, .. }), "{reply:?}");
    }

    /// Settles a promise as a person would.
    pub async fn resolve(&self, id: &str, value: &Json) {
        let value = Value::of(value.to_string().into_bytes());
        self.client(Command::PromiseSettle {
            id: PromiseId::from(id),
            verdict: Verdict::Resolved,
            value,
        })
        .await;
    }

    /// The promise, if it is there.
    pub async fn promise(&self, id: &str) -> Option<Promise> {
        self.memory
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

    /// Runs until the invocation has its outcome: the verdict, and the value as JSON.
    pub async fn outcome(&mut self, id: &str) -> (Verdict, Json) {
        self.until(&format!("the end of `{id}`"), async |world| {
            world.promise(id).await.is_some_and(|promise| !promise.is_pending())
        })
        .await;
        let promise = self.promise(id).await.expect("it is settled");
        let settlement = promise.settlement().expect("it is settled");
        let value = settlement.value.as_ref().map_or(Json::Null, |value| {
            serde_json::from_slice(&value.data).expect("values are JSON")
        });
        (settlement.verdict, value)
    }

    /// The whole journal.
    pub async fn journal(&self, id: &str) -> Vec<Record> {
        self.memory.journal(&PromiseId::from(id), 0, u32::MAX).await.expect("memory answers")
    }

    /// The journal without its times: what must not depend on crashes.
    pub async fn history(&self, id: &str) -> Vec<RecordBody> {
        self.journal(id).await.into_iter().map(|record| record.body).collect()
    }
}
