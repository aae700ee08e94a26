//! Updates of workflows: sends them, and waits for the answers.

use axum::{Json, extract::State, http::HeaderMap};
use segno_core::{
    command::Command,
    id::PromiseId,
    promise::Promise,
    reply::{Conflict, Refusal, Reply},
    time::Millis,
    value::Text,
};
use segno_engine::worker::{AskError, ReplayError};
use segno_store::PromiseRow;
use serde_json::Value;

use super::{
    Api, ApiError,
    admission::BodyPermit,
    body::{JsonBody, PathSegments},
    handlers::{answer, not_asked, not_begun},
    model::{
        FailureView, HandlerKind, SendUpdate, StartFirst, StartInvocation, UpdateAnswer,
        UpdateState, UpdateWait,
    },
    problem_kind as kind, promises,
    refusals::Refusals,
    start,
    state::{refused, unexpected},
    target::ParsedTarget,
    view,
    wait::{self, DEFAULT_WAIT_MS},
};

/// Minimum and maximum pause before an update is offered again to a workflow that progressed
/// meanwhile.
pub(super) const PAUSE: (Millis, Millis) = (Millis(2), Millis(200));

/// Sends an update to a workflow, and waits until it is accepted or answered. The workflow first
/// validates the update; a refused update leaves no trace.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/updates/{name}", tag = "invocations",
    params(
        ("id" = String, Path, description = "The invocation; a slash is written %2F"),
        ("name" = String, Path, description = "The update"),
    ),
    request_body = SendUpdate,
    responses((status = 200, body = UpdateAnswer), Refusals),
)]
pub(crate) async fn send(
    State(api): State<Api>,
    PathSegments((id, name)): PathSegments<(String, String)>,
    headers: HeaderMap,
    JsonBody(update, room): JsonBody<SendUpdate>,
) -> Result<Json<UpdateAnswer>, ApiError> {
    let id = api.stored_id(id).await?;
    if let Some(first) = update.start {
        start_first(&api, &id, first, (&name, &update.input), headers, room).await?;
    }
    let row = api.invocation(&api.generation(id.to_string()).await?).await?;
    api.check_handler(&row, HandlerKind::Update, &name, &update.input).await?;
    let limit_ms = update.timeout_ms.unwrap_or(DEFAULT_WAIT_MS);
    let sent =
        UpdateRequest { id: &id, name: &name, input: &update.input, key: update.key.as_deref() };
    let (invocation, n) = sent.accepted(&api, &row, limit_ms).await?;
    let promise = invocation.answer(n);
    let read = || promises::find(&api, &promise);
    let answered = match update.wait {
        UpdateWait::Accepted => read().await?,
        UpdateWait::Completed => {
            wait::watched(&api, &promise, limit_ms, wait::is_settled, read).await?
        }
    };
    Ok(Json(shown(&id, name, &answered.promise)))
}

/// Starts the receiving invocation, unless one with this id exists.
async fn start_first(
    api: &Api,
    id: &PromiseId,
    first: StartFirst,
    (name, input): (&str, &Value),
    headers: HeaderMap,
    room: BodyPermit,
) -> Result<(), ApiError> {
    // An invalid update starts nothing.
    let target = ParsedTarget::parse(&first.target)?;
    let resolved = api.resolve(&target.module, &target.function()).await?;
    let (module, function) = (resolved.digest, &resolved.function);
    api.check_handler_of(module, function, HandlerKind::Update, name, input)?;
    let request = StartInvocation {
        id: Some(id.to_string()),
        target: first.target,
        input: first.input,
        timeout_ms: first.timeout_ms,
        labels: first.labels,
        budget: first.budget,
        ..StartInvocation::default()
    };
    start::begin(api.clone(), headers, request, room).await.map(drop)
}

fn shown(id: &PromiseId, name: String, answered: &Promise) -> UpdateAnswer {
    let unanswered = |failure: FailureView| match failure.code {
        499 if failure.details.is_none() => {
            FailureView { message: format!("`{id}` ended before it answered"), ..failure }
        }
        _ => failure,
    };
    let (output, failure) = (view::output(answered), view::failure(answered).map(unanswered));
    UpdateAnswer {
        id: id.to_string(),
        name,
        promise: answered.id().to_string(),
        state: match (answered.is_pending(), &failure) {
            (true, _) => UpdateState::Accepted,
            (false, None) => UpdateState::Completed,
            (false, Some(_)) => UpdateState::Failed,
        },
        output,
        failure,
    }
}

