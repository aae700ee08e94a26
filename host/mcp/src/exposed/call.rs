//! A call of an exposed function: start, progress, cancellation, result.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolResult, JsonObject, ProgressNotificationParam, ProgressToken, RequestId},
    service::RequestContext,
};
use schemars::JsonSchema;
use segno_core::time::Millis;
use segno_model::{
    Invocation, InvocationOutcome, InvocationState, StartInvocation, Wait, WaitKind,
};
use serde::Serialize;
use serde_json::{Number, Value, json};
use tokio_util::sync::CancellationToken;

use super::ExposedFunction;
use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument},
    excerpt::FailureText,
    failure::ToolFailure,
};

/// Key of the idempotency key in the metadata of a request.
const IDEMPOTENCY_KEY: &str = "segno/idempotency-key";
/// Duration of one long poll.
const POLL: Duration = Duration::from_secs(2);
/// Maximum wait for a client that asks for no progress: it would give up after a minute.
const WAIT_WITHOUT_PROGRESS: Millis = Millis(45_000);

/// Maximum number of calls whose cancellations are kept.
const CALLS_MAX: usize = 1_000;
/// Time in which the notification of a cancelled request is handled.
const NOTIFICATION: Millis = Millis(1_000);

/// The calls of a session in progress, by the id of their request.
#[derive(Debug, Default)]
pub(crate) struct RunningCalls(Mutex<HashMap<RequestId, CancellationToken>>);

impl RunningCalls {
    /// Cancels the call of this request, at the wish of the client. The end of a session cancels
    /// nothing: the execution is durable.
    pub(crate) fn cancel(&self, request: &RequestId) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The cancellation of a call may overtake its beginning.
        if calls.len() < CALLS_MAX || calls.contains_key(request) {
            calls.entry(request.clone()).or_default().cancel();
        }
    }

    fn enter(&self, request: &RequestId) -> RunningCall<'_> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cancelled = calls.entry(request.clone()).or_default().clone();
        RunningCall { calls: self, request: request.clone(), cancelled }
    }
}

/// A call in progress, until it is dropped.
struct RunningCall<'a> {
    calls: &'a RunningCalls,
    request: RequestId,
    cancelled: CancellationToken,
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.remove(&self.request);
    }
}

/// The result of a call that did not fail.
#[derive(Debug, Serialize, JsonSchema)]
struct ExposedResult {
    id: String,
    state: String,
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
}

/// A call of an exposed function.
pub(crate) struct ExposedCall<'a> {
    pub(crate) access: &'a HostAccess,
    pub(crate) function: &'a ExposedFunction,
    /// Limits by unit.
    pub(crate) budget: &'a BTreeMap<String, Number>,
    pub(crate) running: &'a RunningCalls,
    pub(crate) context: &'a RequestContext<RoleServer>,
}

