//! Creates, reads and lists promises, and settles external ones.

use axum::{Json, extract::State, http::StatusCode};
use segno_core::{
    address::{self, Address},
    command::Command,
    id::PromiseId,
    keyed_request::RequestParts,
    promise::{NewPromise, Verdict},
    reply::{Refusal, Reply},
    tags,
    time::Timestamp,
    value::{Tags, Value as Stored},
};
use segno_store::{Page, PromiseFilter, PromiseRow, PromiseStateFilter, Store, StoreError};

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment, UrlQuery},
    control::EmptyBody,
    model::{
        CreatePromise, FailureView, PromiseCreated, PromisePage, PromiseQuery, PromiseState,
        PromiseSummary, PromiseView, RejectPromise, ResolvePromise,
    },
    new_invocation::in_time,
    page,
    refusals::Refusals,
    state::{new_id, promise_id, refused, unexpected},
    values::{stored, stored_failure},
    view,
};

/// Creates a promise. The same id again with the same parameter and target returns the first
/// promise, unchanged; with others it is refused (409 `key-reused`).
#[utoipa::path(
    post, path = "/v1/promises", tag = "promises", request_body = CreatePromise,
    responses(
        (status = 200, body = PromiseCreated, description = "A promise with this id exists"),
        (status = 201, body = PromiseCreated, description = "Made"),
        Refusals,
    ),
)]
pub(crate) async fn create(
    State(api): State<Api>,
    JsonBody(request, _room): JsonBody<CreatePromise>,
) -> Result<(StatusCode, Json<PromiseCreated>), ApiError> {
    let id = new_id(request.id)?;
    check_tags(&request.tags)?;
    if let Some(target) = tags::target(&request.tags) {
        check_target(&api, target)?;
    }
    let now = api.host.env.clock.now();
    let timeout_at = match request.timeout_ms {
        None => Timestamp::NEVER,
        Some(length) => in_time(now, length)?,
    };
    if tags::is_timer(&request.tags) && timeout_at == Timestamp::NEVER {
        let reason =
            "name a `timer`, which needs a timeout (`timeout_ms`): without one it never resolves"
                .to_owned();
        return Err(ApiError::BadField { field: "tags", reason });
    }
    let param = request.param.as_ref().map(stored).unwrap_or_default();
    let asked = parts(&param, &request.tags);
    let new = NewPromise { id: id.clone(), param, tags: request.tags, timeout_at };
    match api.execute(Command::PromiseCreate(new)).await? {
        Reply::Promise { promise, changed } => {
            if !changed {
                asked.repeats(
                    &parts(&promise.spec.param, &promise.spec.tags),
                    "the id",
                    id.as_str(),
                )?;
            }
            let row = PromiseRow { promise, task: None };
            let Json(promise) = shown(&api, &row, None).await?;
            let status = if changed { StatusCode::CREATED } else { StatusCode::OK };
            Ok((status, Json(PromiseCreated { created: changed, promise })))
        }
        Reply::Refused(refusal) => Err(refused(&id, refusal)),
        other => Err(unexpected(&other)),
    }
}

/// Returns the request parts that a repeated creation must match.
fn parts(param: &Stored, tags: &Tags) -> RequestParts {
    let kind = if tags::is_timer(tags) { "timer" } else { "promise" };
    RequestParts::new()
        .text("target", tags::target(tags).unwrap_or_default())
        .data("param", &param.data)
        .text("kind", kind)
}

/// Checks that tags use the engine's names: the prefix `resonate:` belongs to the wire format of
/// the Resonate protocol.
fn check_tags(tags: &Tags) -> Result<(), ApiError> {
    let prefixed = tags.keys().find_map(|name| {
        let bare = name.strip_prefix("resonate:")?;
        tags::RESERVED.contains(&bare).then_some(bare)
    });
    match prefixed {
        Some(bare) => {
            let reason = format!("name `resonate:{bare}`, which is called `{bare}` here");
            Err(ApiError::BadField { field: "tags", reason })
        }
        None => Ok(()),
    }
}

fn check_target(api: &Api, target: &str) -> Result<(), ApiError> {
    let bad = |reason: String| Err(ApiError::BadField { field: "tags", reason });
    match Address::parse(target) {
        Err(error) => bad(format!("name a target that is no address: {error}")),
        Ok(_) if address::is_internal(target) => bad(format!(
            "name the target `{target}`, a function that hosts run: start it as an invocation (`segno start`, POST /v1/invocations)"
        )),
        Ok(_) => api
            .reach
            .allows_address(target)
            .or_else(|private| bad(format!("name a target that is not posted to: {private}"))),
    }
}

