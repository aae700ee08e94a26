//! Starts an invocation, once for each id.

use std::pin::pin;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use segno_core::{
    command::Command,
    id::{Digest, PromiseId},
    keyed_request::{KeyReuseError, RequestParts},
    promise::{NewPromise, Promise},
    reply::{Reply, TaskReply},
    time::Millis,
};
use segno_engine::traces::{TRACEPARENT, TraceContext};
use segno_env::Env;
use segno_store::PromiseRow;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Api, ApiError,
    admission::BodyPermit,
    behind,
    body::JsonBody,
    model::{BehindLimit, InvocationOutcome, InvocationState, StartInvocation, Started},
    new_invocation::{PreparedStart, prepare},
    problem_kind as kind,
    refusals::Refusals,
    state::{new_id, refused, unexpected},
    target::ParsedTarget,
    values::input_of,
    view,
    wait::{PromiseWatch, outcome, unhalted},
};

/// Maximum time that a speculative start holds its command permit. On an overloaded host a start
/// takes longer than usual, and still counts as a command.
const MAX_PERMIT_HOLD: Millis = Millis(500);

/// Starts an invocation. The same id again with the same target and input returns the first
/// execution; with others it is refused (409 `key-reused`).
#[utoipa::path(
    post, path = "/v1/invocations", tag = "invocations", request_body = StartInvocation,
    responses(
        (status = 200, body = Started, description = "An invocation with this id exists"),
        (status = 201, body = Started, description = "Started"),
        Refusals,
    ),
)]
pub(crate) async fn start(
    State(api): State<Api>,
    headers: HeaderMap,
    JsonBody(request, room): JsonBody<StartInvocation>,
) -> Result<(StatusCode, Json<Started>), ApiError> {
    // Boxed, so that a request that waits for admission needs no memory for it.
    Box::pin(begin(api, headers, request, room)).await
}

pub(super) async fn begin(
    api: Api,
    headers: HeaderMap,
    request: StartInvocation,
    room: BodyPermit,
) -> Result<(StatusCode, Json<Started>), ApiError> {
    begin_with(api, headers, request, None, room).await
}

/// Like [`begin`], with an input of `bytes`, which a request cannot express.
pub(super) async fn begin_with(
    api: Api,
    headers: HeaderMap,
    request: StartInvocation,
    bytes: Option<Vec<u8>>,
    room: BodyPermit,
) -> Result<(StatusCode, Json<Started>), ApiError> {
    let target = ParsedTarget::parse(&request.target)?;
    let given = request.id.clone().map(new_id).transpose()?;
    // The permit comes first, so that an overloaded host spends nothing on refused requests.
    let place = api.room().await?;
    let given = match given {
        Some(id) => Some(id),
        None => target.run(&api).await?,
    };
    if let Some(id) = &given
        && let Some(row) = api.host.store.read().promise(id).await?
    {
        // Waiting for the end of the first execution needs no permit.
        drop((place, room));
        return exists(&api, &request, row).await;
    }
    let id = given.unwrap_or_else(|| {
        let Env { clock, runtime } = &api.host.env;
        // Ids below others would imply a parent.
        let name = target.function().replace('/', ".");
        PromiseId::generated(&name, clock.now(), runtime.nonce())
    });
    let PreparedStart { mut new, module, is_plain } =
        prepare(&api, id.clone(), &target, &request, bytes).await?;
    // The parent span is stored with the invocation: another incarnation or host that exports the
    // spans later uses the same trace.
    let parent = headers.get(TRACEPARENT).and_then(|header| header.to_str().ok());
    if let Some(parent) = parent.filter(|text| TraceContext::parse(text).is_some()) {
        new.param.headers.insert(TRACEPARENT.to_owned(), parent.to_owned());
    }
    let wait_ms = request.wait_ms.unwrap_or(0);
    // For functions of objects the store decides who holds the turn.
    let now = is_plain && request.start_at_ms.is_none();
    // The settlement of a new invocation is not missed, so its row need not be read first.
    let watch = (wait_ms > 0).then(|| PromiseWatch::new(&api, &id));
    let created = create(&api, new, module, now, place).await?;
    drop(room);
    let invocation = match created {
        StartResult::Other => {
            // A concurrent request with this id was faster.
            let row = api.invocation(&id).await?;
            return exists(&api, &request, row).await;
        }
        // The reply already contains the answer.
        StartResult::Begun(begun) if wait_ms == 0 || !begun.promise.is_pending() => {
            view::outcome(&begun.promise, &begun.task)
        }
        StartResult::Begun(_) | StartResult::Waiting => {
            let read = || api.invocation(&id);
            let row = match watch {
                Some(watch) => watch.end(wait_ms, read).await?,
                None => read().await?,
            };
            outcome(&row)?
        }
    };
    let started = Started {
        id: id.to_string(),
        created: true,
        behind: behind(&api, &invocation).await?,
        invocation,
    };
    Ok((StatusCode::CREATED, Json(started)))
}

