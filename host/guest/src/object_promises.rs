//! The imports for the named promises of an object. Activities and functions outside an object are
//! refused.

use super::{
    Outcome,
    activity::{ActivityState, for_workflows},
    bindings::segno::workflow::object_promises,
    commands::{PeekObjectPromiseCommand, SettleObjectPromiseCommand, WaitObjectPromiseCommand},
    contract::outcome_size,
    state::check_name,
    workflow::WorkflowState,
};

/// The subject in error messages about names.
const WHAT: &str = "of a promise of an object";

impl object_promises::Host for WorkflowState {
    fn wait(&mut self, name: String) -> wasmtime::Result<u32> {
        self.object("object-promises.wait")?;
        check_name(WHAT, &name)?;
        self.command(WaitObjectPromiseCommand { name })
    }

    fn peek(&mut self, name: String) -> wasmtime::Result<u32> {
        self.object("object-promises.peek")?;
        check_name(WHAT, &name)?;
        self.command(PeekObjectPromiseCommand { name })
    }

    fn settle(&mut self, name: String, outcome: Outcome) -> wasmtime::Result<u32> {
        self.object("object-promises.settle")?;
        check_name(WHAT, &name)?;
        self.check(outcome_size(&outcome), || format!("outcome of the promise `{name}`"))?;
        self.command(SettleObjectPromiseCommand { name, outcome })
    }
}

impl object_promises::Host for ActivityState {
    fn wait(&mut self, _: String) -> wasmtime::Result<u32> {
        Err(for_workflows("object-promises.wait"))
    }

    fn peek(&mut self, _: String) -> wasmtime::Result<u32> {
        Err(for_workflows("object-promises.peek"))
    }

    fn settle(&mut self, _: String, _: Outcome) -> wasmtime::Result<u32> {
        Err(for_workflows("object-promises.settle"))
    }
}
