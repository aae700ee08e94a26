//! The configuration of the wasm engine, with the parts that make scheduling fair: the epoch and
//! the pool of instances.
//!
//! Two hosts with the same [`Limits`] give a guest the same answers. A guest must not observe the
//! speed or load of the machine: an epoch makes it yield or stops it, and has no other effect.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use segno_core::{id::Digest, invocation::EngineFacts};
use wasmtime::{
    Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig,
    WasmBacktraceDetails, component::Component,
};

use super::{
    GuestError, Limits,
    mapped::{MappedMemories, MappedStacks},
    pool::{
        CORE_INSTANCES, CORE_INSTANCES_PER_PLACE, InstanceNeeds, InstancePool, InstanceProbe,
        ModuleShare, TABLES_PER_PLACE,
    },
    snapshot::Initialization,
    turns::FairScheduler,
};

/// Length of an epoch, in milliseconds: the time that a busy guest runs before others get a turn.
pub(super) const TICK_MS: u64 = 2;

/// Stack for host functions called by a guest, in bytes, in addition to the guest's own.
const HOST_STACK_BYTES: usize = 1 << 20;
/// Bytes of a memory slot that stay resident after its instance is removed, which saves page faults
/// for the next one.
const KEEP_RESIDENT_BYTES: usize = 256 << 10;
/// Bytes of a table that stay resident after its instance is removed.
const KEEP_TABLE_RESIDENT_BYTES: usize = 64 << 10;
/// Maximum number of frames in a backtrace.
const BACKTRACE_FRAMES: usize = 24;
/// Pool slots beyond the allocated ones: the pool may keep a slot for a moment after its instance
/// is removed.
const SPARE_PLACES: u32 = 64;

/// wasmtime's engine with its epoch thread and its pool.
pub(super) struct GuestEngine {
    engine: Engine,
    /// The engine of runtimes. Its memories begin with images of modules, and so come from no pool
    /// of wasmtime. It runs the same code.
    of_runtimes: Engine,
    ticker: Ticker,
    pool: InstancePool,
    probe: InstanceProbe,
    turns: FairScheduler,
    pooled: bool,
    counts: bool,
}

impl GuestEngine {
    /// Builds the engine; falls back to allocation on demand if the pool's address space cannot be
    /// reserved.
    pub(super) fn new(limits: &Limits, counts: bool) -> Result<Self, GuestError> {
        let places = limits.instances.max(1);
        let pool = Some(allocation(limits, places));
        let (engine, pooled) = match Engine::new(&config(limits, pool, counts)) {
            Ok(engine) => (engine, true),
            Err(error) => {
                tracing::warn!("no pool for wasm instances, allocating on demand: {error:#}");
                let engine = Engine::new(&config(limits, None, counts)).map_err(|error| {
                    GuestError::Host(format!("the wasm engine could not be set up: {error:#}"))
                })?;
                (engine, false)
            }
        };
        let mut config_of_runtimes = config(limits, None, counts);
        config_of_runtimes
            .with_host_memory(Arc::new(MappedMemories::default()))
            .with_host_stack(Arc::new(MappedStacks::default()));
        let of_runtimes = Engine::new(&config_of_runtimes).map_err(|error| {
            GuestError::Host(format!("the engine of runtimes could not be set up: {error:#}"))
        })?;
        let ticker = Ticker::start([engine.weak(), of_runtimes.weak()]);
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let turns = FairScheduler::new(processors, limits.computing);
        let probe = InstanceProbe::new(config(limits, None, counts), allocation(limits, 1));
        let pool = InstancePool::new(places);
        Ok(Self { engine, of_runtimes, ticker, pool, probe, turns, pooled, counts })
    }

    /// The engine of components with this moment of initialization.
    pub(super) fn wasmtime(&self, initialization: Initialization) -> &Engine {
        match initialization {
            Initialization::OnInstantiation => &self.engine,
            Initialization::OnCall => &self.of_runtimes,
        }
    }

    /// Returns true if instances come from the pool.
    pub(super) fn pooled(&self) -> bool {
        self.pooled
    }

