//! Restarts an invocation: starts a new one with the same function, input and labels.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use segno_core::{graph, id::PromiseId, promise::Promise, tags, time::Timestamp};
use segno_engine::{target, values};
use segno_guest::Payload;

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    budgets,
    model::{RestartInvocation, StartInvocation, Started},
    new_invocation, problem_kind as kind,
    refusals::Refusals,
    start,
};

/// Label of a new invocation with the id of the invocation that it replaces.
pub const RESTART_OF: &str = "restart-of";
/// Maximum number of restarts with host-generated ids.
const NUMBERED: u32 = 1_000;

/// Starts a new invocation with the function, input, labels and time limit of this one, regardless
/// of this one's state. Its label `restart-of` names this one.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/restart", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    request_body = RestartInvocation,
    responses(
        (status = 200, body = Started, description = "An invocation with the new id exists"),
        (status = 201, body = Started, description = "Started"),
        Refusals,
    ),
)]
pub(crate) async fn restart(
    State(api): State<Api>,
    headers: HeaderMap,
    PathSegment(id): PathSegment,
    JsonBody(request, room): JsonBody<RestartInvocation>,
) -> Result<(StatusCode, Json<Started>), ApiError> {
    let id = api.stored_id(id).await?;
    let row = api.invocation(&id).await?;
    let new = match request.id {
        Some(new) => new,
        None => free(&api, &id).await?,
    };
    let start = again(&row.promise, new, request.module.as_deref())?;
    let bytes = match values::input(&row.promise.spec.param) {
        Payload::Bytes(bytes) => Some(bytes),
        Payload::Json(_) => None,
    };
    Box::pin(start::begin_with(api, headers, start, bytes, room)).await
}

/// Builds the request that starts `promise`'s function again.
fn again(
    promise: &Promise,
    new: String,
    module: Option<&str>,
) -> Result<StartInvocation, ApiError> {
    if graph::is_run(promise) {
        return Err(ApiError::refused(
            kind::IS_A_GRAPH_RUN,
            format!(
                "`{0}` is the run of a graph: `segno graph retry-failed {0}` starts one that takes over what it \
                 completed, `segno graph show {0} --format plan` prints its plan for `segno graph run`",
                promise.id()
            ),
        ));
    }
    let module = module.map_or_else(|| target::module_of(promise), ToOwned::to_owned);
    if module.is_empty() {
        return Err(ApiError::refused(
            kind::NO_MODULE,
            format!(
                "`{}` runs on no module: only what this host executes is started once more",
                promise.id()
            ),
        ));
    }
    let labels = promise.spec.tags.iter().filter_map(|(name, value)| {
        Some((name.strip_prefix(tags::LABEL_PREFIX)?.to_owned(), value.clone()))
    });
    let mut labels: BTreeMap<String, String> = labels.collect();
    labels.insert(RESTART_OF.to_owned(), promise.id().to_string());
    let spec = &promise.spec;
    let input = values::read_json(&values::input(&spec.param)).map_err(|reason| {
        ApiError::refused(kind::UNREADABLE_INPUT, format!(
                "the input of `{}` is not JSON, and cannot be passed on: {reason}; start the function with another one",
                promise.id()
            ))
    })?;
    let begun = tags::delay(&spec.tags).unwrap_or(spec.created_at).max(spec.created_at);
    let limit = (spec.timeout_at < Timestamp::NEVER)
        .then(|| u64::try_from(spec.timeout_at.0.saturating_sub(begun.0)).unwrap_or_default());
    let (retry, attempt_timeout_ms) = new_invocation::attempts_of(&spec.param);
    Ok(StartInvocation {
        target: format!("{module}/{}", target::function_of(promise)),
        input,
        id: Some(new),
        labels,
        timeout_ms: limit,
        retry,
        attempt_timeout_ms,
        budget: budgets::given(&spec.tags),
        ..StartInvocation::default()
    })
}

/// Returns the first unused id of `{id}-r1`, `{id}-r2`, ….
pub(super) async fn free(api: &Api, id: &PromiseId) -> Result<String, ApiError> {
    for number in 1..=NUMBERED {
        let new = PromiseId::new(format!("{id}-r{number}"));
        if api.host.store.read().promise(&new).await?.is_none() {
            return Ok(new.to_string());
        }
    }
    Err(ApiError::refused(
        kind::ID_TAKEN,
        format!("`{id}-r1` to `{id}-r{NUMBERED}` are taken: name the id of the new one"),
    ))
}
