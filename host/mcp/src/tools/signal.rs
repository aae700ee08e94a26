//! Signals to executions.

use schemars::JsonSchema;
use segno_model::SendSignal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Arguments of `send_signal`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendExecutionSignal {
    /// Id of the execution.
    id: String,
    /// Name of the signal.
    name: String,
    /// Its payload (default: null).
    #[serde(default)]
    payload: Value,
    /// Idempotency key: the same key again, with the same name and payload, sends nothing.
    key: String,
}

/// A sent signal.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SignalOutput {
    id: String,
    /// Index of the signal among those of the execution.
    signal: u32,
}

impl HostTool for SendExecutionSignal {
    type Output = SignalOutput;
    const NAME: &'static str = "send_signal";
    const TITLE: &'static str = "Send a signal";
    const ABOUT: &'static str = "Sends a named message to an execution. `describe_function` and `why_execution` say which signals a function takes.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<SignalOutput>, ToolFailure> {
        let signal = SendSignal {
            name: self.name,
            payload: self.payload,
            key: Some(self.key),
            ..SendSignal::default()
        };
        let accepted = match access.client.signal(&self.id, &signal).await {
            Ok(accepted) => accepted,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let text = format!("{} has signal {} `{}`", accepted.id, accepted.signal, signal.name);
        let arguments = id_argument(&accepted.id);
        let output = SignalOutput { id: accepted.id, signal: accepted.signal };
        Ok(ToolAnswer::new(text, output).then("why_execution", arguments, "what it waits for now"))
    }
}
