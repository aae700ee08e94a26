//! Removes an ended invocation, or its journal, before its retention period is over.

use std::collections::BTreeSet;

use axum::{Json, extract::State};
use segno_core::{
    command::Command,
    id::PromiseId,
    reply::{PruneResult, Reply, RetentionReason},
    time::Millis,
};
use segno_engine::recovery::{blobs::owners_removed, retention::remove_large};

use super::{
    Api, ApiError,
    body::{PathSegment, UrlQuery},
    control::act,
    model::{InvocationOutcome, RemoveQuery, Removed},
    problem_kind as kind,
    refusals::Refusals,
    state::{promise_id, unexpected},
    wait::outcome,
};

/// Default time for cancelled executions to clean up, in milliseconds.
const GRACE_MS: u64 = 10_000;
/// Maximum time for cancelled executions to clean up, in milliseconds.
const LONGEST_GRACE_MS: u64 = 300_000;
/// Maximum wait until killed executions no longer run.
const LAST_WAIT: Millis = Millis(20_000);
/// Polling interval for a tree that has not ended.
const LOOK: Millis = Millis(20);

/// Removes an ended invocation, with its journal, its log and all its descendants. The id is then
/// free again. With `cancel`, first cancels executions that have not ended, and kills them after
/// `grace_ms` milliseconds.
#[utoipa::path(
    delete, path = "/v1/invocations/{id}", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F"), RemoveQuery),
    responses((status = 200, body = Removed), Refusals),
)]
pub(crate) async fn remove(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    UrlQuery(query): UrlQuery<RemoveQuery>,
) -> Result<Json<Removed>, ApiError> {
    let id = promise_id(id)?;
    api.invocation(&id).await?;
    let removed = match (query.cancel.unwrap_or(false), query.grace_ms) {
        (false, None) => prune(&api, &id).await?,
        (false, Some(_)) => {
            let reason = "says nothing without `cancel`".to_owned();
            return Err(ApiError::BadField { field: "grace_ms", reason });
        }
        (true, Some(grace)) if grace > LONGEST_GRACE_MS => {
            let reason = format!("is at most {LONGEST_GRACE_MS}");
            return Err(ApiError::BadField { field: "grace_ms", reason });
        }
        (true, grace) => cancel_and_prune(&api, &id, grace.unwrap_or(GRACE_MS)).await?,
    };
    if removed.is_ok() {
        owners_removed(&api.host, vec![(id.clone(), api.host.env.clock.now())]).await;
    }
    match removed {
        Ok(promises) => Ok(Json(Removed { id: id.to_string(), promises })),
        Err(kept) => Err(ApiError::refused(
            kind::NOT_REMOVABLE,
            format!("`{id}` was not removed: {kept}; {}", advice(&kept)),
        )),
    }
}

/// Removes a tree, unless something requires it to be kept.
async fn prune(api: &Api, id: &PromiseId) -> Result<Result<u32, RetentionReason>, ApiError> {
    let before = api.host.env.clock.now();
    let command = Command::Prune { top: id.clone(), before, part: false, state: false };
    match act(api, id, command).await? {
        Reply::Pruned(PruneResult::Gone { promises }) => Ok(Ok(promises)),
        Reply::Pruned(PruneResult::Kept(kept)) => Ok(Err(kept)),
        other => Err(unexpected(&other)),
    }
}

/// Cancels the unfinished executions of a tree, kills them when the time is over, and removes the
/// tree as soon as possible. A client that gives up waiting may repeat the request, which then
/// continues.
async fn cancel_and_prune(
    api: &Api,
    id: &PromiseId,
    grace_ms: u64,
) -> Result<Result<u32, RetentionReason>, ApiError> {
    let now = || api.host.env.clock.now();
    let kill_at = now() + Millis(i64::try_from(grace_ms).unwrap_or(i64::MAX));
    let mut asked = BTreeSet::new();
    let mut is_killed = false;
    act(api, id, Command::Cancel { invocation: id.clone() }).await?;
    loop {
        if !is_killed && now() >= kill_at {
            act(api, id, Command::Kill { invocation: id.clone() }).await?;
            is_killed = true;
        }
        let removed = match prune(api, id).await? {
            Err(RetentionReason::Large) => {
                let removed = remove_large(&api.host, id, now(), false).await?;
                removed.map(|promises| u32::try_from(promises).unwrap_or(u32::MAX))
            }
            removed => removed,
        };
        let kept = match removed {
            Ok(promises) => return Ok(Ok(promises)),
            Err(kept) => kept,
        };
        let waits = match &kept {
            RetentionReason::Pending { id: member } => {
                // An execution that outlives its parent has to be ended separately.
                let is_new = asked.insert((member.clone(), is_killed));
                let invocation = member.clone();
                let command = match is_killed {
                    true => Command::Kill { invocation },
                    false => Command::Cancel { invocation },
                };
                if is_new {
                    act(api, id, command).await?;
                }
                !is_new
            }
            RetentionReason::Owes { .. }
            | RetentionReason::Awaited { .. }
            | RetentionReason::Recent { .. }
            | RetentionReason::Large => true,
            RetentionReason::Absent
            | RetentionReason::Part { .. }
            | RetentionReason::OfObject { .. }
            | RetentionReason::Unreadable { .. } => {
                return Ok(Err(kept));
            }
        };
        if now() >= kill_at + LAST_WAIT || api.stopping.is_cancelled() {
            return Ok(Err(kept));
        }
        if waits {
            api.host.env.runtime.sleep(LOOK).await;
        }
    }
}

/// Removes the journal and the log of an ended invocation. Its outcome stays, and a start with its
/// id returns that outcome.
#[utoipa::path(
    delete, path = "/v1/invocations/{id}/journal", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = InvocationOutcome), Refusals),
)]
pub(crate) async fn remove_journal(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<InvocationOutcome>, ApiError> {
    let id = promise_id(id)?;
    let row = api.invocation(&id).await?;
    if row.promise.is_pending() {
        return Err(ApiError::refused(
            kind::NOT_ENDED,
            format!(
                "`{id}` has not ended and needs its journal: wait for its end, or cancel or kill it first"
            ),
        ));
    }
    act(&api, &id, Command::JournalRemove { id: id.clone() }).await?;
    outcome(&api.invocation(&id).await?).map(Json)
}

/// Returns advice for an invocation that cannot be removed.
pub fn advice(kept: &RetentionReason) -> String {
    match kept {
        RetentionReason::Unreadable { .. } => "`segno doctor` names what is damaged".to_owned(),
        RetentionReason::Absent => "there is nothing to do".to_owned(),
        RetentionReason::Part { maker } => format!("it goes with `{maker}`: remove that"),
        RetentionReason::OfObject { object } => {
            format!("clear the object: `segno object clear {object} --all`")
        }
        RetentionReason::Pending { id } => {
            format!("cancel or kill `{id}` first, or remove it with `--cancel` (`?cancel=true`)")
        }
        RetentionReason::Recent { .. } => "try again".to_owned(),
        RetentionReason::Owes { .. } => "try again when it is delivered".to_owned(),
        RetentionReason::Awaited { by, .. } => format!("wait for `{by}` to end, or end it"),
        RetentionReason::Large => {
            "retention removes it piece by piece: see `segno serve --help`, `--keep`".to_owned()
        }
    }
}