/// Lists promises by id, those of invocations and all others.
#[utoipa::path(
    get, path = "/v1/promises", tag = "promises", params(PromiseQuery),
    responses((status = 200, body = PromisePage), Refusals),
)]
pub(crate) async fn list(
    State(api): State<Api>,
    UrlQuery(query): UrlQuery<PromiseQuery>,
) -> Result<Json<PromisePage>, ApiError> {
    let is_external = query.external == Some(true);
    let with_signals = query.signals == Some(true);
    let partial = query.partial;
    let filter = filter(query)?;
    let store = api.look().await?.listing(partial);
    let page = match is_external {
        false => store.read().find(&filter).await,
        true => external_ones(&*store, filter, with_signals).await,
    };
    let page = page.map_err(|error| store.incomplete(error))?;
    let missing = store.left_out();
    drop(store);
    let line = |row: &PromiseRow| {
        let promise = &row.promise;
        PromiseSummary {
            id: promise.id().to_string(),
            state: view::promise_state(promise),
            tags: promise.spec.tags.clone(),
            made_by: promise.spec.made_by.as_ref().map(ToString::to_string),
            created_at_ms: promise.spec.created_at.0,
            timeout_at_ms: view::deadline(promise.spec.timeout_at),
            settled_at_ms: promise.settlement().map(|settlement| settlement.settled_at.0),
        }
    };
    let next = page.next.map(|id| id.to_string());
    let items = page.items.iter().map(line).collect();
    let unreadable = view::unreadable("promise", page.unreadable);
    Ok(Json(PromisePage { items, unreadable, missing, next }))
}

/// Reads a page of promises that match the filter and are settled from outside, optionally with
/// signals. Most pending promises are calls, so it reads more rows than the page has.
async fn external_ones(
    store: &dyn Store,
    mut filter: PromiseFilter,
    with_signals: bool,
) -> Result<Page<PromiseRow, PromiseId>, StoreError> {
    let limit = filter.limit as usize;
    filter.limit = page::LISTING.largest;
    let mut found = store.read().find(&filter).await?;
    found.items.retain(|row| is_external(row) || (with_signals && is_signal(row)));
    if found.items.len() > limit {
        found.items.truncate(limit);
        found.next = found.items.last().map(|row| row.promise.id().clone());
    }
    Ok(found)
}

fn is_external(row: &PromiseRow) -> bool {
    let promise = &row.promise;
    row.task.is_none() && promise.target().is_none() && !promise.is_timer() && !is_signal(row)
}

fn is_signal(row: &PromiseRow) -> bool {
    let made_by = row.promise.spec.made_by.as_ref();
    made_by.is_some_and(|owner| view::is_signal(owner, row.promise.id()))
}

fn filter(query: PromiseQuery) -> Result<PromiseFilter, ApiError> {
    let bad = |field, reason: String| ApiError::BadField { field, reason };
    let state = |name: &str| {
        let known = PromiseState::ALL.map(PromiseState::as_str).join(", ");
        PromiseState::parse(name)
            .ok_or_else(|| bad("state", format!("is not a state: `{name}`; there are {known}")))
    };
    let standing = query.state.as_deref().map(state).transpose()?.map(|state| match state {
        PromiseState::Pending => PromiseStateFilter::Pending,
        PromiseState::Resolved => PromiseStateFilter::Settled(Verdict::Resolved),
        PromiseState::Rejected => PromiseStateFilter::Settled(Verdict::Rejected),
        PromiseState::Cancelled => PromiseStateFilter::Settled(Verdict::Canceled),
        PromiseState::TimedOut => PromiseStateFilter::Settled(Verdict::TimedOut),
    });
    let tags = match &query.tags {
        None => Tags::new(),
        Some(tags) => serde_json::from_str(tags)
            .map_err(|error| bad("tags", format!("is no JSON object of texts: {error}")))?,
    };
    check_tags(&tags)?;
    let limit = page::LISTING.of(query.limit)?;
    let after = query.after.map(PromiseId::new);
    Ok(PromiseFilter {
        standing,
        tags,
        prefix: query.prefix,
        after,
        limit,
        ..PromiseFilter::default()
    })
}

