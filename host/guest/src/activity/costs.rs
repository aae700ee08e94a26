//! The import by which an activity reports what it costs.

use super::ActivityState;
use crate::{
    Failure,
    bindings::segno::workflow::costs,
    workflow::{WorkflowState, for_activities},
};

impl costs::Host for ActivityState {
    fn report(&mut self, unit: String, millionths: u64) -> wasmtime::Result<Result<(), Failure>> {
        Ok(self.host.report_cost(&unit, millionths))
    }
}

impl costs::Host for WorkflowState {
    fn report(&mut self, _: String, _: u64) -> wasmtime::Result<Result<(), Failure>> {
        Err(for_activities("costs.report", "report the cost where it arises, in an activity"))
    }
}
