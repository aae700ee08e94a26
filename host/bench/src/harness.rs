//! A host in this process, on SQLite, on PostgreSQL or in memory.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, anyhow, bail};
use segno_api::ComponentInspector;
use segno_core::{
    command::Command,
    config::Config,
    id::{Digest, HostName, PromiseId},
    promise::{NewPromise, TaskStatus, Verdict},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_engine::{
    boot::{self, RunningHost},
    host::Host,
    notifier::{CommitNotifier, SettlementNotice},
    values,
    worker::WorkerSettings,
};
use segno_env::Env;
use segno_guest::{HttpClient, HttpGate, HttpLimits, Payload, PolicySource, Wasm};
use segno_store::{
    MemoryStore, NewModule, Store,
    postgres::{self, PostgresConfig, PostgresStore},
    sqlite::{SqliteConfig, SqliteStore, WriteTotals},
};
use serde_json::Value as Json;
use tokio::{sync::mpsc, task::JoinSet};

use super::{
    context::BenchContext,
    measure::{MeasuredTime, Stopwatch},
};

/// Time limit of a run, after which it counts as stuck.
const RUN_TIMEOUT: Millis = Millis(600_000);
/// Number of invocations per submission.
const PAGE: usize = 256;

/// A host with its worker and store.
pub struct Harness {
    pub host: Host,
    running: Option<RunningHost>,
    sqlite: Option<Arc<SqliteStore>>,
    postgres: Option<Arc<PostgresStore>>,
}

impl Harness {
    /// Creates a host on a data directory, with commits that survive a power loss.
    pub async fn sqlite(
        context: &BenchContext,
        dir: &Path,
        worker: WorkerSettings,
    ) -> anyhow::Result<Self> {
        Self::sqlite_with(context, context.wasm.clone(), dir, worker).await
    }

    /// Like [`Harness::sqlite`], with another engine than the context's.
    pub async fn sqlite_with(
        context: &BenchContext,
        guests: Arc<Wasm>,
        dir: &Path,
        worker: WorkerSettings,
    ) -> anyhow::Result<Self> {
        let (env, notifier) = (context.env.clone(), Arc::new(CommitNotifier::default()));
        let config = SqliteConfig::new(dir);
        let store = SqliteStore::open(config, Config::default(), env, notifier.clone()).await?;
        let (own, worker) = (Some(store.clone()), Some(worker));
        Self::staffed_as(context, guests, "bench", store, own, notifier, worker).await
    }

    /// Creates one of several hosts on a PostgreSQL database, named `node`.
    pub async fn postgres(
        context: &BenchContext,
        config: PostgresConfig,
        node: &str,
    ) -> anyhow::Result<Self> {
        let (env, notifier) = (context.env.clone(), Arc::new(CommitNotifier::default()));
        let engine = Config::default();
        let opened = PostgresStore::open(config, engine, env, notifier.clone()).await;
        let store = opened?;
        let worker = WorkerSettings {
            scan_period: Config::default().scan_period,
            ..WorkerSettings::default()
        };
        let own = store.clone();
        let guests = context.wasm.clone();
        let staffed = Self::staffed_as(context, guests, node, store, None, notifier, Some(worker));
        let harness = staffed.await?;
        Ok(Self { postgres: Some(own), ..harness })
    }

    /// Creates a host on a memory store.
    pub async fn memory(context: &BenchContext) -> anyhow::Result<Self> {
        let notifier = Arc::new(CommitNotifier::default());
        let store = MemoryStore::new(Config::default(), context.env.clone(), notifier.clone());
        Self::staffed(context, store, None, notifier, Some(WorkerSettings::default())).await
    }

    /// Creates a host on a data directory, without a worker.
    pub async fn unstaffed(context: &BenchContext, dir: &Path) -> anyhow::Result<Self> {
        let (env, notifier) = (context.env.clone(), Arc::new(CommitNotifier::default()));
        let config = SqliteConfig::new(dir);
        let store = SqliteStore::open(config, Config::default(), env, notifier.clone()).await?;
        Self::staffed(context, store.clone(), Some(store), notifier, None).await
    }

    async fn staffed(
        context: &BenchContext,
        store: Arc<dyn Store>,
        sqlite: Option<Arc<SqliteStore>>,
        notifier: Arc<CommitNotifier>,
        worker: Option<WorkerSettings>,
    ) -> anyhow::Result<Self> {
        let guests = context.wasm.clone();
        Self::staffed_as(context, guests, "bench", store, sqlite, notifier, worker).await
    }

    async fn staffed_as(
        context: &BenchContext,
        guests: Arc<Wasm>,
        node: &str,
        store: Arc<dyn Store>,
        sqlite: Option<Arc<SqliteStore>>,
        notifier: Arc<CommitNotifier>,
        worker: Option<WorkerSettings>,
    ) -> anyhow::Result<Self> {
        let policy = PolicySource::default();
        let host = Host::new(
            context.env.clone(),
            Config::default(),
            store,
            guests,
            Arc::new(HttpGate::new(policy, HttpClient::new(HttpLimits::default())?)),
            notifier,
        );
        let now = context.env.clock.now();
        let component = context.component.clone();
        let inspected = ComponentInspector::inspect(&*context.wasm, component.clone()).await;
        let description = inspected.map_err(|rejected| anyhow!(rejected.message))?;
        let module = NewModule {
            facts: description.facts(),
            description: serde_json::to_string(&description)?,
            ..NewModule::plain(context.digest, component, now)
        };
        host.store.modules().put(module).await?;
        let deploy = Command::Deploy { alias: "bench".into(), module: context.digest };
        host.store.execute(vec![deploy]).await?;
        let running = match worker {
            Some(worker) => Some(boot::start(host.clone(), HostName::from(node), worker).await?),
            None => None,
        };
        Ok(Self { host, running, sqlite, postgres: None })
    }

    /// Runs one invocation to its end.
    pub async fn run_one(
        &self,
        id: &str,
        function: &str,
        input: Json,
    ) -> anyhow::Result<MeasuredTime> {
        self.run(vec![(PromiseId::from(id), input)], function).await
    }

    /// Runs all invocations concurrently, measured from the first creation to the last end. All
    /// must succeed.
    pub async fn run(
        &self,
        invocations: Vec<(PromiseId, Json)>,
        function: &str,
    ) -> anyhow::Result<MeasuredTime> {
        let ids: Vec<PromiseId> = invocations.iter().map(|(id, _)| id.clone()).collect();
        let watch = self.watch(&ids);
        let stopwatch = Stopwatch::start();
        self.create(invocations, function).await?;
        watch.ended(&self.host.env).await?;
        let passed = stopwatch.passed();
        self.results(&ids).await?;
        Ok(passed)
    }

    /// Like [`Harness::run`], but starts the invocations like the API does, from `clients`
    /// concurrent clients.
    pub async fn begin(
        &self,
        invocations: Vec<(PromiseId, Json)>,
        function: &'static str,
        module: Digest,
        clients: usize,
    ) -> anyhow::Result<MeasuredTime> {
        let ids: Vec<PromiseId> = invocations.iter().map(|(id, _)| id.clone()).collect();
        let slots = self.host.slots().context("the host has no worker")?;
        let watch = self.watch(&ids);
        let left = Arc::new(Mutex::new(invocations.into_iter()));
        let next = move || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let stopwatch = Stopwatch::start();
        let mut tasks = JoinSet::new();
        for _ in 0..clients {
            let (slots, next) = (slots.clone(), next.clone());
            tasks.spawn(async move {
                while let Some((id, input)) = next() {
                    let new = new(id, function, &input);
                    let slot = slots.slot(&new).context("there is no room")?;
                    let reply = slots.begin(slot, new, module).await??;
                    let Reply::Begun { .. } = reply else {
                        bail!("an invocation did not begin: {reply:?}");
                    };
                }
                anyhow::Ok(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        watch.ended(&self.host.env).await?;
        let passed = stopwatch.passed();
        self.results(&ids).await?;
        Ok(passed)
    }

    /// Watches the settlements of these invocations from now on.
    pub fn watch(&self, ids: &[PromiseId]) -> SettlementWatcher {
        let (sender, settled) = mpsc::unbounded_channel();
        for id in ids {
            self.host.notifier.watch(id.clone(), sender.clone());
        }
        SettlementWatcher { left: ids.len(), settled }
    }

    /// Creates invocations.
    pub async fn create(
        &self,
        invocations: Vec<(PromiseId, Json)>,
        function: &str,
    ) -> anyhow::Result<()> {
        let mut commands = invocations
            .into_iter()
            .map(|(id, input)| Command::PromiseCreate(new(id, function, &input)));
        loop {
            let page: Vec<Command> = commands.by_ref().take(PAGE).collect();
            if page.is_empty() {
                return Ok(());
            }
            for reply in self.host.store.execute(page).await? {
                let Reply::Promise { changed: true, .. } = reply else {
                    bail!("an invocation was not created: {reply:?}");
                };
            }
        }
    }

    /// The outputs of ended invocations, as JSON.
    pub async fn results(&self, ids: &[PromiseId]) -> anyhow::Result<Vec<Json>> {
        let mut values = Vec::with_capacity(ids.len());
        for page in ids.chunks(PAGE) {
            for (id, row) in page.iter().zip(self.host.store.read().promises(page).await?) {
                let row = row.with_context(|| format!("`{id}` is not there"))?;
                let settlement =
                    row.promise.settlement().with_context(|| format!("`{id}` has not ended"))?;
                let text = settlement
                    .value
                    .as_ref()
                    .map(|value| String::from_utf8_lossy(&value.data).into_owned());
                let text = text.unwrap_or_default();
                if settlement.verdict != Verdict::Resolved {
                    bail!("`{id}` did not succeed: {:?}, {text}", settlement.verdict);
                }
                values.push(serde_json::from_str(&text).unwrap_or(Json::Null));
            }
        }
        Ok(values)
    }

    /// Waits until all of these are suspended.
    pub async fn suspended(&self, ids: &[PromiseId]) -> anyhow::Result<()> {
        let all = async {
            for page in ids.chunks(PAGE) {
                while !self.are_suspended(page).await? {
                    self.host.env.runtime.sleep(Millis(5)).await;
                }
            }
            anyhow::Ok(())
        };
        self.host.env.within(RUN_TIMEOUT, all).await.context("the workflows do not come to rest")?
    }

    async fn are_suspended(&self, ids: &[PromiseId]) -> anyhow::Result<bool> {
        let rows = self.host.store.read().promises(ids).await?;
        let status = |row: &segno_store::PromiseRow| row.task.as_ref().map(|task| task.status());
        Ok(rows.iter().flatten().filter(|row| status(row) == Some(TaskStatus::Suspended)).count()
            == ids.len())
    }

    /// Resolves promises with `null`, in one submission.
    pub async fn resolve(&self, ids: Vec<PromiseId>) -> anyhow::Result<()> {
        let settle =
            |id| Command::PromiseSettle { id, verdict: Verdict::Resolved, value: Value::default() };
        for reply in self.host.store.execute(ids.into_iter().map(settle).collect()).await? {
            let Reply::Promise { changed: true, .. } = reply else {
                bail!("a promise was not resolved: {reply:?}");
            };
        }
        Ok(())
    }

    /// The store's write statistics so far; zeros for a memory store.
    pub fn written(&self) -> WriteTotals {
        self.sqlite.as_ref().map(|store| store.written()).unwrap_or_default()
    }

    /// The write statistics of a host on PostgreSQL; zeros for other stores.
    pub fn written_together(&self) -> postgres::WriteTotals {
        self.postgres.as_ref().map(|store| store.written()).unwrap_or_default()
    }

    /// Shuts the host down gracefully.
    pub async fn close(self) {
        match self.running {
            Some(running) => {
                running.shutdown(Millis(10_000)).await;
            }
            None => self.host.store.close().await,
        }
    }
}

/// A new invocation of the benchmark module.
pub(crate) fn new(id: PromiseId, function: &str, input: &Json) -> NewPromise {
    let param = values::param(function, &Payload::Json(input.to_string()), Tags::new());
    let tags = Tags::from([(tags::TARGET.to_owned(), format!("wasm://bench/{function}"))]);
    NewPromise { id, param, tags, timeout_at: Timestamp::NEVER }
}

/// Receives the settlements of watched invocations.
pub struct SettlementWatcher {
    left: usize,
    settled: mpsc::UnboundedReceiver<SettlementNotice>,
}

impl SettlementWatcher {
    /// Completes when all have ended.
    pub async fn ended(mut self, env: &Env) -> anyhow::Result<()> {
        let all = async {
            while self.left > 0 && self.settled.recv().await.is_some() {
                self.left -= 1;
            }
        };
        let ended = env.within(RUN_TIMEOUT, all).await;
        ended.with_context(|| {
            format!("{} invocations have not ended within {} s", self.left, RUN_TIMEOUT.0 / 1_000)
        })
    }
}
