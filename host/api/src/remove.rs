//! Removing an invocation that has ended, or its journal, before retention does.

use axum::{Json, extract::State, http::StatusCode};
use segno_core::{
    command::Command,
    reply::{Kept, Pruned, Reply},
};

use super::{
    Api, ApiError,
    body::Segment,
    control::act,
    model::{InvocationOutcome, Removed},
    openapi::Refusals,
    state::{promise_id, unexpected},
    wait::outcome,
};

/// Removes an invocation that has ended, with its journal, its log and everything that it made. Its
/// id can be used again then.
#[utoipa::path(
    delete, path = "/v1/invocations/{id}", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = Removed), Refusals),
)]
pub async fn remove(
    State(api): State<Api>,
    Segment(id): Segment,
) -> Result<Json<Removed>, ApiError> {
    let id = promise_id(id)?;
    api.invocation(&id).await?;
    let before = api.host.env.clock.now();
    let command = Command::Prune { top: id.clone(), before, part: false, state: false };
    match act(&api, &id, command).await? {
        Reply::Pruned(Pruned::Gone { promises }) => {
            Ok(Json(Removed { id: id.to_string(), promises }))
        }
        Reply::Pruned(Pruned::Kept(kept)) => Err(ApiError::Refused {
            status: StatusCode::CONFLICT,
            code: "not-removable",
            reason: format!("`{id}` stays: {kept}; {}", advice(&kept)),
        }),
        other => Err(unexpected(&other)),
    }
}

/// Removes the journal and the log of an invocation that has ended. Its outcome stays, and a start under its id is
/// answered with that.
#[utoipa::path(
    delete, path = "/v1/invocations/{id}/journal", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = InvocationOutcome), Refusals),
)]
pub async fn remove_journal(
    State(api): State<Api>,
    Segment(id): Segment,
) -> Result<Json<InvocationOutcome>, ApiError> {
    let id = promise_id(id)?;
    let row = api.invocation(&id).await?;
    if row.promise.is_pending() {
        return Err(ApiError::Refused {
            status: StatusCode::CONFLICT,
            code: "not-ended",
            reason: format!(
                "`{id}` has not ended and needs its journal: wait for its end, or cancel or kill it first"
            ),
        });
    }
    act(&api, &id, Command::JournalRemove { id: id.clone() }).await?;
    outcome(&api.invocation(&id).await?).map(Json)
}

/// What can be done where something stays.
pub(crate) fn advice(kept: &Kept) -> String {
    match kept {
        Kept::Unreadable { .. } => "`segno doctor` names what is damaged".to_owned(),
        Kept::Absent => "there is nothing to do".to_owned(),
        Kept::Part { maker } => format!("it goes with `{maker}`: remove that"),
        Kept::OfObject { object } => {
            format!("clear the object: `segno object clear {object} --all`")
        }
        Kept::Pending { id } => format!("cancel or kill `{id}` first"),
        Kept::Recent { .. } => "try again".to_owned(),
        Kept::Owes { .. } => "try again when it is delivered".to_owned(),
        Kept::Awaited { by, .. } => format!("wait for `{by}` to end, or end it"),
        Kept::Large => {
            "retention removes it piece by piece: see `segno serve --help`, `--keep`".to_owned()
        }
    }
}
