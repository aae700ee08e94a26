//! The tree of calls below a promise, through modules and external workers.
//!
//! A page is read level by level: the known nodes that fall within the page are expanded together.
//! So a page takes a few statements for each level, and reads about as many rows as the page has,
//! regardless of the width and size of the tree.

mod walk;

use axum::{Json, extract::State};
use segno_core::{
    id::PromiseId,
    promise::{Promise, Task, Verdict},
    tags,
};
use segno_store::{PromiseRow, Store};

use super::{
    Api, ApiError,
    body::{PathSegment, UrlQuery},
    fork,
    model::{InvocationState, NodeKind, PromiseState, TreeNode, TreePage, TreeQuery},
    page::PageSize,
    refusals::Refusals,
    view,
};
use walk::{PageNode, TreePosition, TreeWalk, WalkBounds};

/// Default and maximum number of levels below the first node.
const DEPTH: u32 = 8;
const DEEPEST: u32 = 64;
/// Number of nodes on a page.
const PAGE: PageSize = PageSize { usual: 500, largest: 1000 };
/// Maximum number of listed ancestors.
const PATH: usize = 64;
/// Maximum length of an error in the tree, in characters.
const ERROR: usize = 300;

/// Reads the tree of calls below a promise, through modules and external workers. Each node comes
/// before its children.
#[utoipa::path(
    get, path = "/v1/promises/{id}/tree", tag = "promises",
    params(("id" = String, Path, description = "The promise or invocation; a slash is written %2F"), TreeQuery),
    responses((status = 200, body = TreePage), Refusals),
)]
pub(crate) async fn tree(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    UrlQuery(query): UrlQuery<TreeQuery>,
) -> Result<Json<TreePage>, ApiError> {
    let id = api.stored_id(id).await?;
    let bounds = bounds(&query)?;
    let store = api.look().await?;
    let base = store.read().promise(&id).await?;
    let base = base.ok_or_else(|| ApiError::UnknownPromise(id.to_string()))?;
    let path = ancestors(&*store, &base.promise, None).await?;
    let walk = match &query.after {
        None => TreeWalk::begin(bounds, base, &*store).await?,
        Some(cursor) => resumed(&*store, bounds, &id, cursor).await?,
    };
    let (seen, next) = walk.page(&*store).await?;
    drop(store);
    Ok(Json(TreePage {
        path: path.iter().rev().map(ToString::to_string).collect(),
        nodes: seen.iter().map(node).collect(),
        next: next.map(|place| place.to_string()),
        id: id.to_string(),
    }))
}

fn bounds(query: &TreeQuery) -> Result<WalkBounds, ApiError> {
    let bad = |field, reason: String| Err(ApiError::BadField { field, reason });
    let depth = query.depth.unwrap_or(DEPTH);
    if depth > DEEPEST {
        return bad("depth", format!("is not between 0 and {DEEPEST}"));
    }
    if query.width == Some(0) {
        return bad("width", "is 0: leave it out for all children".to_owned());
    }
    let limit = PAGE.of(query.limit)? as usize;
    Ok(WalkBounds { depth, width: query.width.unwrap_or(u32::MAX), limit })
}

/// Returns the ancestors of a promise, up to `until`: its parent, the parent's parent, and so on.
/// Stops at a cycle.
async fn ancestors(
    store: &dyn Store,
    of: &Promise,
    until: Option<&PromiseId>,
) -> Result<Vec<PromiseId>, ApiError> {
    let mut path: Vec<PromiseId> = Vec::new();
    let mut next = parent(of);
    while let Some(id) = next.take() {
        if path.len() == PATH || path.contains(&id) || id == *of.id() {
            break;
        }
        let Some(row) = store.read().promise(&id).await? else { break };
        let found = until == Some(&id);
        path.push(id);
        if found {
            break;
        }
        next = parent(&row.promise);
    }
    Ok(path)
}

/// Returns the parent of a promise.
fn parent(promise: &Promise) -> Option<PromiseId> {
    let spec = &promise.spec;
    let named = || spec.tags.get(tags::PARENT).map(|id| PromiseId::from(id.as_str()));
    spec.made_by.clone().or_else(named).filter(|id| *id != spec.id)
}

