//! Promises: looking at them, and settling those that are settled from outside.

use axum::{Json, extract::State};
use segno_core::{
    address,
    command::Command,
    id::PromiseId,
    promise::Verdict,
    reply::{Refusal, Reply},
    value::Value as Stored,
};

use crate::store::PromiseRow;

use super::{
    Api, ApiError,
    body::{Body, Segment},
    control::Nothing,
    model::{FailureView, PromiseView, RejectPromise, ResolvePromise},
    openapi::Refusals,
    state::{promise_id, refused, unexpected},
    values::{stored, stored_failure},
    view,
};

/// A promise.
#[utoipa::path(
    get, path = "/v1/promises/{id}", tag = "promises",
    params(("id" = String, Path, description = "The promise; a slash is written %2F")),
    responses((status = 200, body = PromiseView), Refusals),
)]
pub async fn describe(
    State(api): State<Api>,
    Segment(id): Segment,
) -> Result<Json<PromiseView>, ApiError> {
    let id = promise_id(id)?;
    let row = find(&api, &id).await?;
    shown(&api, &row, None).await
}

/// Settles a promise with a value. A promise settles once: later attempts answer the first outcome.
#[utoipa::path(
    post, path = "/v1/promises/{id}/resolve", tag = "promises",
    params(("id" = String, Path, description = "The promise; a slash is written %2F")),
    request_body = ResolvePromise,
    responses((status = 200, body = PromiseView), Refusals),
)]
pub async fn resolve(
    State(api): State<Api>,
    Segment(id): Segment,
    Body(body): Body<ResolvePromise>,
) -> Result<Json<PromiseView>, ApiError> {
    settle(&api, id, Verdict::Resolved, stored(&body.value)).await
}

/// Settles a promise with a failure, or with any JSON as the value of a rejection.
#[utoipa::path(
    post, path = "/v1/promises/{id}/reject", tag = "promises",
    params(("id" = String, Path, description = "The promise; a slash is written %2F")),
    request_body = RejectPromise,
    responses((status = 200, body = PromiseView), Refusals),
)]
pub async fn reject(
    State(api): State<Api>,
    Segment(id): Segment,
    Body(body): Body<RejectPromise>,
) -> Result<Json<PromiseView>, ApiError> {
    let value = match (body.failure, body.value) {
        (Some(failure), None) => stored_failure(&failure),
        (None, Some(value)) => stored(&value),
        (None, None) => stored_failure(&FailureView {
            code: 400,
            message: "rejected from outside".to_owned(),
            details: None,
        }),
        (Some(_), Some(_)) => {
            let reason = "is given beside `failure`; give one of them".to_owned();
            return Err(ApiError::BadField { field: "value", reason });
        }
    };
    settle(&api, id, Verdict::Rejected, value).await
}

/// Settles a promise as cancelled.
#[utoipa::path(
    post, path = "/v1/promises/{id}/cancel", tag = "promises",
    params(("id" = String, Path, description = "The promise; a slash is written %2F")),
    responses((status = 200, body = PromiseView), Refusals),
)]
pub async fn cancel(
    State(api): State<Api>,
    Segment(id): Segment,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<PromiseView>, ApiError> {
    settle(&api, id, Verdict::Canceled, Stored::default()).await
}

async fn settle(
    api: &Api,
    id: String,
    verdict: Verdict,
    value: Stored,
) -> Result<Json<PromiseView>, ApiError> {
    let id = promise_id(id)?;
    let row = find(api, &id).await?;
    if row.promise.is_pending() && row.promise.target().is_some_and(address::is_hosted) {
        return Err(ApiError::IsInvocation(id.to_string()));
    }
    let command = Command::PromiseSettle { id: id.clone(), verdict, value };
    match api.execute(command).await? {
        Reply::Promise { promise, changed } => {
            let row = PromiseRow { promise, task: row.task };
            shown(api, &row, Some(changed)).await
        }
        Reply::Refused(Refusal::NotFound(missing)) => {
            Err(ApiError::UnknownPromise(missing.to_string()))
        }
        Reply::Refused(refusal) => Err(refused(&id, refusal)),
        other => Err(unexpected(&other)),
    }
}

async fn find(api: &Api, id: &PromiseId) -> Result<PromiseRow, ApiError> {
    let found = api.host.store.promise(id).await?;
    found.ok_or_else(|| ApiError::UnknownPromise(id.to_string()))
}

async fn shown(
    api: &Api,
    row: &PromiseRow,
    changed: Option<bool>,
) -> Result<Json<PromiseView>, ApiError> {
    let waits = api.host.store.waits(row.promise.id()).await?;
    Ok(Json(view::promise(row, &waits.awaited_by, changed)))
}
