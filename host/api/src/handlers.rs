//! Common parts of queries and updates: checks against the module's description, and evaluation by
//! the workflow.

use segno_core::id::{Digest, PromiseId};
use segno_engine::{
    target, values,
    worker::{self, AskError, Question, QuestionAnswer, ReplayError},
};
use segno_guest::{Outcome, Payload};
use segno_store::PromiseRow;
use serde_json::Value;

use super::{
    Api, ApiError,
    model::{FailureView, Function, Handler, HandlerKind},
    problem_kind as kind,
    replay::not_replayed,
};

impl Api {
    /// Checks that the workflow of `row` has this query or update, and that the input fits it.
    pub(super) async fn check_handler(
        &self,
        row: &PromiseRow,
        kind: HandlerKind,
        name: &str,
        input: &Value,
    ) -> Result<(), ApiError> {
        let (module, function) = self.workflow_of(row).await?;
        self.check_handler_of(module, &function, kind, name, input)
    }

    /// Like [`check_handler`](Self::check_handler), for a function.
    pub(super) fn check_handler_of(
        &self,
        module: Digest,
        function: &Function,
        kind: HandlerKind,
        name: &str,
        input: &Value,
    ) -> Result<(), ApiError> {
        let known = || function.handlers.iter().filter(|known| known.kind == kind);
        let Some(handler) = known().find(|known| known.name == name) else {
            return Err(ApiError::UnknownHandler {
                kind,
                function: function.name.clone(),
                name: name.to_owned(),
                known: known().map(|known| known.name.clone()).collect(),
            });
        };
        self.check_input(module, function, handler, input)
    }

    fn check_input(
        &self,
        module: Digest,
        function: &Function,
        handler: &Handler,
        input: &Value,
    ) -> Result<(), ApiError> {
        let errors = self.handler_misfits(module, function, handler, input);
        match errors.is_empty() {
            true => Ok(()),
            false => Err(ApiError::BadMessage {
                kind: handler.kind.as_str(),
                name: handler.name.clone(),
                function: function.name.clone(),
                errors,
            }),
        }
    }

    /// Returns the module and the function that the invocation `row` runs, or ran.
    async fn workflow_of(&self, row: &PromiseRow) -> Result<(Digest, Function), ApiError> {
        let id = row.promise.id();
        let refused = |reason: String| ApiError::refused(kind::NO_JOURNAL, reason);
        let Some(module) = row.task.as_ref().and_then(|task| task.module) else {
            return Err(refused(format!(
                "`{id}` is not run by a module: it answers no queries and no updates"
            )));
        };
        let known = match self.remembered().filter(|known| known.by_digest(module).is_some()) {
            Some(known) => known,
            None => self.modules().await?,
        };
        let name = target::function_of(&row.promise);
        let function = known.by_digest(module).and_then(|entry| entry.function(&name));
        let function = function.ok_or_else(|| {
            refused(format!("the module {module} of `{id}` has no function `{name}`"))
        })?;
        Ok((module, function.clone()))
    }

    /// Has the workflow evaluate a query, or validate an update, and returns its answer.
    pub(super) async fn ask(
        &self,
        id: &PromiseId,
        (kind, name): (HandlerKind, &str),
        input: &Value,
        at: Option<u32>,
    ) -> Result<QuestionAnswer, AskError> {
        let question = Question {
            validates: kind == HandlerKind::Update,
            name: name.to_owned(),
            input: Payload::Json(input.to_string()),
        };
        worker::ask(&self.host, id, question, at).await
    }
}

/// Builds the error for a workflow that had not begun within the wait limit.
pub(super) fn not_begun(
    id: &PromiseId,
    (kind, name): (HandlerKind, &str),
    limit_ms: u64,
) -> ApiError {
    let kind = kind.as_str();
    ApiError::refused(
        kind::NOT_BEGUN,
        format!(
            "`{id}` had not begun after {limit_ms} ms, so it was not asked about the {kind} `{name}`, and nothing was stored: send it \
             again; `segno why {id}` says what it waits for"
        ),
    )
}

/// Converts the reason why a workflow did not answer.
pub(super) fn not_asked(error: AskError, (kind, name): (HandlerKind, &str)) -> ApiError {
    match error {
        AskError::Replay(ReplayError::NoSuchRecord { .. }) => {
            ApiError::BadField { field: "at", reason: format!("is too large: {error}") }
        }
        AskError::Replay(error) => not_replayed(error),
        AskError::NoHandlers(_) => ApiError::refused(kind::NO_HANDLERS, error.to_string()),
        AskError::Guest(error) => ApiError::refused(
            kind::QUERY_TRAPPED,
            format!("the {} `{name}` did not answer: {}", kind.as_str(), error.message()),
        ),
    }
}

/// Converts the workflow's answer: a value, or its failure as an error.
pub(super) fn answer(kind: HandlerKind, name: &str, outcome: &Outcome) -> Result<Value, ApiError> {
    match outcome {
        Outcome::Success(value) => Ok(values::payload_json(value)),
        Outcome::Failure(failure) => Err(ApiError::HandlerFailed {
            kind,
            name: name.to_owned(),
            failure: FailureView {
                code: failure.code,
                message: failure.message.clone(),
                details: failure.details.as_ref().map(values::payload_json),
            },
        }),
    }
}
