//! The configuration of the wasm engine, in one place, with the parts that make it fair: the epoch
//! and the pool of instances.
//!
//! Two hosts with the same [`Limits`] give a guest the same answers. A guest must not observe the
//! machine's speed or load: an epoch makes it yield or stops it, never more.

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
    pool::{CORE_INSTANCES, CORE_INSTANCES_PER_PLACE, Needs, Pool, Probe, Share, TABLES_PER_PLACE},
    turns::Turns,
};

/// The length of an epoch, in milliseconds: how long a busy guest runs before others get their
/// turn.
pub(super) const TICK_MS: u64 = 2;

/// Stack of host functions called by a guest, in bytes, beyond the guest's own.
const HOST_STACK_BYTES: usize = 1 << 20;
/// Bytes of a memory that stay resident when its instance is removed, so that the next one causes
/// fewer page faults.
const KEEP_RESIDENT_BYTES: usize = 256 << 10;
/// The same for a table, in bytes.
const KEEP_TABLE_RESIDENT_BYTES: usize = 64 << 10;
/// Maximum number of frames in a backtrace.
const BACKTRACE_FRAMES: usize = 24;
/// Places beyond those that are allocated: the pool may keep one for a moment after its instance is
/// removed.
const SPARE_PLACES: u32 = 64;

/// wasmtime's engine with its epoch thread and its pool.
pub(super) struct GuestEngine {
    engine: Engine,
    ticker: Ticker,
    pool: Pool,
    probe: Probe,
    turns: Turns,
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
        let ticker = Ticker::start(engine.weak());
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let turns = Turns::new(processors, limits.computing);
        let probe = Probe::new(config(limits, None, counts), allocation(limits, 1));
        Ok(Self { engine, ticker, pool: Pool::new(places), probe, turns, pooled, counts })
    }

    /// wasmtime's engine.
    pub(super) fn wasmtime(&self) -> &Engine {
        &self.engine
    }

    /// Whether instances come from the pool.
    pub(super) fn pooled(&self) -> bool {
        self.pooled
    }

    /// Whether it counts instructions.
    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    /// A name for the settings and the version of the engine: code compiled under another name is
    /// not loaded.
    pub(super) fn configuration(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.engine.precompile_compatibility_hash().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// The scheduler of calls that compute for long.
    pub(super) fn turns(&self) -> Turns {
        self.turns.clone()
    }

    /// Keeps epochs advancing until dropped.
    pub(super) fn running(&self) -> Running {
        self.ticker.running()
    }

    /// The pool of instances.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A module's share of the pool.
    ///
    /// # Errors
    /// Why no instance of the module can be created here.
    pub(super) fn share(&self, module: Digest, component: &Component) -> Result<Share, String> {
        let needs = Needs::of(component, &self.probe)
            .ok_or("it imports core modules, which nothing here can provide")?;
        self.pool.share(module, &needs)
    }
}

/// The settings that a guest could observe, which an execution pins when it starts.
pub(super) fn engine_facts(limits: &Limits) -> EngineFacts {
    EngineFacts {
        class: 1,
        canonical_nans: true,
        deterministic_simd: true,
        memory_limit_bytes: limits.memory_bytes,
        table_limit: limits.table_elements.into(),
    }
}

/// An engine that compiles code for hosts with these limits, or for such that count instructions,
/// and runs none.
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

    // Counts instructions. No guest can see that.
    config.consume_fuel(counts);

    // A slot reserves the maximum of its memory and no more: thousands fit, and their page tables
    // are small.
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
        // A stack is held during a call only, but returns to the pool a little late.
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
pub(super) struct Running {
    shared: Arc<TickerState>,
}

impl Ticker {
    fn start(engine: EngineWeak) -> Self {
        let shared = Arc::new(TickerState::default());
        let state = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("segno-epoch".into())
            .spawn(move || tick(&state, &engine))
            .expect("the machine can start one more thread");
        Self { shared, thread: Some(thread) }
    }

    fn running(&self) -> Running {
        if self.shared.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.wake();
        }
        Running { shared: Arc::clone(&self.shared) }
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
            // The thread only sleeps and counts: its result is irrelevant.
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.running.fetch_sub(1, Ordering::AcqRel);
    }
}

fn tick(state: &TickerState, engine: &EngineWeak) {
    while !state.stop.load(Ordering::Acquire) {
        if state.running.load(Ordering::Acquire) == 0 {
            // An earlier unpark makes this return at once.
            std::thread::park();
            continue;
        }
        std::thread::sleep(Duration::from_millis(TICK_MS));
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
    }
}
