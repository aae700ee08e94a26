//! Starts an invocation, once for each id.

use std::{collections::BTreeMap, pin::pin};

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use segno_core::{
    command::Command,
    id::{Digest, PromiseId, check_name},
    keyed_request::{KeyReuseError, RequestParts},
    promise::{NewPromise, Promise, RetryPolicy},
    reply::{Reply, TaskReply},
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_engine::{
    traces::{TRACEPARENT, TraceContext},
    values,
};
use segno_guest::Payload;
use segno_store::PromiseRow;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Api, ApiError,
    admission::BodyPermit,
    behind,
    body::JsonBody,
    catalog::ResolvedFunction,
    model::{
        BehindLimit, Function, InvocationOutcome, InvocationState, Retry, StartInvocation,
        StartRetry, Started,
    },
    refusals::Refusals,
    state::{bad_name, new_id, refused, unexpected},
    target::ParsedTarget,
    values::{input_of, param},
    view,
    wait::{outcome, settled},
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
pub async fn start(
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
        let nonce = api.host.env.runtime.nonce();
        // Ids below others would imply a parent.
        PromiseId::new(format!("{}-{nonce:016x}", target.function().replace('/', ".")))
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
            outcome(&settled(&api, &id, wait_ms).await?)?
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

/// A validated start.
struct PreparedStart {
    /// The promise to create.
    new: NewPromise,
    /// The module to run.
    module: Digest,
    /// True if the function belongs to no object and no service.
    is_plain: bool,
}

/// Validates the request.
async fn prepare(
    api: &Api,
    id: PromiseId,
    target: &ParsedTarget<'_>,
    request: &StartInvocation,
    bytes: Option<Vec<u8>>,
) -> Result<PreparedStart, ApiError> {
    let ResolvedFunction { digest, function, by_alias } = target.resolve(api).await?;
    let errors = match bytes {
        Some(_) => Vec::new(),
        None => api.misfits(digest, &function, &request.input),
    };
    if !errors.is_empty() {
        return Err(ApiError::BadInput { target: request.target.clone(), errors });
    }
    let mut tags = labelled(&request.labels)?;
    tags.insert(tags::TARGET.to_owned(), target.address(digest, by_alias));
    let now = api.host.env.clock.now();
    let mut begins = now;
    if let Some(at) = request.start_at_ms {
        if !(0..Timestamp::NEVER.0).contains(&at) {
            let reason =
                "is not an instant in milliseconds between the years 1970 and 9999".to_owned();
            return Err(ApiError::BadField { field: "start_at_ms", reason });
        }
        tags.insert(tags::DELAY.to_owned(), at.to_string());
        begins = begins.max(Timestamp(at));
    }
    // Counted from when the invocation may begin, as for calls of guests.
    let timeout_at = match request.timeout_ms {
        Some(length) => in_time(begins, length)?,
        None => by_default(begins, function.timeout_ms),
    };
    let mut param = match bytes {
        Some(bytes) => values::param(&target.function(), &Payload::Bytes(bytes), Tags::new()),
        None => param(&target.function(), &request.input),
    };
    param.headers.extend(attempts(request, &function)?);
    let new = NewPromise { id, param, tags, timeout_at };
    // Deployments are called under a claim.
    let is_plain = function.access.is_none() && !target.is_service();
    Ok(PreparedStart { new, module: digest, is_plain })
}

/// Returns the headers with the retry policy and the attempt timeout of an activity, if the request
/// has them.
fn attempts(request: &StartInvocation, function: &Function) -> Result<Tags, ApiError> {
    let mut headers = Tags::new();
    if let Some(asked) = &request.retry {
        let policy = policy(asked, function.retry.as_ref())?;
        headers.insert(tags::RETRY_HEADER.to_owned(), json!(policy).to_string());
    }
    if let Some(limit) = request.attempt_timeout_ms {
        if limit == 0 || i64::try_from(limit).is_err() {
            let reason = format!("takes a number of milliseconds above 0: `{limit}`");
            return Err(ApiError::BadField { field: "attempt_timeout_ms", reason });
        }
        headers.insert(tags::ATTEMPT_TIMEOUT_HEADER.to_owned(), limit.to_string());
    }
    Ok(headers)
}

/// Returns the requested policy. Absent fields default to the function's policy, then to the
/// host's.
fn policy(asked: &StartRetry, described: Option<&Retry>) -> Result<RetryPolicy, ApiError> {
    let own = described.map_or_else(RetryPolicy::default, |retry| RetryPolicy {
        initial_ms: retry.initial_ms,
        factor: retry.factor,
        max_ms: retry.max_ms,
        jitter: retry.jitter,
        max_attempts: retry.max_attempts,
        non_retryable: retry.non_retryable.clone(),
    });
    let wrong = |what: &str| ApiError::BadField { field: "retry", reason: what.to_owned() };
    if asked.factor.is_some_and(|factor| factor < 0.0) {
        return Err(wrong("has a `factor` below 0"));
    }
    if asked.jitter.is_some_and(|jitter| !(0.0..=1.0).contains(&jitter)) {
        return Err(wrong("has a `jitter` that is not from 0 to 1"));
    }
    if asked.max_attempts == Some(0) {
        return Err(wrong("has a `max_attempts` of 0: there is one attempt at the least"));
    }
    Ok(RetryPolicy {
        initial_ms: asked.initial_ms.unwrap_or(own.initial_ms),
        factor: asked.factor.unwrap_or(own.factor),
        max_ms: asked.max_ms.unwrap_or(own.max_ms),
        jitter: asked.jitter.unwrap_or(own.jitter),
        max_attempts: asked.max_attempts.or(own.max_attempts),
        non_retryable: match asked.non_retryable.is_empty() {
            true => own.non_retryable,
            false => asked.non_retryable.clone(),
        },
    })
}

/// Returns the policy and the attempt timeout of an earlier start or call, to repeat it.
pub(super) fn attempts_of(param: &Value) -> (Option<StartRetry>, Option<u64>) {
    let header = |name: &str| param.headers.get(name);
    let retry = header(tags::RETRY_HEADER).and_then(|said| values::read_policy(said).ok());
    let retry = retry.map(|policy| StartRetry {
        initial_ms: Some(policy.initial_ms),
        factor: Some(policy.factor).filter(|factor| factor.is_finite()),
        max_ms: Some(policy.max_ms),
        jitter: Some(policy.jitter).filter(|jitter| (0.0..=1.0).contains(jitter)),
        max_attempts: policy.max_attempts.filter(|most| *most > 0),
        non_retryable: policy.non_retryable,
    });
    let limit = header(tags::ATTEMPT_TIMEOUT_HEADER).and_then(|said| said.parse().ok());
    (retry, limit.filter(|limit| *limit > 0))
}

/// Builds the promise of an invocation that another request creates.
pub(super) async fn to_be_made(
    api: &Api,
    id: PromiseId,
    request: &StartInvocation,
) -> Result<NewPromise, ApiError> {
    let target = ParsedTarget::parse(&request.target)?;
    Ok(prepare(api, id, &target, request, None).await?.new)
}

/// Converts labels to tags.
pub(super) fn labelled(labels: &BTreeMap<String, String>) -> Result<Tags, ApiError> {
    let mut tags = Tags::new();
    for (name, value) in labels {
        check_name("the name of the label", name).map_err(|bad| bad_name("labels", &bad))?;
        tags.insert(format!("{}{name}", tags::LABEL_PREFIX), value.clone());
    }
    Ok(tags)
}

/// Returns the deadline from the default timeout of a function. Modules uploaded before there was a
/// maximum may exceed it, which results in no deadline.
pub(super) fn by_default(begins: Timestamp, timeout_ms: Option<u64>) -> Timestamp {
    let limit = timeout_ms.and_then(|length| begins.in_time(length).ok());
    limit.unwrap_or(Timestamp::NEVER)
}

/// Returns the deadline from a requested timeout.
pub(super) fn in_time(begins: Timestamp, timeout_ms: u64) -> Result<Timestamp, ApiError> {
    begins.in_time(timeout_ms).map_err(|refused| ApiError::BadField {
        field: "timeout_ms",
        reason: format!("{refused}: `{timeout_ms}`"),
    })
}

/// Answers with the first execution, because the id is taken.
async fn exists(
    api: &Api,
    request: &StartInvocation,
    row: PromiseRow,
) -> Result<(StatusCode, Json<Started>), ApiError> {
    let id = row.promise.id().clone();
    if row.task.is_none() {
        return Err(ApiError::Refused {
            status: StatusCode::CONFLICT,
            code: "id-taken",
            reason: format!("`{id}` is a promise and not an invocation; start it under another id"),
        });
    }
    repeats(request, &row.promise)?;
    let row = match request.wait_ms {
        Some(limit) if row.promise.is_pending() => settled(api, &id, limit).await?,
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
