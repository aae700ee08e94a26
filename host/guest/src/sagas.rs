//! The imports of sagas: each is a command of the workflow. Activities are refused.

use super::{
    CallOptions, HttpRequest, Payload, SagaStep,
    activity::{ActivityState, for_workflows},
    bindings::segno::workflow::sagas,
    commands::{AskAboutStepCommand, CallCommand, HttpCommand, StepCommand, UndoCommand},
    contract::size,
    text::cut,
    trap::TrapCause,
    workflow::WorkflowState,
};

/// Maximum length of a saga's name, in characters.
const LONGEST_NAME: usize = 64;

impl sagas::Host for WorkflowState {
    fn call(
        &mut self,
        function: String,
        input: Payload,
        options: CallOptions,
        step: SagaStep,
    ) -> wasmtime::Result<u32> {
        check_step(&step)?;
        self.check(size(&input), || format!("input of `{function}`"))?;
        self.command(Box::new(StepCommand {
            command: CallCommand { function, input, options },
            step,
        }))
    }

    fn http(
        &mut self,
        request: HttpRequest,
        options: CallOptions,
        step: SagaStep,
    ) -> wasmtime::Result<u32> {
        check_step(&step)?;
        let size = request.body.as_ref().map_or(0, size);
        self.check(size, || format!("HTTP request to `{}`", request.url))?;
        self.command(Box::new(StepCommand { command: HttpCommand { request, options }, step }))
    }

    fn undo(
        &mut self,
        step: SagaStep,
        input: Payload,
        options: CallOptions,
    ) -> wasmtime::Result<u32> {
        check_step(&step)?;
        let function = step.compensate.clone();
        self.check(size(&input), || format!("input of `{function}`"))?;
        self.command(Box::new(UndoCommand { call: CallCommand { function, input, options }, step }))
    }

    fn ask(&mut self, step: SagaStep) -> wasmtime::Result<u32> {
        check_step(&step)?;
        self.command(AskAboutStepCommand(step))
    }
}

impl sagas::Host for ActivityState {
    fn call(
        &mut self,
        _: String,
        _: Payload,
        _: CallOptions,
        _: SagaStep,
    ) -> wasmtime::Result<u32> {
        Err(for_workflows("sagas.call"))
    }

    fn http(&mut self, _: HttpRequest, _: CallOptions, _: SagaStep) -> wasmtime::Result<u32> {
        Err(for_workflows("sagas.http"))
    }

    fn undo(&mut self, _: SagaStep, _: Payload, _: CallOptions) -> wasmtime::Result<u32> {
        Err(for_workflows("sagas.undo"))
    }

    fn ask(&mut self, _: SagaStep) -> wasmtime::Result<u32> {
        Err(for_workflows("sagas.ask"))
    }
}

fn check_step(step: &SagaStep) -> wasmtime::Result<()> {
    let SagaStep { saga, seq, compensate, .. } = step;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if saga.is_empty() || saga.len() > LONGEST_NAME || !saga.bytes().all(is_plain) {
        let begin = cut(saga.clone(), LONGEST_NAME);
        let message = format!(
            "`{begin}` cannot be the name of a saga: it takes 1 to {LONGEST_NAME} letters, digits, `-`, `_`, `.`"
        );
        return Err(TrapCause::Refused(message).into());
    }
    if compensate.is_empty() {
        let message = format!("step {seq} of the saga `{saga}` names no function that undoes it");
        return Err(TrapCause::Refused(message).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_a_plain_name_or_an_undoing_function_is_refused() {
        let step = |saga: &str, compensate: &str| SagaStep {
            saga: saga.to_owned(),
            seq: 2,
            compensate: compensate.to_owned(),
            compensate_unknown: false,
        };
        assert!(check_step(&step("booking-7.a_b", "undo")).is_ok());
        for (saga, compensate, said) in [
            ("", "undo", "`` cannot be the name"),
            ("a/b", "undo", "`a/b` cannot be the name"),
            (&*"x".repeat(65), "undo", "64 letters"),
            ("booking", "", "step 2 of the saga `booking` names no function"),
        ] {
            let error = check_step(&step(saga, compensate)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
