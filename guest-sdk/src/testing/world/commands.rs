//! The commands of invocations.

use super::{TestAction, TestWorld, failure, null};
use crate::{
    bindings::segno::workflow::types as wit,
    budget::BUDGET,
    journal::WorkflowCommand,
    payload::Payload,
    stream::OF_OBJECT,
    stream_reader::READ_STREAM,
    testing::{
        attempt::{AttemptSubject, PlannedAttempt},
        recorder::lock,
        streams::first_generation,
    },
};

impl TestWorld<'_> {
    pub(super) fn perform(&mut self, id: &str, command: u32, request: WorkflowCommand) {
        let now_ms = self.now_ms;
        match request {
            WorkflowCommand::Call { function, input, options, .. } => {
                let child = format!("{id}/{command}");
                if function == BUDGET {
                    let left = lock(&self.common).budgets.remaining(id);
                    return self.answer(now_ms, id, command, wit::Outcome::Success(left));
                }
                if function == READ_STREAM {
                    return self.read_stream(id, command, &input);
                }
                lock(&self.common).budgets.grant_by(&child, &options.labels);
                self.call(id, command, child, &function, input, options)
            }
            WorkflowCommand::Undo { step, input, options } => {
                let child = format!("{id}/c/{}/{}", step.saga, step.seq);
                self.call(id, command, child, &step.compensate, input, options)
            }
            WorkflowCommand::Ask { step } => {
                let name = format!("u/{}/{}", step.saga, step.seq);
                let promise = format!("{id}/{name}");
                self.promise(id, command, promise, Some(name), None);
            }
            WorkflowCommand::Send { function, input, when, options } => {
                self.check_list("sends", id, &function);
                let sent = format!("{id}/{command}");
                lock(&self.common).budgets.grant_by(&sent, &options.labels);
                if let Err(refused) = self.accept(&sent, &function) {
                    return self.answer(now_ms, id, command, failure(refused));
                }
                let value = Payload::Json(serde_json::Value::from(sent.clone()).to_string());
                self.answer(now_ms, id, command, wit::Outcome::Success(value));
                let at_ms = when.map_or(now_ms, |when| when.resolve(now_ms));
                self.decide(at_ms, TestAction::Begin { id: sent, function, input });
            }
            WorkflowCommand::Sleep { when } => {
                self.answer(when.resolve(now_ms), id, command, null())
            }
            WorkflowCommand::Promise { name, options } => {
                let promise = match &name {
                    Some(name) => format!("{id}/p/{name}"),
                    None => format!("{id}/{command}"),
                };
                self.promise(id, command, promise, name, options.timeout_ms);
            }
            WorkflowCommand::Settle { promise, outcome } => {
                let answer = self.settle(&promise, outcome);
                self.answer(now_ms, id, command, answer);
            }
            WorkflowCommand::Http { request, options, .. } => {
                let key = format!("{id}/{command}");
                let attempting = PlannedAttempt::new(
                    AttemptSubject::Http(request),
                    Payload::Json("null".into()),
                    key,
                    &options,
                    None,
                );
                self.attempt_until(id, command, attempting, options.timeout_ms);
            }
            WorkflowCommand::Cancel { command: cancelled } => {
                let refused = self.refuse_cancel(id, cancelled);
                if refused.is_none() {
                    self.cancel(id, cancelled);
                }
                self.answer(now_ms, id, command, refused.map_or_else(null, failure));
            }
            WorkflowCommand::Publish { .. } => self.answer(now_ms, id, command, null()),
            WorkflowCommand::SendSignal { invocation, name, payload } => {
                let answer = self.send_signal(invocation, wit::Signal { name, payload });
                self.answer(now_ms, id, command, answer);
            }
            request @ (WorkflowCommand::GetState { .. }
            | WorkflowCommand::StateNames
            | WorkflowCommand::SetState { .. }
            | WorkflowCommand::ClearState { .. }
            | WorkflowCommand::ClearAllState) => self.perform_on_state(id, command, request),
            WorkflowCommand::AppendStream { name, content_type, item } => {
                let of = (name.strip_prefix(OF_OBJECT).unwrap_or(&name), &*content_type);
                let appended = if name.starts_with(OF_OBJECT) {
                    let object = self.object_written_by(id);
                    self.scenario.object_streams.append(&object, of, id, item)
                } else {
                    lock(&self.common).streams.append(first_generation(id), of, id, item)
                };
                halt_if_refused(id, appended);
            }
            WorkflowCommand::CloseStream { name, content_type } => {
                let closed = if let Some(name) = name.strip_prefix(OF_OBJECT) {
                    let object = self.object_written_by(id);
                    self.scenario.object_streams.close(&object, name, &content_type)
                } else {
                    let owner = first_generation(id);
                    lock(&self.common).streams.close(owner, &name, &content_type)
                };
                halt_if_refused(id, closed);
            }
            request @ (WorkflowCommand::WaitObjectPromise { .. }
            | WorkflowCommand::PeekObjectPromise { .. }
            | WorkflowCommand::SettleObjectPromise { .. }) => {
                self.perform_on_promises(id, command, request)
            }
        }
    }
}

/// Panics with a refusal for which a host halts the workflow.
fn halt_if_refused(id: &str, performed: Result<(), wit::Failure>) {
    if let Err(refused) = performed {
        panic!("{id}: {}", refused.message);
    }
}
