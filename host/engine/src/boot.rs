//! Start and shutdown of a host.
//!
//! The order of the start matters:
//! 1. The store opens, while the engine of guests is set up.
//! 2. This node begins a new incarnation, which makes every claim of its earlier incarnations
//!    stale.
//! 3. The tasks of those claims are released.
//! 4. Timers and messages start.
//! 5. The dispatcher starts.
//!
//! Protocols join the host between [`prepare`] and [`Prepared::start`].

use std::{panic, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    command::Command,
    config::Config,
    id::{Digest, Holder, HostName},
    reply::Reply,
    time::Millis,
};
use segno_env::{DebugClock, Env};
use segno_guest::{
    Compiler, ComponentSource, GuestError, HttpClient, HttpGate, HttpLimits, Limits, PolicySource,
    Wasm, WasmConfig, WasmEngine,
};
use segno_store::{
    Store, StoreError,
    postgres::{self, PostgresConfig, PostgresStore, ShardedStore},
    sqlite::{self, SqliteConfig, SqliteStore},
};
use tokio_util::sync::CancellationToken;

use crate::{
    host::Host,
    notifier::CommitNotifier,
    recovery::{self, Recovery, retention::Retention},
    worker::{Worker, WorkerSettings},
};

/// The settings of a host.
pub struct BootConfig {
    /// The store for all durable data.
    pub store: StoreConfig,
    /// The directory for data that can be rebuilt: compiled code.
    pub cache_dir: PathBuf,
    /// The compiler of components.
    pub compiler: Compiler,
    /// The node's name. It must be the same after a restart, so that the host recovers its own work
    /// immediately.
    pub node: HostName,
    pub engine: Config,
    /// The limits of guests: memory, fuel, instances.
    pub limits: Limits,
    /// The servers that guests may call.
    pub policy: PolicySource,
    /// The concurrency limits of the worker.
    pub worker: WorkerSettings,
    /// The clock that a debugger sets. `None` if debugging is not allowed.
    pub debug: Option<Arc<DebugClock>>,
    /// The retention periods of finished trees.
    pub retention: Retention,
}

/// The kind of store and its settings.
#[derive(Debug)]
pub enum StoreConfig {
    /// A directory that only this host uses.
    Sqlite(SqliteConfig),
    /// A database that other hosts may use as well.
    Postgres(PostgresConfig),
    /// Several databases that other hosts may use as well.
    Sharded(Vec<PostgresConfig>),
}

impl StoreConfig {
    /// The databases of the store; none for a directory.
    fn databases(&mut self) -> &mut [PostgresConfig] {
        match self {
            Self::Sqlite(_) => &mut [],
            Self::Postgres(database) => std::slice::from_mut(database),
            Self::Sharded(databases) => databases,
        }
    }
}

/// The reason why a host did not start. Nothing was changed, unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] sqlite::SqliteOpenError),
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] postgres::PostgresOpenError),
    /// The wasm engine cannot be set up.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The HTTP client cannot be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Http(#[from] reqwest::Error),
    /// The store did not answer while the host was starting.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A host that does not claim work yet.
pub struct Prepared {
    pub host: Host,
    node: HostName,
    worker: WorkerSettings,
    retention: Retention,
    shared: Option<SharedStore>,
}

/// A host that has started.
pub struct RunningHost {
    pub host: Host,
    /// Number of tasks that earlier incarnations of this node held when this one began.
    pub recovered: usize,
    /// The number of this incarnation.
    pub incarnation: u64,
    /// Cancelled when another host begins an incarnation under this node's name. This host must
    /// then stop.
    pub superseded: CancellationToken,
    worker: Worker,
    recovery: Recovery,
}

/// Opens the store and sets up a host on it. The wasm engine is returned as well, for uploads.
///
/// # Errors
/// [`BootError`].
pub async fn prepare(config: BootConfig, env: Env) -> Result<(Prepared, Arc<Wasm>), BootError> {
    let notifier = Arc::new(CommitNotifier::default());
    let deciding = match &config.debug {
        Some(clock) => Env { clock: clock.clone(), ..env },
        None => env,
    };
    let mut store = config.store;
    if config.debug.is_some() {
        // A debugger sets the time.
        store.databases().iter_mut().for_each(|database| database.server_time = false);
    }
    let policy = config.policy.clone();
    let mut limits = config.limits;
    // Executions that compute for a long time leave most slots and most of the instance pool to
    // others.
    let slots = u32::try_from(config.worker.slots).unwrap_or(u32::MAX).min(limits.instances);
    limits.computing = limits.computing.min(slots / 4).max(1);
    // The engine reserves its addresses while the store waits for the disk.
    let of_engine = limits.clone();
    let engine = tokio::task::spawn_blocking(move || WasmEngine::new(&of_engine, false));
    let opened = open(store, config.engine.clone(), deciding, notifier.clone()).await;
    let engine = engine.await.unwrap_or_else(|ended| panic::resume_unwind(ended.into_panic()));
    let OpenedStore { store, shared, env } = opened?;
    let guests = WasmConfig {
        limits,
        policy: config.policy,
        cache_dir: Some(config.cache_dir),
        compiler: config.compiler,
        fair: true,
        counts: false,
        ahead: Some(env.runtime.clone()),
        source: Arc::new(StoredComponents(store.clone())),
    };
    let wasm = Arc::new(Wasm::on(engine?, guests));
    // The host's own loops use the same clock as decisions, unless a debugger sets that clock.
    let env = match &config.debug {
        Some(clock) => Env { clock: clock.loops(), ..env },
        None => env,
    };
    let outbound = Arc::new(HttpGate::new(policy, HttpClient::new(HttpLimits::default())?));
    let host = Host::new(env, config.engine, store, wasm.clone(), outbound, notifier);
    let BootConfig { node, worker, retention, .. } = config;
    Ok((Prepared { host, node, worker, retention, shared }, wasm))
}

