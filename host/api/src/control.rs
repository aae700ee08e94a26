//! Commands on running invocations.

use axum::{Json, extract::State};
use segno_core::{
    command::Command,
    id::{Claim, PromiseId, Version, check_name},
    promise::{ReleaseReason, Task, TaskStatus},
    reply::{Conflict, Refusal, Reply},
    value::Text,
};
use segno_store::PromiseRow;

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    model::{Accepted, ReleaseTask, SendSignal, SignalAccepted, StartInvocation},
    new_invocation, problem_kind as kind,
    refusals::Refusals,
    state::{bad_name, new_id, refused, unexpected},
    target::ParsedTarget,
    values::stored,
    wait::outcome,
};

/// An empty body.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyBody {}

/// Requests the cancellation of an invocation, which may clean up before it ends.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/cancel", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = Accepted), Refusals),
)]
pub(crate) async fn cancel(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(EmptyBody {}, _room): JsonBody<EmptyBody>,
) -> Result<Json<Accepted>, ApiError> {
    let id = api.stored_id(id).await?;
    end(&api, id.clone(), Command::Cancel { invocation: id }).await
}

/// Kills an invocation: ends it immediately, without notifying it.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/kill", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = Accepted), Refusals),
)]
pub(crate) async fn kill(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(EmptyBody {}, _room): JsonBody<EmptyBody>,
) -> Result<Json<Accepted>, ApiError> {
    let id = api.stored_id(id).await?;
    end(&api, id.clone(), Command::Kill { invocation: id }).await
}

/// Executes a command that ends an invocation. `changed` is true if the invocation had not ended.
async fn end(api: &Api, id: PromiseId, command: Command) -> Result<Json<Accepted>, ApiError> {
    api.invocation(&id).await?;
    match act(api, &id, command).await? {
        Reply::Promise { changed, .. } => Ok(Json(Accepted { id: id.to_string(), changed })),
        other => Err(unexpected(&other)),
    }
}

/// Halts an invocation until it is continued. The holder of its task loses the claim, and its
/// further writes are refused.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/halt", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = Accepted), Refusals),
)]
pub(crate) async fn halt(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(EmptyBody {}, _room): JsonBody<EmptyBody>,
) -> Result<Json<Accepted>, ApiError> {
    let id = api.generation(id).await?;
    let before = api.invocation(&id).await?;
    let halted = |row: &PromiseRow| row.task.as_ref().map(Task::status) == Some(TaskStatus::Halted);
    match api.execute(Command::TaskHalt { id: id.clone() }).await? {
        Reply::Refused(Refusal::Conflict(Conflict::WrongState { .. })) => {
            let state = outcome(&api.invocation(&id).await?)?.state;
            Err(ApiError::Settled { id: id.to_string(), state: state.as_str() })
        }
        Reply::Refused(refusal) => Err(refused(&id, refusal)),
        _ => Ok(Json(Accepted { id: id.to_string(), changed: !halted(&before) })),
    }
}

/// Releases the task of an invocation from its holder, and offers the task again immediately.
/// Further writes of the holder are refused.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/release", tag = "invocations", request_body = ReleaseTask,
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = Accepted), Refusals),
)]
pub(crate) async fn release(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(ReleaseTask { version }, _room): JsonBody<ReleaseTask>,
) -> Result<Json<Accepted>, ApiError> {
    let id = api.generation(id).await?;
    let row = api.invocation(&id).await?;
    let current = row.task.as_ref().map_or(Version(0), |task| task.version);
    let claim = Claim { id: id.clone(), version: version.map_or(current, Version) };
    let command = Command::TaskRelease { claim, reason: ReleaseReason::Yield };
    match act(&api, &id, command).await {
        Err(ApiError::WrongState { id, state, .. }) => {
            let wanted = "only a task that has a holder can be released";
            Err(ApiError::WrongState { id, state, wanted })
        }
        answered => answered.map(|_| Json(Accepted { id: id.to_string(), changed: true })),
    }
}

/// Sends a signal to an invocation. With `start`, starts the invocation in the same transaction if
/// it does not exist.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/signals", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    request_body = SendSignal,
    responses((status = 200, body = SignalAccepted), Refusals),
)]
pub(crate) async fn signal(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(signal, _room): JsonBody<SendSignal>,
) -> Result<Json<SignalAccepted>, ApiError> {
    let id = api.stored_id(id).await?;
    check_name("the name of the signal", &signal.name).map_err(|bad| bad_name("name", &bad))?;
    let start = match signal.start {
        // An existing invocation receives the signal, regardless of its function.
        Some(first) if api.host.store.read().promise(&id).await?.is_none() => {
            let target = ParsedTarget::parse(&first.target)?;
            let resolved = api.resolve(&target.module, &target.function()).await?;
            let function = &resolved.function;
            api.check_signal_of(resolved.digest, function, &signal.name, &signal.payload)?;
            let request = StartInvocation {
                target: first.target.clone(),
                input: first.input,
                timeout_ms: first.timeout_ms,
                labels: first.labels,
                budget: first.budget,
                ..StartInvocation::default()
            };
            Some(new_invocation::to_be_made(&api, new_id(id.to_string())?, &request).await?)
        }
        Some(_) | None => None,
    };
    if start.is_none() {
        let row = api.invocation(&id).await?;
        api.check_signal(&row, &signal.name, &signal.payload).await?;
    }
    // Without a key, repeating the command after an unknown outcome would send two signals.
    let key = signal.key.unwrap_or_else(|| format!("api:{:016x}", api.host.env.runtime.nonce()));
    let name = signal.name.clone();
    let (invocation, payload) = (id.clone(), stored(&signal.payload));
    let (named, key) = (Text::from(signal.name), Some(Text::from(key)));
    let command = match start {
        Some(new) => Command::SignalStart { new, name: named, payload, key },
        None => Command::Signal { invocation, name: named, payload, key },
    };
    let reply = api.execute(command).await?;
    if let Reply::Refused(Refusal::Conflict(Conflict::PromiseSettled(settled))) = &reply
        && *settled != id
    {
        return Err(ApiError::refused(
            kind::ALREADY_SENT,
            format!(
                "the signal `{name}` was sent to `{id}` before, with another payload: a run has one for each name"
            ),
        ));
    }
    match answered(&api, &id, reply).await? {
        Reply::Signalled { invocation, n, started } => {
            Ok(Json(SignalAccepted { id: invocation.to_string(), signal: n, started }))
        }
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn act(api: &Api, id: &PromiseId, command: Command) -> Result<Reply, ApiError> {
    let reply = api.execute(command).await?;
    answered(api, id, reply).await
}

/// Returns the reply, or the refusal as an API error.
async fn answered(api: &Api, id: &PromiseId, reply: Reply) -> Result<Reply, ApiError> {
    match reply {
        Reply::Refused(Refusal::Conflict(Conflict::PromiseSettled(_))) => {
            let state = outcome(&api.invocation(id).await?)?.state;
            Err(ApiError::Settled { id: id.to_string(), state: state.as_str() })
        }
        Reply::Refused(refusal) => Err(refused(id, refusal)),
        reply => Ok(reply),
    }
}
