//! One instance of a workflow: `start`, then `resume` until it finishes or traps.

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::Store;

use super::{
    Context, Cost, Event, Failure, FunctionKind, GuestError, Memory, MemoryChange, Outcome,
    Payload, SharedJournal, Workflow,
    budget::ComputeBudget,
    cost,
    described::{CalledFunction, ComponentDescription},
    engine::{GuestEngine, RunningCall},
    exports::GuestExports,
    loaded::LoadedModule,
    pool::PoolPermit,
    state::OwnObject,
    trap::explain,
    turns::InstanceTurn,
    workflow::WorkflowState,
};

/// Size of an instance beside its memories, in bytes.
const OVERHEAD_BYTES: usize = 16 << 10;

/// An instance, with the state of the current call.
pub(super) struct Instance {
    /// `None` while the guest is asked for its description.
    described: Option<Arc<ComponentDescription>>,
    engine: Arc<GuestEngine>,
    /// `None` after a call failed or was dropped midway: the memory cannot be trusted any more.
    live: Option<LiveInstance>,
}

/// The parts that move along with a call. The store is dropped before its places, so that the next
/// instance finds them free.
struct LiveInstance {
    store: Store<WorkflowState>,
    exports: GuestExports,
    loaded: Arc<LoadedModule>,
    _places: PoolPermit,
}

impl Instance {
    /// Waits for places in the pool, then instantiates `loaded` without I/O.
    pub(super) async fn new(
        engine: &Arc<GuestEngine>,
        budget: ComputeBudget,
        loaded: Arc<LoadedModule>,
    ) -> Result<Self, GuestError> {
        let is_initialized = loaded.image.is_some() || !loaded.workflow.is_runtime();
        let mut instance = Self::uninitialized(engine, budget, loaded).await?;
        if !is_initialized {
            instance.initialize().await?;
        }
        Ok(instance)
    }

    /// Like [`Instance::new`], but leaves an instance of a runtime without an image uninitialized.
    pub(super) async fn uninitialized(
        engine: &Arc<GuestEngine>,
        budget: ComputeBudget,
        loaded: Arc<LoadedModule>,
    ) -> Result<Self, GuestError> {
        let places = engine.pool().room(&loaded.share).await;
        Self::with_places(engine, budget, loaded, places).await
    }

    /// Like [`Instance::uninitialized`], for an instance that has its places in the pool.
    pub(super) async fn with_places(
        engine: &Arc<GuestEngine>,
        budget: ComputeBudget,
        loaded: Arc<LoadedModule>,
        places: PoolPermit,
    ) -> Result<Self, GuestError> {
        let turn = budget.turn();
        let mut store = WorkflowState::store(budget, engine.counts(), &loaded);
        let described = loaded.described.get().cloned();
        let running = engine.running();
        // A component's start functions may take long as well.
        let instantiating = async move {
            let _running = running;
            let exports = begin(&loaded, &mut store).await;
            let state = store.data_mut();
            state.budget.end_call();
            let last_words = state.last_words();
            match exports {
                Ok(exports) => Ok(LiveInstance { store, exports, loaded, _places: places }),
                Err(error) => {
                    Err(explain(&error, &state.budget, FunctionKind::Workflow, last_words))
                }
            }
        };
        let live = turn.taking(instantiating).await?;
        Ok(Self { described, engine: Arc::clone(engine), live: Some(live) })
    }

    /// Calls the description functions of the guest.
    pub(super) async fn describe(&mut self) -> Result<ComponentDescription, GuestError> {
        let mut call = self.call(None)?;
        let turn = call.turn();
        let describing = async move {
            let answer = ComponentDescription::of(&call.live.exports, &mut call.live.store).await;
            call.end(answer)
        };
        let described = self.ended(turn.taking(describing).await)?;
        let limit =
            self.live.as_ref().map_or(0, |live| live.store.data().budget.limits().output_bytes);
        described.check_size(limit)?;
        Ok(described)
    }