    /// Returns true if the engine counts instructions.
    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    /// An identifier of the engine's settings and version: code compiled under another identifier
    /// is not loaded.
    pub(super) fn configuration(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.engine.precompile_compatibility_hash().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// The scheduler of calls that compute for long.
    pub(super) fn turns(&self) -> FairScheduler {
        self.turns.clone()
    }

    /// Keeps epochs advancing until the returned guard is dropped.
    pub(super) fn running(&self) -> RunningCall {
        self.ticker.running()
    }

    /// Bytes of memory in places of the pool that have no instance.
    pub(super) fn idle_bytes(&self) -> usize {
        let pool = self.engine.pooling_allocator_metrics();
        pool.map_or(0, |pool| pool.unused_memory_bytes_resident())
    }

    pub(super) fn pool(&self) -> &InstancePool {
        &self.pool
    }

    /// The share of the pool for a module.
    ///
    /// # Errors
    /// The reason that no instance of the module can be created here.
    pub(super) fn share(
        &self,
        module: Digest,
        component: &Component,
    ) -> Result<ModuleShare, String> {
        let needs = InstanceNeeds::of(component, &self.probe)
            .ok_or("it imports core modules, which nothing here can provide")?;
        self.pool.share(module, &needs)
    }
}

/// The settings that a guest can observe. An execution pins them when it starts.
pub(super) fn engine_facts(limits: &Limits) -> EngineFacts {
    EngineFacts {
        class: 1,
        canonical_nans: true,
        deterministic_simd: true,
        memory_limit_bytes: limits.memory_bytes,
        table_limit: limits.table_elements.into(),
    }
}

/// An engine that compiles code, and runs none, for hosts with these limits, with instruction
/// counting if requested.
pub(super) fn compiling_engine(limits: &Limits, counts: bool) -> wasmtime::Result<Engine> {
    Engine::new(&config(limits, None, counts))
}

fn config(limits: &Limits, pool: Option<PoolingAllocationConfig>, counts: bool) -> Config {
    let mut config = Config::new();

    // Settings that a guest can observe.
    config.cranelift_nan_canonicalization(true);
    config.relaxed_simd_deterministic(true);
    config.shared_memory(false);
    config.wasm_component_model(true);
    // The contract has no `async func`: without the tables for it a host call costs half.
    config.concurrency_support(false);

    // Settings that stop or delay a guest.
    config.epoch_interruption(true);
    config.max_wasm_stack(limits.stack_bytes as usize);
    config.async_stack_size(limits.stack_bytes as usize + HOST_STACK_BYTES);
    config.wasm_backtrace_details(WasmBacktraceDetails::Enable);
    config.wasm_backtrace_max_frames(NonZeroUsize::new(BACKTRACE_FRAMES));

    // Counts instructions; invisible to guests.
    config.consume_fuel(counts);

    // A slot reserves exactly the maximum memory: thousands of slots fit, and their page tables
    // stay small.
    config.memory_reservation(memory_slot_bytes(limits) as u64);
    if let Some(pool) = pool {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

fn allocation(limits: &Limits, places: u32) -> PoolingAllocationConfig {
    let spare = places.saturating_add(SPARE_PLACES);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(spare)
        .total_core_instances(spare.saturating_mul(CORE_INSTANCES_PER_PLACE))
        .total_memories(spare)
        .total_tables(spare.saturating_mul(TABLES_PER_PLACE))
        // A stack is held during a call only, but returns to the pool with a short delay.
        .total_stacks(spare.saturating_mul(2))
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(places.min(64))
        .max_tables_per_component(places.min(64).saturating_mul(TABLES_PER_PLACE))
        .max_memories_per_module(8)
        .max_tables_per_module(16)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .max_memory_size(memory_slot_bytes(limits))
        .table_elements(limits.table_elements as usize)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(KEEP_TABLE_RESIDENT_BYTES)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// `memory_bytes` in whole wasm pages, up to the 4 GiB of a 32-bit memory.
fn memory_slot_bytes(limits: &Limits) -> usize {
    let bytes = limits.memory_bytes.min(4 << 30).next_multiple_of(64 << 10);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Advances the epoch while guests run, and sleeps while none does.
struct Ticker {
    shared: Arc<TickerState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct TickerState {
    running: AtomicUsize,
    stop: AtomicBool,
}

/// One running call.
pub(super) struct RunningCall {
    shared: Arc<TickerState>,
}

impl Ticker {
    fn start(engines: [EngineWeak; 2]) -> Self {
        let shared = Arc::new(TickerState::default());
        let state = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("segno-epoch".into())
            .spawn(move || tick(&state, &engines))
            .expect("the machine can start one more thread");
        Self { shared, thread: Some(thread) }
    }

    fn running(&self) -> RunningCall {
        if self.shared.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.wake();
        }
        RunningCall { shared: Arc::clone(&self.shared) }
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // The thread only sleeps and counts, so its result does not matter.
            let _ = thread.join();
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.shared.running.fetch_sub(1, Ordering::AcqRel);
    }
}

fn tick(state: &TickerState, engines: &[EngineWeak]) {
    while !state.stop.load(Ordering::Acquire) {
        if state.running.load(Ordering::Acquire) == 0 {
            // An earlier unpark makes this return immediately.
            std::thread::park();
            continue;
        }
        std::thread::sleep(Duration::from_millis(TICK_MS));
        for engine in engines {
            match engine.upgrade() {
                Some(engine) => engine.increment_epoch(),
                None => return,
            }
        }
    }
}