/// Continues after the node that ended a page.
async fn resumed(
    store: &dyn Store,
    bounds: WalkBounds,
    base: &PromiseId,
    cursor: &str,
) -> Result<TreeWalk, ApiError> {
    let bad = |reason: &str| ApiError::BadField { field: "after", reason: reason.to_owned() };
    let place: TreePosition =
        cursor.parse().map_err(|()| bad("is no cursor from an earlier page"))?;
    let last = store.read().promise(&place.id).await?;
    let last =
        last.ok_or_else(|| bad("names a promise that was removed; begin again without it"))?;
    let mut path = match place.id == *base {
        true => Vec::new(),
        false => ancestors(store, &last.promise, Some(base)).await?,
    };
    path.insert(0, place.id.clone());
    path.reverse();
    if path.first() != Some(base) || path.len() != place.shown.len() + 1 {
        return Err(bad("is no cursor of this tree"));
    }
    Ok(TreeWalk::resume(bounds, &path, &place.shown, store).await?)
}

fn node(seen: &PageNode) -> TreeNode {
    let (promise, task) = (&seen.row.promise, seen.row.task.as_ref());
    let spec = &promise.spec;
    let state = state(promise, task);
    let settled = promise.settlement();
    TreeNode {
        id: spec.id.to_string(),
        depth: seen.depth,
        parent: seen.parent.as_ref().map(ToString::to_string),
        kind: kind(&seen.row),
        target: promise.target().map(str::to_owned),
        function: view::function(promise),
        state,
        attempt: task.map_or(0, |task| task.attempt),
        holder: task.and_then(Task::lease).map(|lease| view::holder(&lease.holder)),
        until_at_ms: task.and_then(Task::lease).map(|lease| lease.until.0),
        retry_at_ms: task.and_then(view::retry_at),
        waits: seen.waits.iter().map(ToString::to_string).collect(),
        waits_more: seen.waits_more,
        error: error(promise, task),
        attempt_error: task.and_then(|task| attempt_error(promise, task)),
        forked_from: fork::origin(&spec.tags),
        detached: tags::is_detached(&spec.tags),
        unread: task.map_or(0, |task| view::unread_count(promise, task)),
        children: seen.children,
        left_out: seen.left_out,
        after_gap: seen.after_gap,
        created_at_ms: spec.created_at.0,
        settled_at_ms: settled.map(|settled| settled.settled_at.0),
        timeout_at_ms: view::deadline(spec.timeout_at),
    }
}

fn state(promise: &Promise, task: Option<&Task>) -> InvocationState {
    if let Some(task) = task {
        return view::state(promise, task);
    }
    match view::promise_state(promise) {
        PromiseState::Pending => InvocationState::Pending,
        PromiseState::Resolved => InvocationState::Resolved,
        PromiseState::Rejected => InvocationState::Rejected,
        PromiseState::Cancelled => InvocationState::Cancelled,
        PromiseState::TimedOut => InvocationState::TimedOut,
    }
}

fn kind(row: &PromiseRow) -> NodeKind {
    let promise = &row.promise;
    let tags = &promise.spec.tags;
    match promise.target() {
        _ if promise.is_timer() => NodeKind::Timer,
        Some(_) => NodeKind::Call,
        None if promise.spec.param.headers.contains_key(tags::SIGNAL_HEADER) => NodeKind::Signal,
        // A step that a client of the Resonate protocol marks as local is settled by the worker.
        None if tags.get("resonate:scope").is_some_and(|scope| scope == "local") => NodeKind::Step,
        None => match promise.spec.made_by.as_ref() {
            Some(maker) if view::is_signal(maker, promise.id()) => NodeKind::Signal,
            _ => NodeKind::Promise,
        },
    }
}

fn error(promise: &Promise, task: Option<&Task>) -> Option<String> {
    let text = match view::failure(promise) {
        Some(failure) => format!("{}: {}", failure.code, failure.message),
        None => {
            let note = task.and_then(|task| task.note.as_ref());
            let note = note.filter(|_| promise.is_pending())?;
            format!("{}: {}", note.kind, note.message)
        }
    };
    Some(one_line(&text))
}

/// Returns the error of the last failed attempt, unless the outcome contains it.
fn attempt_error(promise: &Promise, task: &Task) -> Option<String> {
    let is_hidden = promise.settlement()?.verdict != Verdict::Rejected && task.attempt > 0;
    let note = task.note.as_ref().filter(|_| is_hidden && task.journal_removed().is_none())?;
    Some(one_line(&format!("{}: {}", note.kind, note.message)))
}

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(ERROR).collect()
}
