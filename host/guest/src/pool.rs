//! The pool of instances: the needs of an instance are known before it is created, and an instance
//! without free places waits.
//!
//! wasmtime's pool rejects an instance that does not fit. That is no fault of the guest and must
//! never become its error, so every instantiation acquires its places here first: an instance holds
//! the number of *places* that it needs, of the pool and of its module's share. A share is smaller
//! than the pool, so that no module can block all others.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use segno_core::id::Digest;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, component::Component,
};

/// Number of tables per place.
pub(super) const TABLES_PER_PLACE: u32 = 4;
/// Number of core instances per place: a component of one interpreted language has about forty.
pub(super) const CORE_INSTANCES_PER_PLACE: u32 = 64;
/// Maximum number of core instances of a component.
pub(super) const CORE_INSTANCES: u32 = 1_024;

/// Callback that removes a waiting instance, of this module or of any. Returns false if there is
/// none.
pub type EvictionCallback = Arc<dyn Fn(Option<Digest>) -> bool + Send + Sync>;

pub(super) struct InstancePool {
    places: u32,
    free: Arc<Semaphore>,
    /// Number of instances that wait for places of the pool.
    waiting: AtomicUsize,
    give_up: Mutex<Option<EvictionCallback>>,
}

/// The places that the instances of one module may hold together.
pub(super) struct ModuleShare {
    module: Digest,
    /// Number of places that one instance takes.
    places: u32,
    free: Arc<Semaphore>,
    /// Number of instances that wait for places of the share.
    waiting: AtomicUsize,
}

/// The places of one instance, returned to the pool on drop.
pub(super) struct PoolPermit {
    _of_pool: OwnedSemaphorePermit,
    _of_share: OwnedSemaphorePermit,
}

impl ModuleShare {
    pub(super) fn module(&self) -> Digest {
        self.module
    }

    /// Number of places that one instance takes.
    pub(super) fn places(&self) -> usize {
        self.places as usize
    }
}

impl InstancePool {
    /// Creates a pool with all places free.
    pub(super) fn new(places: u32) -> Self {
        let free = Arc::new(Semaphore::new(places as usize));
        Self { places, free, waiting: AtomicUsize::new(0), give_up: Mutex::default() }
    }

    /// Sets the callback that removes waiting instances when the pool is full, replacing the
    /// previous one.
    pub(super) fn when_full(&self, give_up: EvictionCallback) {
        *self.give_up.lock().unwrap_or_else(PoisonError::into_inner) = Some(give_up);
    }

    /// The share for a module whose instances have these needs.
    ///
    /// # Errors
    /// The reason that an instance would not fit into the pool.
    pub(super) fn share(
        &self,
        module: Digest,
        needs: &InstanceNeeds,
    ) -> Result<ModuleShare, String> {
        let places = needs.places();
        if places > self.places {
            let InstanceNeeds { core_instances, memories, tables } = needs;
            return Err(format!(
                "an instance of it has {core_instances} core instances, {memories} memories and {tables} tables, which \
                 take {places} places of the host's pool; it has {} (`limits.instances`)",
                self.places
            ));
        }
        // A quarter of the pool stays available to other modules.
        let all = (self.places - self.places / 4).max(places);
        let free = Arc::new(Semaphore::new(all as usize));
        Ok(ModuleShare { module, places, free, waiting: AtomicUsize::new(0) })
    }

    /// Waits until an instance of this share has its places.
    pub(super) async fn room(&self, share: &ModuleShare) -> PoolPermit {
        let of_share =
            self.take(&share.free, share.places, &share.waiting, Some(share.module)).await;
        let of_pool = self.take(&self.free, share.places, &self.waiting, None).await;
        PoolPermit { _of_pool: of_pool, _of_share: of_share }
    }

    /// The places of an instance of this share. `None` if they are not free.
    pub(super) fn try_room(&self, share: &ModuleShare) -> Option<PoolPermit> {
        let free = |free: &Arc<Semaphore>| Arc::clone(free).try_acquire_many_owned(share.places);
        let of_share = free(&share.free).ok()?;
        let of_pool = free(&self.free).ok()?;
        Some(PoolPermit { _of_pool: of_pool, _of_share: of_share })
    }

    async fn take(
        &self,
        free: &Arc<Semaphore>,
        places: u32,
        waiting: &AtomicUsize,
        module: Option<Digest>,
    ) -> OwnedSemaphorePermit {
        loop {
            if let Ok(permit) = Arc::clone(free).try_acquire_many_owned(places) {
                return permit;
            }
            let give_up = self.give_up.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if !give_up.is_some_and(|give_up| give_up(module)) {
                break;
            }
        }
        let _waiting = WaitingCounter::new(waiting);
        let permit = Arc::clone(free).acquire_many_owned(places).await;
        permit.expect("the semaphore is never closed")
    }

    /// Returns true if another instance waits for places that this share holds.
    pub(super) fn is_awaited(&self, share: &ModuleShare) -> bool {
        let waits = |waiting: &AtomicUsize| waiting.load(Ordering::Relaxed) > 0;
        waits(&self.waiting) || waits(&share.waiting)
    }

    pub(super) fn free(&self) -> usize {
        self.free.available_permits()
    }
}

/// Counts one waiting instance, until dropped.
struct WaitingCounter<'a>(&'a AtomicUsize);

impl<'a> WaitingCounter<'a> {
    fn new(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for WaitingCounter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The resources that one instance of a component takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InstanceNeeds {
    core_instances: u32,
    memories: u32,
    tables: u32,
}

impl InstanceNeeds {
    /// The needs of `component`. `None` if they are not known before instantiation.
    pub(super) fn of(component: &Component, probe: &InstanceProbe) -> Option<Self> {
        let required = component.resources_required()?;
        let core_instances = probe.core_instances(component);
        Some(Self { core_instances, memories: required.num_memories, tables: required.num_tables })
    }

    fn places(&self) -> u32 {
        self.memories
            .max(self.tables.div_ceil(TABLES_PER_PLACE))
            .max(self.core_instances.div_ceil(CORE_INSTANCES_PER_PLACE))
            .max(1)
    }
}

/// Counts the core instances of components. wasmtime does not report the count, but rejects
/// components with too many and names the count: the probe is an engine with a limit that every
/// component exceeds.
pub(super) struct InstanceProbe(Option<Engine>);

impl InstanceProbe {
    /// Creates an engine with this configuration, which compiles the same code, and a pool for the
    /// probe only.
    pub(super) fn new(mut config: Config, mut pool: PoolingAllocationConfig) -> Self {
        pool.total_component_instances(1)
            .total_core_instances(1)
            .total_memories(1)
            .total_tables(1)
            .total_stacks(1)
            .max_core_instances_per_component(0);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        Self(Engine::new(&config).ok())
    }

    /// The number of core instances, or the maximum if it is unknown.
    fn core_instances(&self, component: &Component) -> u32 {
        self.counted(component).unwrap_or(CORE_INSTANCES)
    }

    fn counted(&self, component: &Component) -> Option<u32> {
        let code = component.serialize().ok()?;
        // SAFETY: these are the bytes that the engine has just compiled from one of its components.
        match unsafe { Component::deserialize(self.0.as_ref()?, code) } {
            Ok(_) => Some(0),
            Err(error) => number_after(&format!("{error:#}"), "transitively contains "),
        }
    }
}

fn number_after(text: &str, words: &str) -> Option<u32> {
    let (_, rest) = text.split_once(words)?;
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
