//! The outcome of an execution.

use std::time::Duration;

use schemars::JsonSchema;
use segno_model::{InvocationOutcome, OutcomeView};
use serde::{Deserialize, Serialize};

use super::inspect::next_calls;
use crate::{
    access::HostAccess,
    answer::ToolAnswer,
    excerpt::{OutcomeExcerpt, cut},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Maximum wait, in milliseconds.
const WAIT_MS_MAX: u64 = 30_000;

/// Arguments of `result`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecutionResult {
    /// Id of the execution.
    id: String,
    /// Maximum wait for the end, in milliseconds (default 0; at most 30000).
    #[serde(default)]
    #[schemars(range(max = 30_000))]
    wait_ms: Option<u64>,
    /// Values with more bytes of JSON are cut (default 1000; at most 65536).
    #[serde(default)]
    max_value_bytes: Option<u32>,
}

/// The state of an execution, and its outcome if it has ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExecutionState {
    id: String,
    state: String,
    /// True if it has ended.
    ended: bool,
    /// The outcome, if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeExcerpt>,
    /// The last error, or the reason of a halt.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl ExecutionState {
    pub(crate) fn new(of: InvocationOutcome, max_bytes: Option<u32>) -> Self {
        let ended = of.state.is_settled();
        let outcome = OutcomeView { value: of.output, failure: of.failure };
        Self {
            id: of.id,
            state: of.state.to_string(),
            ended,
            outcome: ended.then(|| OutcomeExcerpt::new(outcome, max_bytes)),
            note: of.note.map(|note| cut(format!("{}: {}", note.kind, note.message), 2_000)),
        }
    }

    pub(crate) fn text(&self) -> String {
        match (&self.outcome, &self.note) {
            (Some(outcome), _) => format!("{} is {}: {}", self.id, self.state, outcome.line()),
            (None, Some(note)) => {
                format!("{} has not ended; it is {}; {note}", self.id, self.state)
            }
            (None, None) => format!("{} has not ended; it is {}", self.id, self.state),
        }
    }
}

impl HostTool for ExecutionResult {
    type Output = ExecutionState;
    const NAME: &'static str = "result";
    const TITLE: &'static str = "Result of an execution";
    const ABOUT: &'static str = "The state of an execution and its output or failure, after a wait of up to 30 s for its end.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ExecutionState>, ToolFailure> {
        let wait = Duration::from_millis(self.wait_ms.unwrap_or(0).min(WAIT_MS_MAX));
        let outcome = match access.client.wait(&self.id, wait).await {
            Ok(outcome) => outcome,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let next = next_calls(&outcome.id, outcome.state);
        let state = ExecutionState::new(outcome, self.max_value_bytes);
        Ok(ToolAnswer::new(state.text(), state).then_all(next))
    }
}
