//! One instance of a workflow: `start`, then `resume`, until it finishes or traps.

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::Store;

use super::{
    Context, Event, FunctionDescription, FunctionKind, GuestError, Payload, SharedJournal,
    Workflow,
    bindings::Module,
    budget::Budget,
    engine::{GuestEngine, Running},
    modules::LoadedModule,
    pool::Places,
    trap::explain,
    turns::Turn,
    workflow::WorkflowState,
};

/// Number of bytes of an instance beside its memories and tables.
const OVERHEAD_BYTES: usize = 16 << 10;

/// An instance, and the state of its present call.
pub(super) struct Instance {
    functions: Option<Arc<Vec<FunctionDescription>>>,
    engine: Arc<GuestEngine>,
    /// None: a call failed or was dropped in the middle, and its memory cannot be trusted.
    live: Option<Live>,
}

/// The parts that move along with a call. The store is dropped before its places: the next instance
/// finds them free.
struct Live {
    store: Store<WorkflowState>,
    module: Module,
    loaded: Arc<LoadedModule>,
    _places: Places,
}

impl Instance {
    /// Waits for places in the pool, then instantiates `loaded` without I/O.
    pub(super) async fn new(
        engine: &Arc<GuestEngine>,
        budget: Budget,
        loaded: Arc<LoadedModule>,
    ) -> Result<Self, GuestError> {
        let places = engine.pool().room(&loaded.share).await;
        let turn = budget.turn();
        let mut store = WorkflowState::store(engine, budget, &loaded);
        let functions = loaded.functions.get().cloned();
        let running = engine.running();
        // A component's start functions may take long as well.
        let instantiating = async move {
            let _running = running;
            let module = loaded.workflow.instantiate_async(&mut store).await;
            let state = store.data_mut();
            state.budget.end_call();
            let last_words = state.last_words();
            match module {
                Ok(module) => Ok(Live { store, module, loaded, _places: places }),
                Err(error) => {
                    Err(explain(&error, &state.budget, FunctionKind::Workflow, last_words))
                }
            }
        };
        let live = turn.taking(instantiating).await?;
        Ok(Self { functions, engine: Arc::clone(engine), live: Some(live) })
    }

    /// Calls the guest's `describe`.
    pub(super) async fn describe(&mut self) -> Result<Vec<FunctionDescription>, GuestError> {
        let mut call = self.call(None)?;
        let turn = call.turn();
        let describing = async move {
            let functions = call.live.module.segno_workflow_functions();
            let answer = functions.call_describe(&mut call.live.store).await;
            call.end(answer)
        };
        let functions = self.ended(turn.taking(describing).await)?;
        let limit =
            self.live.as_ref().map_or(0, |live| live.store.data().budget.limits().output_bytes);
        let size = functions.iter().map(description_size).sum();
        if size > limit {
            return Err(GuestError::OutputTooLarge { what: "description".into(), size, limit });
        }
        Ok(functions)
    }

    /// Begins a call. The instance counts as broken until the call has succeeded, also if the call
    /// is dropped before.
    fn call(&mut self, journal: Option<SharedJournal>) -> Result<Call, GuestError> {
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
        Ok(Call { live, _running: running })
    }

    fn ended<T>(&mut self, ended: Result<(Live, T), GuestError>) -> Result<T, GuestError> {
        let (live, answer) = ended?;
        self.live = Some(live);
        Ok(answer)
    }
}

fn description_size(function: &FunctionDescription) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    function.name.len()
        + text(&function.summary)
        + text(&function.input_schema)
        + text(&function.output_schema)
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
        if let Some(functions) = &self.functions {
            known(functions, FunctionKind::Workflow, function)?;
        }
        let mut call = self.call(Some(journal))?;
        if let Some(wasi) = &mut call.live.store.data_mut().wasi {
            wasi.seed(&context.seed);
        }
        let (turn, function) = (call.turn(), function.to_owned());
        let starting = async move {
            let Live { store, module, .. } = &mut call.live;
            let functions = module.segno_workflow_functions();
            let answer = functions.call_start(store, &function, &input, &context).await;
            call.end(answer)
        };
        self.ended(turn.taking(starting).await)
    }

    async fn resume(&mut self, journal: SharedJournal, event: Event) -> Result<(), GuestError> {
        let mut call = self.call(Some(journal))?;
        let turn = call.turn();
        let resuming = async move {
            let Live { store, module, .. } = &mut call.live;
            let answer = module.segno_workflow_functions().call_resume(store, &event).await;
            call.end(answer)
        };
        self.ended(turn.taking(resuming).await)
    }

    fn footprint(&self) -> usize {
        let memories = self.live.as_ref().map_or(0, |live| live.store.data().budget.footprint());
        OVERHEAD_BYTES + memories
    }

    fn is_in_the_way(&self) -> bool {
        self.live.as_ref().is_some_and(|live| self.engine.pool().is_awaited(&live.loaded.share))
    }
}

/// Refuses a function that the module does not describe.
pub(super) fn known(
    functions: &[FunctionDescription],
    kind: FunctionKind,
    name: &str,
) -> Result<(), GuestError> {
    let of_kind = || functions.iter().filter(|function| function.kind == kind);
    if of_kind().any(|function| function.name == name) {
        return Ok(());
    }
    let names: Vec<String> = of_kind().map(|function| format!("`{}`", function.name)).collect();
    let known = if names.is_empty() { "none".into() } else { names.join(", ") };
    let kind = match kind {
        FunctionKind::Workflow => "workflow",
        FunctionKind::Activity => "activity",
    };
    Err(GuestError::NoSuchFunction { kind, function: name.into(), known })
}

/// One call into the guest with everything that it needs, so that any thread may continue it.
struct Call {
    live: Live,
    _running: Running,
}

impl Call {
    fn turn(&self) -> Turn {
        self.live.store.data().budget.turn()
    }

    /// Returns the instance, if it may be used again.
    fn end<T>(mut self, answer: wasmtime::Result<T>) -> Result<(Live, T), GuestError> {
        let state = self.live.store.data_mut();
        state.journal = None;
        state.budget.end_call();
        let stop = state.wasi.as_mut().and_then(|wasi| wasi.end_call());
        let last_words = state.last_words();
        let value = answer
            .map_err(|error| explain(&error, &state.budget, FunctionKind::Workflow, last_words))?;
        if let Some(stop) = stop {
            return Err(GuestError::Stopped { stop, backtrace: None });
        }
        Ok((self.live, value))
    }
}
