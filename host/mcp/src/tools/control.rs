//! Cancelling, continuing and restarting executions.

use schemars::JsonSchema;
use segno_model::RestartInvocation;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// The effect of a request on an execution.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ControlOutput {
    /// Id of the execution.
    id: String,
    /// True if the request changed something.
    changed: bool,
}

/// Arguments of `cancel_execution`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelExecution {
    /// Id of the execution.
    id: String,
}

impl HostTool for CancelExecution {
    type Output = ControlOutput;
    const NAME: &'static str = "cancel_execution";
    const TITLE: &'static str = "Cancel an execution";
    const ABOUT: &'static str = "Requests the cancellation of an execution and of all that it made. The function may clean up first. Ask the person before.";
    const EFFECT: ToolEffect = ToolEffect::Decides;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ControlOutput>, ToolFailure> {
        let accepted = match access.client.cancel(&self.id).await {
            Ok(accepted) => accepted,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let text = match accepted.changed {
            true => format!("the cancellation of {} is requested", accepted.id),
            false => format!("{} has ended or is being cancelled already", accepted.id),
        };
        let wait = json!({"id": accepted.id, "wait_ms": 10_000});
        let output = ControlOutput { id: accepted.id, changed: accepted.changed };
        Ok(ToolAnswer::new(text, output).then("result", wait, "wait for its end"))
    }
}

/// Arguments of `continue_execution`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContinueExecution {
    /// Id of the halted execution.
    id: String,
    /// Name or digest of corrected code, which must repeat the journal (default: the module of the
    /// execution).
    #[serde(default)]
    module: Option<String>,
}

impl HostTool for ContinueExecution {
    type Output = ControlOutput;
    const NAME: &'static str = "continue_execution";
    const TITLE: &'static str = "Continue a halted execution";
    const ABOUT: &'static str = "Sets a halted execution going again, on corrected code if `module` names it. `replay_execution` with the same `module` says before if the code repeats the journal.";
    const EFFECT: ToolEffect = ToolEffect::Continues;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ControlOutput>, ToolFailure> {
        let continued = match access.client.resume(&self.id, self.module).await {
            Ok(continued) => continued,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let on = continued.module.map(|module| format!(" on module {module}")).unwrap_or_default();
        let text = format!("{} continues{on}", continued.id);
        let wait = json!({"id": continued.id, "wait_ms": 10_000});
        let output = ControlOutput { id: continued.id, changed: continued.changed };
        Ok(ToolAnswer::new(text, output).then("result", wait, "wait for its end"))
    }
}

/// Arguments of `restart_execution`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestartExecution {
    /// Id of the execution to start anew.
    id: String,
    /// Id of the new execution, which is also the idempotency key.
    new_id: String,
    /// Name or digest of the module (default: the present code under the name of the old one).
    #[serde(default)]
    module: Option<String>,
}

impl HostTool for RestartExecution {
    type Output = ControlOutput;
    const NAME: &'static str = "restart_execution";
    const TITLE: &'static str = "Restart an execution";
    const ABOUT: &'static str =
        "Starts a new execution with the function, input and labels of another one.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ControlOutput>, ToolFailure> {
        let restart = RestartInvocation { id: Some(self.new_id), module: self.module };
        let started = match access.client.restart(&self.id, &restart).await {
            Ok(started) => started,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let text = match started.created {
            true => format!("{} is started in place of {}", started.id, self.id),
            false => format!("{} existed already, {}", started.id, started.invocation.state),
        };
        let next = id_argument(&started.id);
        let output = ControlOutput { id: started.id, changed: started.created };
        Ok(ToolAnswer::new(text, output).then("result", next, "its outcome"))
    }
}