impl ExposedCall<'_> {
    /// Runs the function. A failed execution is a failed call.
    ///
    /// # Errors
    /// Invalid parameters; the message names the argument.
    pub(crate) async fn run(
        self,
        arguments: JsonObject,
    ) -> Result<Result<CallToolResult, ToolFailure>, ErrorData> {
        let running = self.running.enter(&self.context.id);
        let (key, input) = self.function.input(arguments)?;
        let id = self.execution_id()?;
        let target = match self.function.target(key.as_deref()) {
            Ok(target) => target,
            Err(failure) => return Ok(Err(failure)),
        };
        let budget = self.budget.clone();
        let start =
            StartInvocation { id: Some(id), target, input, budget, ..StartInvocation::default() };
        Ok(self.execute(start, &running.cancelled).await)
    }

    /// The id of the execution: from the idempotency key of the request, or a fresh one.
    fn execution_id(&self) -> Result<String, ErrorData> {
        let name = &self.function.name;
        match self.context.meta.get(IDEMPOTENCY_KEY) {
            None => Ok(format!("mcp-{name}-{:016x}", self.access.env.runtime.nonce())),
            Some(Value::String(key)) if !key.trim().is_empty() => Ok(format!("mcp-{name}-{key}")),
            Some(_) => {
                let message = format!("`{IDEMPOTENCY_KEY}` in `_meta` is no text");
                let data = json!({"tool": name, "field": IDEMPOTENCY_KEY});
                Err(ErrorData::invalid_params(message, Some(data)))
            }
        }
    }

    async fn execute(
        &self,
        start: StartInvocation,
        cancelled: &CancellationToken,
    ) -> Result<CallToolResult, ToolFailure> {
        let client = &self.access.client;
        let started = client.start(&start).await?;
        let id = started.id;
        let mut progress = CallProgress::new(self.context);
        let how = if started.created { "started as" } else { "exists as" };
        progress.tell(format!("{how} {id}")).await;
        let begun = self.access.env.clock.now();
        let mut outcome = started.invocation;
        while !outcome.state.is_settled() && outcome.state != InvocationState::Halted {
            outcome = tokio::select! {
                biased;
                () = self.context.ct.cancelled() => return Err(self.stopped(&id, cancelled).await),
                outcome = client.wait(&id, POLL) => outcome?,
            };
            if outcome.state.is_settled() {
                break;
            }
            if progress.token.is_none() {
                if self.access.env.clock.now().since(begun) >= WAIT_WITHOUT_PROGRESS {
                    break;
                }
            } else if let Ok(invocation) = client.invocation(&id).await {
                progress.tell(waits(&invocation)).await;
            }
        }
        self.result(outcome, started.created)
    }

    /// Cancels the execution if the client cancelled the request. If the session has ended, the
    /// execution goes on.
    async fn stopped(&self, id: &str, cancelled: &CancellationToken) -> ToolFailure {
        if self.access.env.within(NOTIFICATION, cancelled.cancelled()).await.is_none() {
            return ToolFailure::new("session-ended", format!("{id} goes on"));
        }
        match self.access.client.cancel(id).await {
            Ok(_) => ToolFailure::new("cancelled", format!("{id} is being cancelled")),
            Err(error) => {
                tracing::warn!("{id} could not be cancelled: {error}");
                error.into()
            }
        }
    }

    fn result(
        &self,
        outcome: InvocationOutcome,
        created: bool,
    ) -> Result<CallToolResult, ToolFailure> {
        let InvocationOutcome { id, state, output, failure, note, .. } = outcome;
        if let Some(failure) = failure.map(FailureText::from) {
            let message = format!("{id} is {state}: {}", failure.line());
            return Err(ToolFailure::new("execution-failed", message).then(
                "journal",
                id_argument(&id),
                "what it did",
            ));
        }
        let text = match (state, &output) {
            (InvocationState::Resolved, Some(output)) => format!("{id} is resolved: {output}"),
            (InvocationState::Halted, _) => {
                let why = note.map(|note| note.message).unwrap_or_default();
                format!("{id} is halted and waits for a person: {why}")
            }
            (state, _) if state.is_settled() => format!("{id} is {state}"),
            (state, _) => format!(
                "{id} has not ended; it is {state} and goes on. Ask for its result later, or repeat the call with the same idempotency key"
            ),
        };
        let ended = state.is_settled();
        let arguments = json!({"id": id, "wait_ms": 30_000});
        let result = ExposedResult { id, state: state.to_string(), created, output };
        let answer = ToolAnswer::new(text, result);
        match ended {
            true => answer.result(|_| true),
            false => {
                let why = arguments["id"].as_str().map(id_argument).unwrap_or_default();
                answer
                    .then("result", arguments, "wait for its end")
                    .then("why_execution", why, "what it waits for")
                    .result(|_| true)
            }
        }
    }
}

/// A sentence on the present state of an execution and its waits.
fn waits(invocation: &Invocation) -> String {
    let Invocation { id, state, journal_len, .. } = invocation;
    let progress = invocation.progress.as_ref().map(|progress| format!("; {}", progress.value));
    // Promises that a person settles come first.
    let mut waits: Vec<&Wait> = invocation.waits.iter().collect();
    waits.sort_by_key(|wait| wait.kind != WaitKind::Promise);
    let waits: Vec<&str> = waits.into_iter().take(3).map(|wait| wait.id.as_str()).collect();
    let waits = match waits.as_slice() {
        [] => String::new(),
        waits => format!(", waits for {}", waits.join(", ")),
    };
    format!("{id} is {state}, {journal_len} records{waits}{}", progress.unwrap_or_default())
}

/// The progress of a call, for a client that asked for it.
struct CallProgress<'a> {
    context: &'a RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    /// Number of notifications.
    told: u32,
}

impl<'a> CallProgress<'a> {
    fn new(context: &'a RequestContext<RoleServer>) -> Self {
        Self { context, token: context.meta.get_progress_token(), told: 0 }
    }

    /// Notifies the client.
    async fn tell(&mut self, message: String) {
        let Some(token) = self.token.clone() else { return };
        self.told += 1;
        let progress =
            ProgressNotificationParam::new(token, f64::from(self.told)).with_message(message);
        if let Err(error) = self.context.peer.notify_progress(progress).await {
            tracing::debug!("a client takes no progress: {error}");
        }
    }
}