/// Waits for `pause`. Returns the duration of the next pause.
pub(super) async fn paused(api: &Api, pause: Millis) -> Millis {
    api.host.env.runtime.sleep(pause).await;
    Millis(pause.0 * 2).min(PAUSE.1)
}

/// An update to be accepted.
struct UpdateRequest<'a> {
    id: &'a PromiseId,
    name: &'a str,
    input: &'a Value,
    key: Option<&'a str>,
}

/// Result of an attempt to have an update accepted.
enum UpdateAttempt {
    Accepted(PromiseId, u32),
    /// The workflow progressed since it was asked.
    Overtaken(Refusal),
}

impl UpdateRequest<'_> {
    /// Asks the workflow and has the update accepted, repeatedly if necessary: in between the
    /// workflow may have progressed, or continued as new. Returns the generation and the index of
    /// the update's signal.
    async fn accepted(
        &self,
        api: &Api,
        row: &PromiseRow,
        limit_ms: u64,
    ) -> Result<(PromiseId, u32), ApiError> {
        // Without a key, repeating the command after an unknown outcome would send two updates.
        let nonce = || format!("api:{:016x}", api.host.env.runtime.nonce());
        let key = Text::from(self.key.map_or_else(nonce, str::to_owned));
        if self.key.is_some() || !row.promise.is_pending() {
            // An update that was accepted before is not validated again; an ended workflow accepts
            // none.
            let nothing_seen = (u32::MAX, u32::MAX);
            if let UpdateAttempt::Accepted(id, n) =
                self.offer(api, self.id, &key, nothing_seen).await?
            {
                return Ok((id, n));
            }
        }
        let (clock, limit) = (&api.host.env.clock, std::time::Duration::from_millis(limit_ms));
        let (began, mut pause) = (clock.elapsed(), PAUSE.0);
        loop {
            let is_over = clock.elapsed().saturating_sub(began) >= limit;
            let what = (HandlerKind::Update, self.name);
            let id = &api.generation(self.id.to_string()).await?;
            let now = api.invocation(id).await?;
            if id != row.promise.id() {
                // Another generation may have other code.
                api.check_handler(&now, what.0, self.name, self.input).await?;
            }
            let asked = match api.ask(id, what, self.input, None).await {
                Ok(asked) => asked,
                // The workflow is about to begin, or waits to begin.
                Err(AskError::Replay(ReplayError::NoJournal(..))) if now.promise.is_pending() => {
                    if is_over {
                        return Err(not_begun(id, what, limit_ms));
                    }
                    pause = paused(api, pause).await;
                    continue;
                }
                Err(error) => return Err(not_asked(error, what)),
            };
            answer(what.0, self.name, &asked.outcome)?;
            if asked.records < asked.of {
                return Err(ApiError::refused(
                    kind::REPLAY_FAILED,
                    format!(
                        "`{}` takes no update: its code does not get past record {} of {}; `segno replay {}` shows why",
                        self.id, asked.records, asked.of, self.id
                    ),
                ));
            }
            match self.offer(api, id, &key, (asked.records, asked.signals)).await? {
                UpdateAttempt::Accepted(id, n) => return Ok((id, n)),
                UpdateAttempt::Overtaken(refusal) if is_over => {
                    return Err(refused(self.id, refusal));
                }
                UpdateAttempt::Overtaken(_) => pause = paused(api, pause).await,
            }
        }
    }

    async fn offer(
        &self,
        api: &Api,
        asked: &PromiseId,
        key: &Text,
        (records, signals): (u32, u32),
    ) -> Result<UpdateAttempt, ApiError> {
        let command = Command::Update {
            invocation: asked.clone(),
            name: Text::from(self.name),
            input: Text::from(self.input.to_string()),
            key: Some(key.clone()),
            records,
            signals,
        };
        match api.execute(command).await? {
            Reply::Signalled { invocation, n, .. } => Ok(UpdateAttempt::Accepted(invocation, n)),
            Reply::Refused(refusal @ Refusal::Conflict(Conflict::JournalGrew { .. })) => {
                Ok(UpdateAttempt::Overtaken(refusal))
            }
            Reply::Refused(Refusal::Conflict(Conflict::PromiseSettled(_))) => {
                let state = wait::outcome(&api.invocation(self.id).await?)?.state;
                Err(ApiError::Settled { id: self.id.to_string(), state: state.as_str() })
            }
            Reply::Refused(refusal) => Err(refused(self.id, refusal)),
            other => Err(unexpected(&other)),
        }
    }
}
