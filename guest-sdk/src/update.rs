//! The accepted and unanswered updates of one execution.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::{
    bindings::segno::workflow::types as wit,
    handler::Handlers,
    invocation::CurrentInvocation,
    journal::WorkflowCommand,
    log::Level,
    payload::{self, Payload},
    task::WakeableFuture,
};

/// Name prefix of signals that carry updates.
const SIGNAL: &str = "segno:update/";

/// The name of the update that a signal carries. `None` for an ordinary signal.
pub(crate) fn update_of(signal: &wit::Signal) -> Option<&str> {
    signal.name.strip_prefix(SIGNAL)
}

/// An update as an event, for tests.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn event(name: &str, promise: &str, input: &Payload) -> wit::Event {
    let input = match input {
        Payload::Json(json) => json.as_str(),
        Payload::Bytes(_) => "null",
    };
    let promise = serde_json::Value::from(promise);
    let payload = Payload::Json(format!(r#"{{"promise":{promise},"input":{input}}}"#));
    wit::Event::Signal(wit::Signal { name: format!("{SIGNAL}{name}"), payload })
}

/// The payload of an update: `{"promise": ID, "input": …}`.
#[derive(serde::Deserialize)]
struct UpdateEnvelope {
    /// The id of the promise that the answer settles.
    promise: String,
    input: Option<Box<RawValue>>,
}

/// An update whose handler has not ended.
struct RunningUpdate {
    promise: String,
    task: WakeableFuture,
}

/// The running updates, in the order of acceptance.
#[derive(Default)]
pub(crate) struct RunningUpdates(Vec<RunningUpdate>);

impl RunningUpdates {
    /// Begins the handler of an update. If it cannot begin, the failure is answered immediately.
    pub(crate) fn accept(
        &mut self,
        invocation: &Arc<CurrentInvocation>,
        handlers: &Handlers,
        name: &str,
        payload: &Payload,
    ) {
        let what = format!("update `{name}`");
        let told: UpdateEnvelope = match payload::decode(&what, payload) {
            Ok(told) => told,
            Err(error) => {
                let line = format!("{}; the sender gets no answer", error.message());
                return invocation.journal.log(Level::Error.into(), &line);
            }
        };
        let json = told.input.map_or_else(|| "null".to_owned(), |input| input.get().to_owned());
        match handlers.begin(invocation, name, &Payload::Json(json)).map(WakeableFuture::new) {
            Ok(task) => {
                invocation.update_accepted();
                self.0.push(RunningUpdate { promise: told.promise, task });
            }
            Err(failure) => settle(invocation, told.promise, wit::Outcome::Failure(failure)),
        }
    }

    /// Polls the first woken handler until it waits. Returns false if none is woken.
    pub(crate) fn advance(&mut self, invocation: &Arc<CurrentInvocation>) -> bool {
        let Some(place) = self.0.iter().position(|running| running.task.is_woken()) else {
            return false;
        };
        invocation.polls_update(true);
        let outcome = self.0[place].task.poll_until_idle();
        invocation.polls_update(false);
        if let Some(outcome) = outcome {
            let RunningUpdate { promise, task } = self.0.remove(place);
            drop(task);
            settle(invocation, promise, outcome);
            invocation.update_answered();
        }
        true
    }

    /// Drops the updates that were unanswered when the workflow ended; the host cancels their
    /// promises.
    pub(crate) fn drop_all(&mut self) {
        self.0.clear();
    }
}

fn settle(invocation: &Arc<CurrentInvocation>, promise: String, outcome: wit::Outcome) {
    let issued = invocation.issue(WorkflowCommand::Settle { promise, outcome });
    // The workflow does not depend on the result of settling the promise.
    invocation.let_go(issued.index);
}