    /// Initializes an instance of a runtime.
    pub(super) async fn initialize(&mut self) -> Result<(), GuestError> {
        let mut call = self.call(None)?;
        let turn = call.turn();
        let initializing = async move {
            let access = call.live.exports.access();
            let answer = access.initialize(&mut call.live.store).await;
            call.end(answer)
        };
        self.ended(turn.taking(initializing).await)
    }

    /// Loads the sources of a module into an instance of its runtime. The inner error is for the
    /// author of the sources.
    pub(super) async fn load(
        &mut self,
        sources: Vec<(String, Vec<u8>)>,
    ) -> Result<Result<(), String>, GuestError> {
        let mut call = self.call(None)?;
        let turn = call.turn();
        let loading = async move {
            let LiveInstance { store, exports, .. } = &mut call.live;
            let answer = exports.load(store, sources).await;
            call.end(answer)
        };
        self.ended(turn.taking(loading).await)
    }

    /// Begins a call. The instance counts as broken until the call succeeds, even if the call is
    /// dropped before.
    fn call(&mut self, journal: Option<SharedJournal>) -> Result<InstanceCall, GuestError> {
        let mut live = self
            .live
            .take()
            .ok_or_else(|| GuestError::Host("an instance is not used again after a trap".into()))?;
        let running = self.engine.running();
        live.store.set_epoch_deadline(1);
        let state = live.store.data_mut();
        state.budget.begin_call();
        if let Some(wasi) = &mut state.wasi {
            wasi.begin_call(journal.clone());
        }
        state.journal = journal;
        Ok(InstanceCall { live, _running: running })
    }

    fn ended<T>(&mut self, ended: Result<(LiveInstance, T), GuestError>) -> Result<T, GuestError> {
        let (live, answer) = ended?;
        self.live = Some(live);
        Ok(answer)
    }
}

#[async_trait]
impl Workflow for Instance {
    async fn start(
        &mut self,
        journal: SharedJournal,
        function: &str,
        input: Payload,
        context: Context,
    ) -> Result<(), GuestError> {
        let mut called = match &self.described {
            Some(described) => described.called(function)?,
            None => CalledFunction { name: function.to_owned(), object: None },
        };
        let mut call = self.call(Some(journal))?;
        call.live.store.data_mut().object = called.object.take().map(OwnObject::from);
        if let Some(wasi) = &mut call.live.store.data_mut().wasi {
            wasi.seed(&context.seed);
        }
        let turn = call.turn();
        let starting = async move {
            let LiveInstance { store, exports, .. } = &mut call.live;
            let answer = exports.start(store, called.name, input, context).await;
            call.end(answer)
        };
        self.ended(turn.taking(starting).await)
    }

    async fn resume(&mut self, journal: SharedJournal, event: Event) -> Result<(), GuestError> {
        let mut call = self.call(Some(journal))?;
        let turn = call.turn();
        let resuming = async move {
            let LiveInstance { store, exports, .. } = &mut call.live;
            let answer = exports.resume(store, event).await;
            call.end(answer)
        };
        self.ended(turn.taking(resuming).await)
    }

    async fn query(
        &mut self,
        journal: SharedJournal,
        name: &str,
        input: Payload,
    ) -> Result<Option<Outcome>, GuestError> {
        let mut call = self.call(Some(journal))?;
        let (turn, name) = (call.turn(), name.to_owned());
        let asking = async move {
            let LiveInstance { store, exports, .. } = &mut call.live;
            let answer = exports.query(store, name, input).await;
            call.end(answer)
        };
        self.ended(turn.taking(asking).await)
    }

    async fn validate(
        &mut self,
        journal: SharedJournal,
        name: &str,
        input: Payload,
    ) -> Result<Option<Option<Failure>>, GuestError> {
        let mut call = self.call(Some(journal))?;
        let (turn, name) = (call.turn(), name.to_owned());
        let asking = async move {
            let LiveInstance { store, exports, .. } = &mut call.live;
            let answer = exports.validate(store, name, input).await;
            call.end(answer)
        };
        self.ended(turn.taking(asking).await)
    }