/// Reads a promise.
#[utoipa::path(
    get, path = "/v1/promises/{id}", tag = "promises",
    params(("id" = String, Path, description = "The promise; a slash is written %2F")),
    responses((status = 200, body = PromiseView), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<PromiseView>, ApiError> {
    let id = promise_id(id)?;
    let _place = api.look().await?;
    let row = find(&api, &id).await?;
    shown(&api, &row, None).await
}

/// Resolves a promise with a value. A promise settles once: later attempts return the first
/// outcome. A named promise of a workflow (`ID/p/NAME`) may be settled before the workflow creates
/// it.
#[utoipa::path(
    post, path = "/v1/promises/{id}/resolve", tag = "promises",
    params(("id" = String, Path, description = "The promise; a slash is written %2F")),
    request_body = ResolvePromise,
    responses((status = 200, body = PromiseView), Refusals),
)]
pub(crate) async fn resolve(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(body, _room): JsonBody<ResolvePromise>,
) -> Result<Json<PromiseView>, ApiError> {
    let id = promise_id(id)?;
    let row = api.host.store.read().promise(&id).await?;
    if row.is_none_or(|row| row.promise.is_pending()) {
        api.check_value(&id, &body.value).await?;
    }
    settle(&api, id, Verdict::Resolved, stored(&body.value)).await
}

/// Rejects a promise with a failure, or with any JSON value.
#[utoipa::path(
    post, path = "/v1/promises/{id}/reject", tag = "promises",
    params(("id" = String, Path, description = "The promise; a slash is written %2F")),
    request_body = RejectPromise,
    responses((status = 200, body = PromiseView), Refusals),
)]
pub(crate) async fn reject(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(body, _room): JsonBody<RejectPromise>,
) -> Result<Json<PromiseView>, ApiError> {
    let value = rejection(body)?;
    settle(&api, promise_id(id)?, Verdict::Rejected, value).await
}

/// Returns the stored value of a rejection.
pub(super) fn rejection(body: RejectPromise) -> Result<Stored, ApiError> {
    match (body.failure, body.value) {
        (Some(failure), None) => Ok(stored_failure(&failure)),
        (None, Some(value)) => Ok(stored(&value)),
        (None, None) => Ok(stored_failure(&FailureView {
            code: 400,
            message: "rejected from outside".to_owned(),
            details: None,
        })),
        (Some(_), Some(_)) => {
            let reason = "cannot be combined with `failure`: leave one of them out".to_owned();
            Err(ApiError::BadField { field: "value", reason })
        }
    }
}

/// Settles a promise as cancelled.
#[utoipa::path(
    post, path = "/v1/promises/{id}/cancel", tag = "promises",
    params(("id" = String, Path, description = "The promise; a slash is written %2F")),
    responses((status = 200, body = PromiseView), Refusals),
)]
pub(crate) async fn cancel(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(EmptyBody {}, _room): JsonBody<EmptyBody>,
) -> Result<Json<PromiseView>, ApiError> {
    settle(&api, promise_id(id)?, Verdict::Canceled, Stored::default()).await
}

async fn settle(
    api: &Api,
    id: PromiseId,
    verdict: Verdict,
    value: Stored,
) -> Result<Json<PromiseView>, ApiError> {
    let row = api.host.store.read().promise(&id).await?;
    let is_invocation = row.as_ref().is_some_and(|row| {
        row.promise.is_pending() && row.promise.target().is_some_and(address::is_internal)
    });
    if is_invocation {
        return Err(ApiError::IsInvocation(id.to_string()));
    }
    let command = Command::PromiseSettle { id: id.clone(), verdict, value };
    match api.execute(command).await? {
        Reply::Promise { promise, changed } => {
            let row = PromiseRow { promise, task: row.and_then(|row| row.task) };
            shown(api, &row, Some(changed)).await
        }
        Reply::Refused(Refusal::NotFound(missing)) => {
            Err(ApiError::UnknownPromise(missing.to_string()))
        }
        Reply::Refused(refusal) => Err(refused(&id, refusal)),
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn find(api: &Api, id: &PromiseId) -> Result<PromiseRow, ApiError> {
    let found = api.host.store.read().promise(id).await?;
    found.ok_or_else(|| ApiError::UnknownPromise(id.to_string()))
}

async fn shown(
    api: &Api,
    row: &PromiseRow,
    changed: Option<bool>,
) -> Result<Json<PromiseView>, ApiError> {
    let waits = api.host.store.read().waits(row.promise.id()).await?;
    let kept_for = api.kept_for(&row.promise).await?;
    Ok(Json(PromiseView { kept_for, ..view::promise(row, &waits.awaited_by, changed) }))
}
