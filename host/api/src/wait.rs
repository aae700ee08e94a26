//! Waiting for the end of an invocation.

use axum::{Json, extract::State};
use segno_core::{id::PromiseId, promise::TaskStatus, time::Millis};
use segno_store::PromiseRow;

use super::{
    Api, ApiError,
    body::{PathSegment, UrlQuery},
    model::{InvocationOutcome, WaitQuery},
    refusals::Refusals,
    view,
};

/// Default wait, in milliseconds.
pub(super) const DEFAULT_WAIT_MS: u64 = 30_000;
/// Maximum wait, in milliseconds.
const LONGEST_WAIT_MS: u64 = 300_000;

/// Waits for the end of the invocation. Answers with its current state when the time is over, and
/// at once if it is halted.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/wait", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F"), WaitQuery),
    responses((status = 200, body = InvocationOutcome), Refusals),
)]
pub async fn wait(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    UrlQuery(query): UrlQuery<WaitQuery>,
) -> Result<Json<InvocationOutcome>, ApiError> {
    let id = api.stored_id(id).await?;
    let row = unhalted(&api, &id, query.timeout_ms.unwrap_or(DEFAULT_WAIT_MS)).await?;
    outcome(&row).map(Json)
}

/// Returns the state of the invocation.
pub fn outcome(row: &PromiseRow) -> Result<InvocationOutcome, ApiError> {
    match &row.task {
        Some(task) => Ok(view::outcome(&row.promise, task)),
        None => Err(ApiError::UnknownInvocation(row.promise.id().to_string())),
    }
}

/// Returns the invocation when it has ended, or in its current state after `limit_ms`.
pub async fn settled(api: &Api, id: &PromiseId, limit_ms: u64) -> Result<PromiseRow, ApiError> {
    if limit_ms == 0 {
        return api.invocation(id).await;
    }
    watched(api, id, limit_ms, is_settled, || api.invocation(id)).await
}

/// Like [`settled`], without a wait for an invocation that is halted: it needs a person.
pub(super) async fn unhalted(
    api: &Api,
    id: &PromiseId,
    limit_ms: u64,
) -> Result<PromiseRow, ApiError> {
    if limit_ms == 0 {
        return api.invocation(id).await;
    }
    let is_halted = |row: &PromiseRow| {
        row.task.as_ref().is_some_and(|task| task.status() == TaskStatus::Halted)
    };
    let is_over = |row: &PromiseRow| is_settled(row) || is_halted(row);
    watched(api, id, limit_ms, is_over, || api.invocation(id)).await
}

pub(super) fn is_settled(row: &PromiseRow) -> bool {
    !row.promise.is_pending()
}

/// Returns the result of `read` when the promise has settled, or after `limit_ms`. A row that
/// `is_over` at the beginning is returned at once.
pub async fn watched<R>(
    api: &Api,
    id: &PromiseId,
    limit_ms: u64,
    is_over: impl Fn(&PromiseRow) -> bool,
    read: impl Fn() -> R,
) -> Result<PromiseRow, ApiError>
where
    R: Future<Output = Result<PromiseRow, ApiError>>,
{
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    // Watch before reading: a later settlement wakes the request, an earlier one is read.
    api.host.notifier.watch(id.clone(), sender);
    let row = read().await;
    let waits = row.as_ref().is_ok_and(|row| !is_over(row));
    if waits {
        let limit = Millis(i64::try_from(limit_ms.min(LONGEST_WAIT_MS)).unwrap_or(i64::MAX));
        tokio::select! {
            biased;
            _ = receiver.recv() => {}
            () = api.stopping.cancelled() => {}
            () = api.host.env.runtime.sleep(limit) => {}
        }
    }
    drop(receiver);
    api.host.notifier.unwatch(id);
    if waits { read().await } else { row }
}
