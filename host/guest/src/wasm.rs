//! The implementation of [`Guests`] by wasmtime.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{id::Digest, invocation::EngineFacts};

use super::{
    ActivityContext, ActivityHost, FunctionDescription, GuestError, Guests, Limits, Outcome,
    Payload, Workflow, activity,
    budget::ComputeBudget,
    described::ComponentDescription,
    engine::{GuestEngine, engine_facts},
    idle_modules::IdleModules,
    instance::Instance,
    loaded::LoadedModule,
    modules::ModuleStore,
    pool::EvictionCallback,
    ready::ReadyInstances,
    snapshot::{AccessibleSource, Initialization, SnapshotFiles, SnapshotPolicy},
    turns::{FairScheduler, InstanceTurn},
    wasm_config::WasmConfig,
};

/// The version of the accessor rewrite: code compiled from another version is not used.
const ACCESSIBLE: u32 = 3;

/// Maximum number of instances of an engine that counts: it serves a few replays.
const INSTANCES: u32 = 64;

/// The modules of a host, and the engine that runs them.
pub struct Wasm {
    pub(super) engine: Arc<GuestEngine>,
    pub(super) modules: Arc<ModuleStore>,
    /// The same modules with accessors added.
    pub(super) accessible: ModuleStore,
    /// The runtimes of source modules, with accessors and initializers.
    pub(super) runtimes: Arc<ModuleStore>,
    snapshots: Option<Arc<SnapshotFiles>>,
    ready: Arc<ReadyInstances>,
    idle: IdleModules,
    pub(super) limits: Arc<Limits>,
    /// The parameters it was created with.
    pub(super) config: WasmConfig,
}

/// The engine of a [`Wasm`], which can be set up before it.
pub struct WasmEngine(Arc<GuestEngine>);

impl WasmEngine {
    /// Sets up an engine, which counts instructions if requested. Takes some milliseconds: it
    /// reserves the addresses of all instances. It reads and writes no files.
    ///
    /// # Errors
    /// [`GuestError::Host`] if it cannot be set up on this machine with these limits.
    pub fn new(limits: &Limits, counts: bool) -> Result<Self, GuestError> {
        Ok(Self(Arc::new(GuestEngine::new(limits, counts)?)))
    }
}

impl Wasm {
    /// Sets up the engine and its caches.
    ///
    /// # Errors
    /// [`GuestError::Host`] if the engine cannot be set up on this machine with these limits.
    pub fn new(config: WasmConfig) -> Result<Self, GuestError> {
        let engine = WasmEngine::new(&config.limits, config.counts)?;
        Ok(Self::on(engine, config))
    }