/// Result of creating an invocation.
enum StartResult {
    /// The invocation began; this is its task.
    Begun(Box<TaskReply>),
    /// The invocation waits for a worker.
    Waiting,
    /// An invocation with this id exists already.
    Other,
}

/// Creates the invocation. If this host has a free slot and the invocation may begin `now`, it
/// begins before it is stored, and continues if the client disconnects.
async fn create(
    api: &Api,
    new: NewPromise,
    module: Digest,
    now: bool,
    place: OwnedSemaphorePermit,
) -> Result<StartResult, ApiError> {
    let id = new.id.clone();
    let slots = api.host.slots().filter(|_| now);
    let reply = match slots.and_then(|slots| Some((slots.slot(&new)?, slots))) {
        Some((slot, slots)) => {
            let mut beginning = pin!(slots.begin(slot, new, module));
            let in_time = api.host.env.within(MAX_PERMIT_HOLD, &mut beginning).await;
            // A guest that computes for long before it has something to store must not hold a
            // command permit.
            drop(place);
            let begun = match in_time {
                Some(begun) => begun,
                None => beginning.await,
            };
            begun.map_err(|_| ApiError::Internal("the start ended early".to_owned()))??
        }
        None => api.host.attempt(Command::PromiseCreate(new)).await?,
    };
    match reply {
        Reply::Begun { task, .. } if task.created => Ok(StartResult::Begun(task)),
        Reply::Promise { changed: true, .. } => Ok(StartResult::Waiting),
        Reply::Begun { .. } | Reply::Promise { .. } => Ok(StartResult::Other),
        Reply::Refused(refusal) => Err(refused(&id, refusal)),
        other => Err(unexpected(&other)),
    }
}

/// Answers with the first execution, because the id is taken.
async fn exists(
    api: &Api,
    request: &StartInvocation,
    row: PromiseRow,
) -> Result<(StatusCode, Json<Started>), ApiError> {
    let id = row.promise.id().clone();
    if row.task.is_none() {
        return Err(ApiError::refused(
            kind::ID_TAKEN,
            format!("`{id}` is a promise and not an invocation; start it under another id"),
        ));
    }
    repeats(request, &row.promise)?;
    let row = match request.wait_ms {
        Some(limit) if row.promise.is_pending() => unhalted(api, &id, limit).await?,
        _ => row,
    };
    let invocation = outcome(&row)?;
    let started = Started {
        id: id.to_string(),
        created: false,
        behind: behind(api, &invocation).await?,
        invocation,
    };
    Ok((StatusCode::OK, Json(started)))
}

/// Returns the limit for which an invocation waits, if any.
async fn behind(
    api: &Api,
    invocation: &InvocationOutcome,
) -> Result<Option<BehindLimit>, ApiError> {
    if invocation.state != InvocationState::Suspended {
        return Ok(None);
    }
    let row = api.invocation(&PromiseId::from(invocation.id.as_str())).await?;
    let now = api.host.env.clock.now();
    let behind = behind::limit(&*api.host.store, &row.promise, now).await?;
    Ok(behind.filter(|limit| limit.waits.is_some()))
}

/// Checks that the request equals the one that started this invocation.
fn repeats(request: &StartInvocation, first: &Promise) -> Result<(), KeyReuseError> {
    let parts =
        |target: &str, input| RequestParts::new().text("target", target).json("input", input);
    let stored = bare(first.target().unwrap_or_default());
    let asked = bare(&request.target);
    let asked = if names(asked, stored) { stored } else { asked };
    let first_input = input_of(&first.spec.param);
    parts(asked, &request.input).repeats(
        &parts(stored, &first_input),
        "the id",
        first.id().as_str(),
    )
}

/// Removes the optional parts of a target.
fn bare(target: &str) -> &str {
    target.strip_prefix("wasm://").unwrap_or(target).trim_start_matches("sha256:")
}

/// Returns true if `asked` names the module of `stored` by a prefix of its digest, and the same
/// function.
fn names(asked: &str, stored: &str) -> bool {
    let (Some((hex, path)), Some((digest, stored_path))) =
        (asked.split_once('/'), stored.split_once('/'))
    else {
        return false;
    };
    path == stored_path
        && hex.len() >= 8
        && digest.len() == 64
        && digest.starts_with(&hex.to_ascii_lowercase())
}
