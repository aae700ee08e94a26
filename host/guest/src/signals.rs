//! The imports for signals and for generations of a workflow. Activities are refused.

use super::{
    Payload,
    activity::{ActivityState, for_workflows},
    bindings::segno::workflow::{generations, signals},
    commands::{ContinueAsNewCommand, SendSignalCommand, UnreadCommand},
    contract::size,
    trap::TrapCause,
    workflow::WorkflowState,
};

impl signals::Host for WorkflowState {
    fn send(
        &mut self,
        invocation: String,
        name: String,
        payload: Payload,
    ) -> wasmtime::Result<u32> {
        self.check(size(&payload), || format!("signal `{name}` to `{invocation}`"))?;
        self.command(SendSignalCommand { invocation, name, payload })
    }

    fn unread(&mut self, signals: Vec<u32>) -> wasmtime::Result<()> {
        if !signals.is_sorted_by(|one, next| one < next) {
            let message = "the numbers of unread signals ascend, and none comes twice";
            return Err(TrapCause::Refused(message.to_owned()).into());
        }
        match signals.is_empty() {
            true => Ok(()),
            false => self.command(UnreadCommand { signals }).map(drop),
        }
    }
}

impl generations::Host for WorkflowState {
    fn continue_as_new(&mut self, input: Payload, same_code: bool) -> wasmtime::Result<()> {
        if self.object.is_some() {
            let message = "a function of an object does not continue as new: what lasts is the object's state, so end it, and \
                           call it again";
            return Err(TrapCause::Refused(message.to_owned()).into());
        }
        self.check(size(&input), || "input of the next generation".to_owned())?;
        self.command(ContinueAsNewCommand { input, same_code }).map(drop)
    }
}

impl signals::Host for ActivityState {
    fn send(&mut self, _: String, _: String, _: Payload) -> wasmtime::Result<u32> {
        Err(for_workflows("signals.send"))
    }

    fn unread(&mut self, _: Vec<u32>) -> wasmtime::Result<()> {
        Err(for_workflows("signals.unread"))
    }
}

impl generations::Host for ActivityState {
    fn continue_as_new(&mut self, _: Payload, _: bool) -> wasmtime::Result<()> {
        Err(for_workflows("generations.continue-as-new"))
    }
}