    /// Sets up the caches on an engine of the same limits.
    pub fn on(WasmEngine(engine): WasmEngine, config: WasmConfig) -> Self {
        let limits = Arc::new(config.limits.clone());
        let modules = |initialization, source, configuration: &str, runtimes| {
            ModuleStore::new(
                Arc::clone(&engine),
                initialization,
                &limits,
                source,
                &config,
                configuration,
                runtimes,
            )
        };
        let accessible = |initialization, configuration: &str| {
            let source = AccessibleSource { source: config.source.clone(), initialization };
            modules(initialization, Arc::new(source), configuration, None)
        };
        let configuration = engine.configuration();
        let of_accessible = format!("{configuration}-accessible-{ACCESSIBLE}");
        let of_runtimes = format!("{configuration}-runtimes-{ACCESSIBLE}");
        let runtimes = Arc::new(accessible(Initialization::OnCall, &of_runtimes));
        let accessible = accessible(Initialization::OnInstantiation, &of_accessible);
        let modules = Arc::new(modules(
            Initialization::OnInstantiation,
            config.source.clone(),
            &configuration,
            Some((Arc::clone(&runtimes), &*of_runtimes)),
        ));
        // A snapshot has the parts of its instance in the order of the rewrite.
        let snapshots = snapshots(&config, &of_accessible);
        let (ready, idle) = (Arc::default(), IdleModules::default());
        let wasm =
            Self { engine, modules, accessible, runtimes, snapshots, ready, idle, limits, config };
        wasm.evict(Arc::new(|_| false));
        wasm
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Number of instances that could be created now without waiting: at a low number, warm ones
    /// should be removed.
    pub fn free_slots(&self) -> usize {
        self.engine.pool().free()
    }

    /// Returns true if instances come from a pool reserved at the start.
    pub fn pooled(&self) -> bool {
        self.engine.pooled()
    }

    /// The same modules on an engine that counts instructions. Their code is compiled and cached
    /// separately, and runs slower.
    fn counting(&self) -> Result<Arc<dyn Guests>, GuestError> {
        let limits = Limits { instances: INSTANCES, ..(*self.limits).clone() };
        let config = WasmConfig { limits, counts: true, ahead: None, ..self.config.clone() };
        Ok(Arc::new(Self::new(config)?))
    }

    fn turns(&self) -> Option<FairScheduler> {
        self.config.fair.then(|| self.engine.turns())
    }

    fn turn(&self, module: Digest) -> InstanceTurn {
        InstanceTurn::new(self.turns(), module)
    }

    pub(super) fn budget(&self, module: Digest) -> ComputeBudget {
        ComputeBudget::new(Arc::clone(&self.limits), self.turn(module))
    }

    /// The limits for an execution that began under `facts`: everything that a guest can observe
    /// stays the same.
    fn limits_of(&self, facts: &EngineFacts) -> Result<Arc<Limits>, GuestError> {
        let ours = engine_facts(&self.limits);
        if *facts == ours {
            return Ok(Arc::clone(&self.limits));
        }
        if (facts.class, facts.canonical_nans, facts.deterministic_simd)
            != (ours.class, ours.canonical_nans, ours.deterministic_simd)
        {
            return Err(GuestError::OtherEngine(format!(
                "class {} there, class {} here; run it on a host of the version it began on",
                facts.class, ours.class
            )));
        }
        let table_elements = u32::try_from(facts.table_limit).unwrap_or(u32::MAX);
        let (memory, tables) = (self.limits.memory_bytes, self.limits.table_elements);
        if facts.memory_limit_bytes > memory || table_elements > tables {
            return Err(GuestError::OtherEngine(format!(
                "it may use {} bytes of memory and {table_elements} table elements, more than this host allows; raise \
                 `limits.memory_bytes` and `limits.table_elements` to these",
                facts.memory_limit_bytes
            )));
        }
        let memory_bytes = facts.memory_limit_bytes;
        Ok(Arc::new(Limits { memory_bytes, table_elements, ..(*self.limits).clone() }))
    }

    /// Returns a module, loaded if it was not.
    pub(super) async fn loaded(&self, module: Digest) -> Result<Arc<LoadedModule>, GuestError> {
        if let Some(runtime) = &self.config.ahead {
            self.idle.watch(runtime, &self.engine, &self.modules);
        }
        self.modules.get(module).await
    }

    async fn instance(
        &self,
        module: Arc<LoadedModule>,
        facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError> {
        let limits = facts.map_or(Ok(Arc::clone(&self.limits)), |facts| self.limits_of(&facts))?;
        self.described(&module).await?;
        let of_module =
            || ComputeBudget::new(Arc::clone(&limits), self.turn(module.share.module()));
        let ahead = self.config.ahead.as_ref().filter(|_| Arc::ptr_eq(&limits, &self.limits));
        let ready = match ahead {
            Some(_) => self.ready.take(&module).await,
            None => None,
        };
        let instance = match ready {
            Some(instance) => instance,
            None => Instance::new(&self.engine, of_module(), Arc::clone(&module)).await?,
        };
        if let Some(runtime) = ahead {
            self.ready.prepare(runtime, &self.engine, &module, of_module());
        }
        Ok(Box::new(instance))
    }

    /// Sets the callback that removes waiting instances when the pool is full. Instances that
    /// nobody has used yet are removed first.
    fn evict(&self, give_up: EvictionCallback) {
        let ready = Arc::downgrade(&self.ready);
        self.engine.pool().when_full(Arc::new(move |module| {
            ready.upgrade().is_some_and(|ready| ready.give_up(module)) || give_up(module)
        }));
    }

    /// The self-description of a loaded module, cached after the first request.
    pub(super) async fn described(
        &self,
        module: &Arc<LoadedModule>,
    ) -> Result<Arc<ComponentDescription>, GuestError> {
        module
            .described
            .get_or_try_init(|| async {
                // Never rejected: the upload waits for the answer, and so may starts of the module.
                let budget = ComputeBudget::new(
                    Arc::clone(&self.limits),
                    InstanceTurn::at_once(self.turns(), module.share.module()),
                );
                let mut instance = Instance::new(&self.engine, budget, Arc::clone(module)).await?;
                instance.describe().await.map(Arc::new)
            })
            .await
            .cloned()
    }
}

/// An engine that counts instructions only runs for reports.
fn makes_snapshots(config: &WasmConfig) -> bool {
    config.limits.snapshot_records > 0 && !config.counts
}

/// The store of snapshots. `None` if snapshots are disabled or nothing can be written there.
fn snapshots(config: &WasmConfig, configuration: &str) -> Option<Arc<SnapshotFiles>> {
    let directory = config.cache_dir.as_deref().filter(|_| makes_snapshots(config))?;
    let policy = SnapshotPolicy {
        records: config.limits.snapshot_records,
        bytes: config.limits.snapshot_bytes,
    };
    SnapshotFiles::open(directory, configuration, policy)
        .inspect_err(|error| {
            tracing::warn!(
                "no snapshots will be kept: `{}` cannot be written: {error}",
                directory.display()
            );
        })
        .ok()
        .map(Arc::new)
}

#[async_trait]
impl Guests for Wasm {
    async fn describe(&self, module: Digest) -> Result<Arc<Vec<FunctionDescription>>, GuestError> {
        let module = self.loaded(module).await?;
        Ok(Arc::clone(&self.described(&module).await?.functions))
    }

    async fn instantiate(
        &self,
        module: Digest,
        facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError> {
        self.instance(self.loaded(module).await?, facts).await
    }

    fn engine_facts(&self) -> EngineFacts {
        engine_facts(&self.limits)
    }

    fn limits(&self) -> Option<&Limits> {
        Some(&self.limits)
    }

    fn counting(&self) -> Result<Arc<dyn Guests>, GuestError> {
        Self::counting(self)
    }

    fn snapshots(&self) -> Option<&Arc<SnapshotFiles>> {
        self.snapshots.as_ref()
    }

    async fn accessible(
        &self,
        module: Digest,
        facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError> {
        let plain = self.loaded(module).await?;
        let accessible = match plain.image {
            // It runs on a runtime that is accessible.
            Some(_) => plain,
            None => self.accessible.get(module).await?,
        };
        self.instance(accessible, facts).await
    }

    async fn places(&self, module: Digest) -> usize {
        self.loaded(module).await.map_or(1, |module| module.share.places())
    }

    fn when_full(&self, give_up: EvictionCallback) {
        self.evict(give_up);
    }

    async fn perform(
        &self,
        module: Digest,
        name: &str,
        function: &str,
        input: Payload,
        context: ActivityContext,
        host: Arc<dyn ActivityHost>,
    ) -> Result<Outcome, GuestError> {
        activity::perform(self, module, name, function, input, context, host).await
    }
}
