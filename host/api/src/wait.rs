//! Waiting for the end of an invocation.

use std::sync::Arc;

use axum::{Json, extract::State};
use segno_core::{id::PromiseId, promise::TaskStatus, time::Millis};
use segno_engine::notifier::SettlementNotice;
use segno_store::PromiseRow;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

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
pub(crate) async fn wait(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    UrlQuery(query): UrlQuery<WaitQuery>,
) -> Result<Json<InvocationOutcome>, ApiError> {
    let id = api.stored_id(id).await?;
    let row = unhalted(&api, &id, query.timeout_ms.unwrap_or(DEFAULT_WAIT_MS)).await?;
    outcome(&row).map(Json)
}

/// Returns the state of the invocation.
pub(crate) fn outcome(row: &PromiseRow) -> Result<InvocationOutcome, ApiError> {
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
pub(crate) async fn watched<R>(
    api: &Api,
    id: &PromiseId,
    limit_ms: u64,
    is_over: impl Fn(&PromiseRow) -> bool,
    read: impl Fn() -> R,
) -> Result<PromiseRow, ApiError>
where
    R: Future<Output = Result<PromiseRow, ApiError>>,
{
    // Watch before reading: a later settlement wakes the request, an earlier one is read.
    let watch = PromiseWatch::new(api, id);
    let row = read().await?;
    match is_over(&row) {
        true => Ok(row),
        false => watch.end(limit_ms, read).await,
    }
}

/// A request that waits for the settlement of one promise, registered with the notifier until
/// dropped.
pub(super) struct PromiseWatch<'a> {
    api: &'a Api,
    id: PromiseId,
    settled: UnboundedReceiver<SettlementNotice>,
}

impl<'a> PromiseWatch<'a> {
    /// Watches the promise from now on.
    pub(super) fn new(api: &'a Api, id: &PromiseId) -> Self {
        let (sender, settled) = unbounded_channel();
        api.host.notifier.watch(id.clone(), sender);
        Self { api, id: id.clone(), settled }
    }

    /// Returns the row when the promise has settled, or after `limit_ms`. Calls `read` unless the
    /// notice of the settlement has the row.
    pub(super) async fn end<R>(
        mut self,
        limit_ms: u64,
        read: impl Fn() -> R,
    ) -> Result<PromiseRow, ApiError>
    where
        R: Future<Output = Result<PromiseRow, ApiError>>,
    {
        let limit = Millis(i64::try_from(limit_ms.min(LONGEST_WAIT_MS)).unwrap_or(i64::MAX));
        let notice = tokio::select! {
            biased;
            notice = self.settled.recv() => notice,
            () = self.api.stopping.cancelled() => None,
            () = self.api.host.env.runtime.sleep(limit) => None,
        };
        match notice.and_then(|notice| notice.row) {
            Some(row) => Ok(Arc::unwrap_or_clone(row)),
            None => read().await,
        }
    }
}

impl Drop for PromiseWatch<'_> {
    fn drop(&mut self) {
        self.settled.close();
        self.api.host.notifier.unwatch(&self.id);
    }
}
