//! Calls, and one-way calls.

use axum::{
    Json,
    body::Bytes,
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use segno_api::{ApiError, shared::unexpected};
use segno_core::{
    command::Command,
    id::{Digest, PromiseId, check_name},
    json,
    promise::NewPromise,
    reply::{Conflict, Refusal, Reply},
    tags,
    time::Timestamp,
    value::Tags,
};
use segno_engine::values;
use segno_restate::wire::Failure;
use serde_json::{json, value::RawValue};

use super::{
    super::{
        error::{ID_HEADER, IngressError, IngressResult},
        request::OF_CALLERS,
    },
    delay, results,
    target::ResolvedHandler,
};
use crate::{HEADER, front::ServicesApi, ids, outcome};

/// Header with the idempotency key.
const IDEMPOTENCY: &str = "idempotency-key";
/// Header with the limit that applies to a call.
const LIMIT_KEY: &str = "x-restate-limit-key";
/// Header with the budget of the invocation and everything below it, as `UNIT=AMOUNT`, several with
/// commas between.
const BUDGET: &str = "segno-budget";
/// Headers for the connection or the ingress, not for the handler.
const OWN: [&str; 5] = ["connection", "host", "transfer-encoding", IDEMPOTENCY, BUDGET];

/// Calls a handler, and responds with its result.
pub(super) async fn call(
    api: ServicesApi,
    request: Request,
    scope: Option<&str>,
    target: &[&str],
) -> IngressResult {
    let target = ResolvedHandler::of(&api, scope, target).await?;
    let query = request.uri().query().unwrap_or_default();
    if delay::is_named(query) {
        let message = "only a call that is not waited for may be delayed: use /send";
        return Err(IngressError::new(400, message));
    }
    let began = begin(&api, request, &target, None).await?;
    if target.facts.runs_once && !began.is_new {
        let failure = Failure::new(409, "the workflow method was already invoked");
        return Err(IngressError::of_invocation(began.id.as_str(), failure));
    }
    results::awaited(&api, &began.id, target.gives.as_ref()).await
}

/// Calls a handler one-way, and responds with the invocation id.
pub(super) async fn send(
    api: ServicesApi,
    request: Request,
    scope: Option<&str>,
    target: &[&str],
) -> IngressResult {
    let target = ResolvedHandler::of(&api, scope, target).await?;
    let query = request.uri().query().unwrap_or_default();
    let delay = delay::of_query(query).map_err(|message| IngressError::new(400, message))?;
    let now = api.host.env.clock.now();
    let at = delay.map(|delay| now.in_time(delay.0.unsigned_abs())).transpose();
    let at = at.map_err(|refused| IngressError::new(400, format!("the delay {refused}")))?;
    let began = begin(&api, request, &target, at).await?;
    let status = if began.is_new { "Accepted" } else { "PreviouslyAccepted" };
    let mut body = json!({ "invocationId": began.id.as_str(), "status": status });
    if let Some(at) = at {
        body["executionTime"] = at.in_utc_millis().into();
    }
    let id = began.id.to_string();
    Ok((StatusCode::ACCEPTED, [(ID_HEADER, id)], Json(body)).into_response())
}

/// An invocation that was created by this request or an earlier one.
struct CalledInvocation {
    id: PromiseId,
    is_new: bool,
}

async fn begin(
    api: &ServicesApi,
    request: Request,
    target: &ResolvedHandler<'_>,
    at: Option<Timestamp>,
) -> IngressResult<CalledInvocation> {
    let ResolvedHandler { called, facts, .. } = target;
    if facts.is_private {
        let message = format!("`{}` can be called by other handlers only", called.service);
        return Err(IngressError::new(400, message));
    }
    let (parts, body) = request.into_parts();
    let limit_key = parts.headers.get(LIMIT_KEY).map(|key| key.to_str().unwrap_or("?"));
    ids::no_limit_key(limit_key).map_err(|refused| IngressError::new(400, refused))?;
    let (bytes, room) = OF_CALLERS.read(api, &parts, body).await?;
    if let Some(takes) = &target.takes {
        takes.check(&parts.headers, bytes.is_empty())?;
    }
    check_json(&parts.headers, &bytes)?;
    let idempotency = idempotency_key(&parts.headers)?;
    let budget = only_one(&parts.headers, BUDGET, "budget")?;
    let id = match idempotency {
        Some(_) if facts.runs_once => {
            let message = "a workflow runs once a key: it takes no idempotency key";
            return Err(IngressError::new(400, message));
        }
        None if facts.runs_once => called.run(),
        Some(key) => called.idempotent(key),
        None => new_id(api),
    };
    let mut headers = passed_on(&parts.headers, api.access.needs_token());
    let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    headers.insert(format!("{HEADER}x-restate-ingress-path"), path);
    if let Some(key) = idempotency {
        headers.insert(crate::IDEMPOTENCY.to_owned(), key.to_owned());
    }
    let param = values::param(&called.function(), &outcome::payload(&bytes), headers);
    let mut tags = Tags::from([(tags::TARGET.to_owned(), called.address())]);
    if let Some(at) = at {
        tags.insert(tags::DELAY.to_owned(), at.0.to_string());
    }
    if let Some(budget) = budget {
        tags.insert(tags::BUDGET.to_owned(), budget.to_owned());
    }
    let new = NewPromise { id: id.clone(), param, tags, timeout_at: Timestamp::NEVER };
    let reply = create(api, new, target.deployment, at.is_none()).await?;
    drop(room);
    match reply {
        Reply::Promise { changed, .. } => Ok(CalledInvocation { id, is_new: changed }),
        Reply::Begun { task, .. } => Ok(CalledInvocation { id, is_new: task.created }),
        // The workflow already ran under another id.
        Reply::Refused(Refusal::Conflict(Conflict::RanAlready { run, .. })) => {
            Ok(CalledInvocation { id: run, is_new: false })
        }
        Reply::Refused(refusal) => Err(refusal.into()),
        other => Err(unexpected(&other).into()),
    }
}

/// Checks a body declared as JSON. Other bodies are passed on unchecked.
fn check_json(headers: &HeaderMap, bytes: &[u8]) -> IngressResult<()> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    if bytes.is_empty() || !essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    json::check_within(bytes, json::DEPTH_MAX)
        .map_err(|reason| IngressError::new(400, format!("the body is not JSON: {reason}")))
}

