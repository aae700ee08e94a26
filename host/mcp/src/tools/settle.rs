//! Settling promises.

use schemars::JsonSchema;
use segno_model::{FailureView, OutcomeView, PromiseView};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument},
    excerpt::OutcomeExcerpt,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Arguments of `settle_promise`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettlePromise {
    /// Id of the promise, for example `order-1001/p/approved`.
    id: String,
    /// The value (default: null).
    #[serde(default)]
    value: Value,
    /// Message of a failure, which rejects the promise in place of a value.
    #[serde(default)]
    failure: Option<String>,
    /// Code of the failure (default 500).
    #[serde(default)]
    code: Option<u32>,
}

/// A settled promise.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettleOutput {
    id: String,
    state: String,
    /// True if this call settled it; false if it was settled before.
    changed: bool,
    /// The outcome, which stays.
    outcome: OutcomeExcerpt,
    /// Executions that wait for it.
    awaited_by: Vec<String>,
}

impl From<PromiseView> for SettleOutput {
    fn from(of: PromiseView) -> Self {
        let outcome = OutcomeView { value: of.value, failure: of.failure };
        Self {
            id: of.id,
            state: of.state.as_str().to_owned(),
            changed: of.changed.unwrap_or(false),
            outcome: OutcomeExcerpt::new(outcome, None),
            awaited_by: of.awaited_by,
        }
    }
}

impl HostTool for SettlePromise {
    type Output = SettleOutput;
    const NAME: &'static str = "settle_promise";
    const TITLE: &'static str = "Settle a promise";
    const ABOUT: &'static str = "Resolves a promise with a value, or rejects it with a failure: gives an approval or an answer that an execution waits for. It cannot be undone, so ask the person first.";
    const EFFECT: ToolEffect = ToolEffect::Decides;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<SettleOutput>, ToolFailure> {
        let settled = match self.failure {
            Some(message) => {
                let code = self.code.unwrap_or(500);
                let failure = FailureView { code, message, details: None };
                access.client.reject(&self.id, failure).await
            }
            None => access.client.resolve(&self.id, self.value).await,
        };
        let settled = settled.map_err(|error| {
            let failure = ToolFailure::from(error);
            match failure.code.as_str() {
                "unknown-promise" => failure.then("list_inbox", json!({}), "what is waited for"),
                "invalid-input" => {
                    let maker = self.id.split_once("/p/").map_or(self.id.as_str(), |(id, _)| id);
                    let why =
                        "its module and function, for describe_function, which has the schema";
                    failure.then("inspect_execution", id_argument(maker), why)
                }
                _ => failure,
            }
        })?;
        // The maker is named in the id of its promise: ID/p/NAME.
        let waits = settled.awaited_by.first().or(settled.made_by.as_ref()).cloned();
        let waits = waits.or(settled.id.split_once("/p/").map(|(id, _)| id.to_owned()));
        let output = SettleOutput::from(settled);
        let how = if output.changed { "is now" } else { "was settled before: it is" };
        let text = format!("{} {how} {}: {}", output.id, output.state, output.outcome.line());
        let answer = ToolAnswer::new(text, output);
        Ok(match waits {
            Some(id) => {
                answer.then("inspect_execution", id_argument(&id), "the execution that waited")
            }
            None => answer,
        })
    }
}