impl Prepared {
    /// Starts the host.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn start(self) -> Result<RunningHost, StoreError> {
        let Self { host, node, worker, retention, shared } = self;
        let running = start_keeping(host, node.clone(), worker, retention).await?;
        let (life, superseded) = (running.incarnation, running.superseded.clone());
        match shared {
            None => {}
            Some(SharedStore::Postgres(store)) => store.watch_incarnation(node, life, superseded),
            Some(SharedStore::Sharded(store)) => store.watch_incarnation(&node, life, &superseded),
        }
        Ok(running)
    }
}

/// A store that other hosts use too.
enum SharedStore {
    Postgres(Arc<PostgresStore>),
    Sharded(Arc<ShardedStore>),
}

/// An open store, and the same store as one that is shared if other hosts use it too.
struct OpenedStore {
    store: Arc<dyn Store>,
    shared: Option<SharedStore>,
    env: Env,
}

/// Opens the store. All hosts of one database use the clock of the database.
async fn open(
    store: StoreConfig,
    engine: Config,
    env: Env,
    notifier: Arc<CommitNotifier>,
) -> Result<OpenedStore, BootError> {
    match store {
        StoreConfig::Sqlite(config) => {
            let store = SqliteStore::open(config, engine, env.clone(), notifier).await?;
            Ok(OpenedStore { store, shared: None, env })
        }
        StoreConfig::Postgres(config) => {
            let store = PostgresStore::open(config, engine, env.clone(), notifier).await?;
            let clock = store.time();
            let env = Env { clock, ..env };
            let shared = Some(SharedStore::Postgres(store.clone()));
            Ok(OpenedStore { store, shared, env })
        }
        StoreConfig::Sharded(configs) => {
            let store = ShardedStore::open(configs, engine, env.clone(), notifier).await?;
            let clock = store.time();
            let env = Env { clock, ..env };
            let shared = Some(SharedStore::Sharded(store.clone()));
            Ok(OpenedStore { store, shared, env })
        }
    }
}

/// Starts a host whose parts exist already, with the default retention: only ended invocations of
/// services are removed.
///
/// # Errors
/// The store did not answer.
pub async fn start(
    host: Host,
    node: HostName,
    settings: WorkerSettings,
) -> Result<RunningHost, StoreError> {
    start_keeping(host, node, settings, Retention::default()).await
}

/// Starts a host whose parts exist already: releases the tasks that earlier incarnations of `node`
/// held, then starts the loops.
///
/// # Errors
/// The store did not answer.
pub async fn start_keeping(
    host: Host,
    node: HostName,
    settings: WorkerSettings,
    retention: Retention,
) -> Result<RunningHost, StoreError> {
    let replies = host.store.execute(vec![Command::HostStart { node: node.clone() }]).await?;
    let Some(Reply::Host { incarnation, held }) = replies.into_iter().next() else {
        return Err(StoreError::Unavailable {
            reason: format!("`{node}` could not begin a new life"),
        });
    };
    let recovered = held.len();
    let releases: Vec<Vec<Command>> = held
        .into_iter()
        .map(|id| vec![Command::HostRelease { id, node: node.clone(), below: incarnation }])
        .collect();
    // A task that cannot be released is quarantined, and its lease runs out. The host starts in any
    // case.
    recovery::each(&host, releases).await?;
    for protocol in host.protocols.all() {
        protocol.keep_silent(retention.of_silent_services());
    }
    let recovery = Recovery::start_keeping(&host, retention);
    let worker = Worker::start(host.clone(), Holder { node, incarnation }, settings);
    let superseded = worker.superseded();
    Ok(RunningHost { host, recovered, incarnation, superseded, worker, recovery })
}

impl RunningHost {
    /// Claims no more work, waits up to `limit` for running executions, releases the rest, and
    /// closes the store. Returns the number of claims that were released unfinished.
    pub async fn shutdown(self, limit: Millis) -> usize {
        let left = self.worker.shutdown(limit).await;
        self.recovery.stop();
        self.host.store.close().await;
        left
    }
}

struct StoredComponents(Arc<dyn Store>);

#[async_trait]
impl ComponentSource for StoredComponents {
    async fn component(&self, digest: Digest) -> anyhow::Result<Option<Arc<[u8]>>> {
        Ok(self.0.modules().component(digest).await?)
    }
}