/// Returns the idempotency key. A blank key counts as none: Restate's server would deduplicate
/// unrelated calls by it. Several keys are refused.
fn idempotency_key(headers: &HeaderMap) -> IngressResult<Option<&str>> {
    let Some(key) = only_one(headers, IDEMPOTENCY, "idempotency key")? else { return Ok(None) };
    if key.trim().is_empty() {
        return Ok(None);
    }
    check_name("the idempotency key", key)
        .map_err(|bad| IngressError::new(400, bad.to_string()))?;
    Ok(Some(key))
}

/// Returns the value of a header, which is `what` for messages.
fn only_one<'a>(headers: &'a HeaderMap, name: &str, what: &str) -> IngressResult<Option<&'a str>> {
    let mut given = headers.get_all(name).iter();
    let Some(value) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(IngressError::new(400, format!("there are several {what}s: send one")));
    }
    let value = value.to_str();
    value.map(Some).map_err(|_| IngressError::new(400, format!("the {what} is no text")))
}

/// Creates the invocation. If this host has a free slot and the invocation may begin `now`, it is
/// created with the claim of this host and the first record, which is one commit instead of three.
/// If another invocation has the turn of its key, it is created without the claim, and waits.
async fn create(
    api: &ServicesApi,
    new: NewPromise,
    deployment: Digest,
    now: bool,
) -> Result<Reply, ApiError> {
    let _place = api.room().await?;
    let slots = api.host.slots().filter(|_| now);
    match slots.and_then(|slots| Some((slots.slot(&new)?, slots))) {
        Some((slot, slots)) => {
            let begun = slots.begin(slot, new, deployment).await;
            Ok(begun.map_err(|_| ApiError::Internal("the start ended early".to_owned()))??)
        }
        None => Ok(api.host.attempt(Command::PromiseCreate(new)).await?),
    }
}

/// Generates an invocation id.
pub(crate) fn new_id(api: &ServicesApi) -> PromiseId {
    ids::drawn([(); 3].map(|()| api.host.env.runtime.nonce()))
}

/// Returns the headers of a request that its handler sees. The token is for this host only.
fn passed_on(headers: &HeaderMap, with_token: bool) -> Tags {
    let mut passed = Tags::new();
    for (name, value) in headers {
        if OWN.contains(&name.as_str()) || (with_token && *name == header::AUTHORIZATION) {
            continue;
        }
        let Ok(value) = value.to_str() else { continue };
        let known = passed.entry(format!("{HEADER}{name}")).or_default();
        if !known.is_empty() {
            known.push_str(", ");
        }
        known.push_str(value);
    }
    passed
}

/// Builds a response with a value as its body. The content type is the handler's, otherwise
/// detected.
pub(super) fn body(bytes: Bytes, id: &str, gives: Option<&(String, bool)>) -> Response {
    let kind = match gives {
        Some((_, false)) if bytes.is_empty() => None,
        Some((kind, _)) => HeaderValue::from_str(kind).ok(),
        None if bytes.is_empty() => None,
        None if serde_json::from_slice::<&RawValue>(&bytes).is_ok() => {
            Some(HeaderValue::from_static("application/json"))
        }
        None => Some(HeaderValue::from_static("application/octet-stream")),
    };
    let mut response = ([(ID_HEADER, id.to_owned())], bytes).into_response();
    response.headers_mut().remove(header::CONTENT_TYPE);
    kind.into_iter().for_each(|kind| {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    });
    response
}
