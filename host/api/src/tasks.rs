//! Reads tasks and their holders. Operations on tasks are operations on their invocations, in
//! `control`.

use axum::{Json, extract::State};
use segno_core::promise::{HaltReason, Promise, Task, TaskState as Stored};
use segno_store::InvocationFilter;

use super::{
    Api, ApiError,
    body::{PathSegment, UrlQuery},
    model::{TaskPage, TaskQuery, TaskState, TaskView},
    page,
    refusals::Refusals,
    state::promise_id,
    view,
};

/// Lists tasks of module functions and of external workers, newest first.
#[utoipa::path(
    get, path = "/v1/tasks", tag = "tasks", params(TaskQuery),
    responses((status = 200, body = TaskPage), Refusals),
)]
pub(crate) async fn list(
    State(api): State<Api>,
    UrlQuery(query): UrlQuery<TaskQuery>,
) -> Result<Json<TaskPage>, ApiError> {
    let known = TaskState::LISTED.map(TaskState::as_str);
    if let Some(state) = query.state.as_deref().filter(|state| !known.contains(state)) {
        let known = known.join(", ");
        let reason = format!("is not a state: `{state}`; there are {known}");
        return Err(ApiError::BadField { field: "state", reason });
    }
    let limit = page::LISTING.of(query.limit)?;
    let filter = InvocationFilter {
        state: query.state,
        holder: query.holder,
        prefix: query.prefix,
        after: query.after.as_deref().map(page::cursor).transpose()?,
        limit,
        ..InvocationFilter::default()
    };
    let store = api.look().await?.listing(query.partial);
    let page = store.read().list(&filter).await.map_err(|error| store.incomplete(error))?;
    Ok(Json(TaskPage {
        items: page.items.iter().map(|row| shown(&row.promise, &row.task)).collect(),
        unreadable: view::unreadable("promise", page.unreadable),
        missing: store.left_out(),
        next: page.next.map(|cursor| cursor.to_string()),
    }))
}

/// Reads a task.
#[utoipa::path(
    get, path = "/v1/tasks/{id}", tag = "tasks",
    params(("id" = String, Path, description = "The task, by the id of its promise; a slash is written %2F")),
    responses((status = 200, body = TaskView), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<TaskView>, ApiError> {
    let id = promise_id(id)?;
    let row = api.look().await?.read().promise(&id).await?;
    let row = row.ok_or_else(|| ApiError::UnknownTask(id.to_string()))?;
    let task = row.task.as_ref().ok_or_else(|| ApiError::NoTask(id.to_string()))?;
    Ok(Json(shown(&row.promise, task)))
}

fn shown(promise: &Promise, task: &Task) -> TaskView {
    let lease = task.lease();
    let (retry_at, offered) = match task.state {
        Stored::Pending { retry_at, offered, .. } => (Some(retry_at.0), Some(offered)),
        _ => (None, None),
    };
    TaskView {
        id: task.id.to_string(),
        target: promise.target().unwrap_or_default().to_owned(),
        function: view::function(promise),
        state: match task.state {
            Stored::Pending { .. } => TaskState::Pending,
            Stored::Acquired { .. } => TaskState::Acquired,
            Stored::Suspended => TaskState::Suspended,
            Stored::Halted { .. } => TaskState::Halted,
            Stored::Fulfilled => TaskState::Fulfilled,
        },
        version: task.version.0,
        attempt: task.attempt,
        losses: task.losses,
        holder: lease.map(|lease| view::holder(&lease.holder)),
        until_at_ms: lease.map(|lease| lease.until.0),
        ttl_ms: lease.map(|lease| lease.ttl.0),
        heard_at_ms: lease.and(task.last_heartbeat).map(|at| at.0),
        progress: view::progress(promise, task),
        retry_at_ms: retry_at,
        offered,
        halted: match task.state {
            Stored::Halted { reason } => Some(halted(reason).to_owned()),
            _ => None,
        },
        note: task.note.as_ref().filter(|_| promise.is_pending()).map(view::note),
        created_at_ms: promise.spec.created_at.0,
        timeout_at_ms: view::deadline(promise.spec.timeout_at),
    }
}

fn halted(reason: HaltReason) -> &'static str {
    match reason {
        HaltReason::Requested => "requested",
        HaltReason::Reported => "reported",
        HaltReason::Exhausted => "exhausted",
        HaltReason::Lost => "lost",
        HaltReason::Trapped => "trapped",
        HaltReason::Damaged => "damaged",
    }
}
