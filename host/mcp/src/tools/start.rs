//! Starts of executions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use segno_model::StartInvocation;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

use super::{inspect::next_calls, result::ExecutionState};
use crate::{
    access::HostAccess,
    answer::ToolAnswer,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Maximum wait for the end, in milliseconds.
const WAIT_MS_MAX: u64 = 30_000;

/// Arguments of `start_execution`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartExecution {
    /// Id of the execution, which is also the idempotency key: the same id again, with the same
    /// target and input, starts nothing and answers the first execution.
    id: String,
    /// The function: MODULE/FUNCTION, or MODULE/OBJECT@KEY/FUNCTION.
    target: String,
    /// The input; `describe_function` has its schema.
    #[serde(default)]
    input: Value,
    /// Labels by which executions are listed.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Budget of the execution and everything below it: limits by unit, as in {"tokens": 100000}.
    #[serde(default)]
    budget: BTreeMap<String, Number>,
    /// Time limit from now, in milliseconds.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// Maximum wait for the end, in milliseconds (default 0; at most 30000).
    #[serde(default)]
    #[schemars(range(max = 30_000))]
    wait_ms: Option<u64>,
}

/// A started execution.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StartOutput {
    /// True if this call started it; false if it existed already.
    created: bool,
    execution: ExecutionState,
}

impl HostTool for StartExecution {
    type Output = StartOutput;
    const NAME: &'static str = "start_execution";
    const TITLE: &'static str = "Start an execution";
    const ABOUT: &'static str = "Starts a workflow or an activity under an id that you choose, and may wait up to 30 s for its end. A call that failed without an answer can be repeated with the same id.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<StartOutput>, ToolFailure> {
        let start = StartInvocation {
            id: Some(self.id),
            target: self.target.clone(),
            input: self.input,
            labels: self.labels,
            budget: self.budget,
            timeout_ms: self.timeout_ms,
            wait_ms: self.wait_ms.map(|wait| wait.min(WAIT_MS_MAX)),
            ..StartInvocation::default()
        };
        let started = access.client.start(&start).await.map_err(|error| {
            let failure = ToolFailure::from(error);
            let function = self.target.split_once('/');
            match (failure.code.as_str(), function) {
                ("invalid-input", Some((module, function))) => failure.then(
                    "describe_function",
                    json!({"module": module, "function": function}),
                    "the schema of the input",
                ),
                _ => failure,
            }
        })?;
        let id = started.id;
        let next = next_calls(&id, started.invocation.state);
        let execution = ExecutionState::new(started.invocation, None);
        let how = match started.created {
            true => "started",
            false => "nothing was started, because the id exists",
        };
        let text = format!("{how}: {}", execution.text());
        Ok(ToolAnswer::new(text, StartOutput { created: started.created, execution })
            .then("result", json!({"id": id, "wait_ms": WAIT_MS_MAX}), "wait for its end")
            .then_all(next))
    }
}