    async fn save(&mut self) -> Result<Memory, GuestError> {
        let mut call = self.call(None)?;
        let turn = call.turn();
        let saving = async move {
            let access = call.live.exports.access();
            let store = &mut call.live.store;
            let drawn = store.data().wasi.as_ref().map(|wasi| wasi.drawn());
            let saved = unbounded(store, async |store| access.read(store).await).await;
            let saved = match drawn.transpose() {
                Ok(drawn) => saved.map(|memory| memory.having_drawn(drawn.unwrap_or_default())),
                Err(open) => Err(open),
            };
            call.end(saved)
        };
        self.ended(turn.taking(saving).await)
    }

    async fn restore(
        &mut self,
        function: &str,
        seed: &[u8],
        change: &MemoryChange,
    ) -> Result<(), GuestError> {
        let object = match &self.described {
            Some(described) => described.called(function)?.object,
            None => None,
        };
        let mut call = self.call(None)?;
        let store = &mut call.live.store;
        store.data_mut().object = object.map(OwnObject::from);
        if let Some(wasi) = &mut store.data_mut().wasi {
            wasi.seed(seed);
            wasi.go_on_drawing(&change.drawn);
        }
        let (turn, change) = (call.turn(), change.clone());
        let restoring = async move {
            let access = call.live.exports.access();
            let store = &mut call.live.store;
            let written = unbounded(store, async |store| access.write(store, &change).await).await;
            call.end(written)
        };
        self.ended(turn.taking(restoring).await)
    }

    fn cost(&self) -> Option<Cost> {
        let live = self.live.as_ref()?;
        let instructions = cost::instructions(&live.store)?;
        let memory_bytes = live.store.data().budget.footprint() as u64;
        Some(Cost { instructions, memory_bytes })
    }

    fn footprint(&self) -> usize {
        let memories = self.live.as_ref().map_or(0, |live| live.store.data().budget.footprint());
        OVERHEAD_BYTES + memories
    }

    fn is_in_the_way(&self) -> bool {
        self.live.as_ref().is_some_and(|live| self.engine.pool().is_awaited(&live.loaded.share))
    }
}

/// A new instance, with the memory with which instances of its module begin.
async fn begin(
    loaded: &LoadedModule,
    store: &mut Store<WorkflowState>,
) -> wasmtime::Result<GuestExports> {
    let exports = loaded.workflow.instantiate(store, loaded.image.as_ref()).await?;
    if let Some(image) = &loaded.image {
        let interpreter = exports.interpreter(loaded.lines.as_ref());
        store.data_mut().budget.begin_with(image.memory_bytes(), interpreter)?;
    }
    Ok(exports)
}

/// Runs a call without the limit on values that cross the border: the host hands them over, not the
/// guest.
pub(super) async fn unbounded<S: Send, T>(
    store: &mut Store<S>,
    crossing: impl AsyncFnOnce(&mut Store<S>) -> T,
) -> T {
    let fuel = store.hostcall_fuel();
    store.set_hostcall_fuel(usize::MAX);
    let answer = crossing(store).await;
    store.set_hostcall_fuel(fuel);
    answer
}

/// One call into the guest with everything that it needs, so that it can move between threads.
struct InstanceCall {
    live: LiveInstance,
    _running: RunningCall,
}

impl InstanceCall {
    fn turn(&self) -> InstanceTurn {
        self.live.store.data().budget.turn()
    }

    /// Returns the instance if it can be used again.
    fn end<T>(mut self, answer: wasmtime::Result<T>) -> Result<(LiveInstance, T), GuestError> {
        let state = self.live.store.data_mut();
        state.journal = None;
        state.budget.end_call();
        let stop = state.wasi.as_mut().and_then(|wasi| wasi.end_call());
        let last_words = state.last_words();
        let in_time = state.budget.check_time().map_err(wasmtime::Error::from);
        let value = answer
            .and_then(|value| in_time.map(|()| value))
            .map_err(|error| explain(&error, &state.budget, FunctionKind::Workflow, last_words));
        let backtrace = value.as_ref().err().and_then(GuestError::backtrace).cloned();
        if let Some(stopped) = state.command_place.end(backtrace) {
            return Err(stopped);
        }
        let value = value?;
        if let Some(stop) = stop {
            return Err(GuestError::Stopped { stop, backtrace: None });
        }
        Ok((self.live, value))
    }
}
