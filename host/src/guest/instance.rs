//! One instance of a workflow: `start`, then `resume`, until it finishes or traps.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::Store;

use super::{
    Context, Event, FunctionDescription, FunctionKind, GuestError, Payload, SharedJournal,
    Workflow, bindings::Module, budget::Budget, engine::GuestEngine, modules::LoadedModule,
    trap::explain, turns::Turn, wasi::DeterministicWasi, workflow::WorkflowState,
};

/// Bytes an instance takes beside its memories and tables.
const OVERHEAD_BYTES: usize = 16 << 10;

/// A live instance. Its store is dropped before its permit: whoever gets the permit finds the slot free.
pub(super) struct Instance {
    store: Store<WorkflowState>,
    module: Module,
    functions: Option<Arc<Vec<FunctionDescription>>>,
    /// A call failed or was dropped in the middle: nothing in the memory can be trusted.
    broken: bool,
    engine: Arc<GuestEngine>,
    _loaded: Arc<LoadedModule>,
    _permit: OwnedSemaphorePermit,
}

impl Instance {
    /// Waits for room, then instantiates `loaded` without I/O.
    pub(super) async fn new(
        engine: &Arc<GuestEngine>,
        budget: Budget,
        loaded: Arc<LoadedModule>,
    ) -> Result<Self, GuestError> {
        let permit = engine.room(loaded.slots).await;
        let wasi = loaded.wasi.then(|| Box::new(DeterministicWasi::new(budget.limits())));
        let fuel = budget.crossing_fuel();
        let mut store =
            Store::new(engine.wasmtime(), WorkflowState { journal: None, budget, wasi });
        store.set_hostcall_fuel(fuel);
        store.limiter(|state| &mut state.budget);
        store.epoch_deadline_callback(|mut context| context.data_mut().budget.tick());
        store.set_epoch_deadline(1);
        let running = engine.running();
        let module = loaded.workflow.instantiate_async(&mut store).await;
        drop(running);
        let module = module.map_err(|error| {
            let state = store.data_mut();
            let last_words = state.last_words();
            explain(&error, &state.budget).after(&last_words)
        })?;
        let functions = loaded.functions.get().cloned();
        Ok(Self {
            store,
            module,
            functions,
            broken: false,
            engine: Arc::clone(engine),
            _loaded: loaded,
            _permit: permit,
        })
    }

    /// Asks the guest what it offers.
    pub(super) async fn describe(&mut self) -> Result<Vec<FunctionDescription>, GuestError> {
        let call = Call::begin(&mut self.store, &mut self.broken, &self.engine, None)?;
        let answer = self.module.segno_workflow_functions().call_describe(&mut *call.store);
        let answer = call.turn.clone().taking(answer).await;
        let functions = call.end(answer)?;
        let limit = self.store.data().budget.limits().output_bytes;
        let size = functions.iter().map(description_size).sum();
        if size > limit {
            return Err(GuestError::OutputTooLarge { what: "description".into(), size, limit });
        }
        Ok(functions)
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
        if let Some(wasi) = &mut self.store.data_mut().wasi {
            wasi.seed(&context.seed);
        }
        let call = Call::begin(&mut self.store, &mut self.broken, &self.engine, Some(journal))?;
        let answer = self.module.segno_workflow_functions().call_start(
            &mut *call.store,
            function,
            &input,
            &context,
        );
        let answer = call.turn.clone().taking(answer).await;
        call.end(answer)
    }

    async fn resume(&mut self, journal: SharedJournal, event: Event) -> Result<(), GuestError> {
        let call = Call::begin(&mut self.store, &mut self.broken, &self.engine, Some(journal))?;
        let answer = self.module.segno_workflow_functions().call_resume(&mut *call.store, &event);
        let answer = call.turn.clone().taking(answer).await;
        call.end(answer)
    }

    fn footprint(&self) -> usize {
        OVERHEAD_BYTES + self.store.data().budget.footprint()
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

/// One call into the guest. The instance counts as broken until the call has ended well, also if it is dropped before.
struct Call<'a> {
    store: &'a mut Store<WorkflowState>,
    broken: &'a mut bool,
    turn: Turn,
    _running: super::engine::Running,
}

impl<'a> Call<'a> {
    fn begin(
        store: &'a mut Store<WorkflowState>,
        broken: &'a mut bool,
        engine: &GuestEngine,
        journal: Option<SharedJournal>,
    ) -> Result<Self, GuestError> {
        if std::mem::replace(broken, true) {
            return Err(GuestError::Host("an instance is not used again after a trap".into()));
        }
        let running = engine.running();
        store.set_epoch_deadline(1);
        let state = store.data_mut();
        state.budget.begin_call();
        if let Some(wasi) = &mut state.wasi {
            wasi.begin_call(journal.clone());
        }
        state.journal = journal;
        let turn = store.data().budget.turn();
        Ok(Self { store, broken, turn, _running: running })
    }

    fn end<T>(self, answer: wasmtime::Result<T>) -> Result<T, GuestError> {
        let state = self.store.data_mut();
        state.journal = None;
        state.budget.end_call();
        let stop = state.wasi.as_mut().and_then(|wasi| wasi.end_call());
        let last_words = state.last_words();
        let value = answer.map_err(|error| explain(&error, &state.budget).after(&last_words))?;
        if let Some(stop) = stop {
            return Err(GuestError::Stopped { stop, backtrace: None });
        }
        *self.broken = false;
        Ok(value)
    }
}
