//! Stops, pauses, resumes and removes invocations.

use axum::{http::StatusCode, response::IntoResponse};
use segno_api::shared::{advice, unexpected};
use segno_core::{
    address::Address,
    command::Command,
    id::PromiseId,
    invocation::RecordBody,
    promise::TaskStatus,
    reply::{Conflict, PruneResult, Refusal, Reply, RetentionReason},
};
use segno_engine::{recovery::blobs::owners_removed, worker::replay::first_records};
use segno_store::PromiseRow;

use super::{
    super::{
        error::{AdminError, AdminResult},
        request::parameter,
    },
    choice::{began_on, chosen, speaks},
};
use crate::front::ServicesApi;

/// Executes one control operation on an invocation.
pub(super) async fn control(api: &ServicesApi, id: &str, how: &str) -> AdminResult {
    let id = PromiseId::from(id);
    // If the invocation runs, its current step ends first. One that has just ended is listed for a
    // moment.
    if how == "pause" && api.services.pauses().ask(&id) && is_pending(api, &id).await? {
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    let (command, done) = match how {
        "cancel" => (Command::Cancel { invocation: id.clone() }, StatusCode::ACCEPTED),
        "kill" => (Command::Kill { invocation: id.clone() }, StatusCode::OK),
        "pause" => (Command::TaskHalt { id: id.clone() }, StatusCode::ACCEPTED),
        "purge" => return purge(api, &id).await,
        "purge-journal" => return purge_journal(api, &id).await,
        other => {
            let message = format!("`{other}` is no action on an invocation");
            return Err(AdminError::new(404, message));
        }
    };
    if (how == "cancel" || how == "kill") && !is_pending(api, &id).await? {
        return Err(missing(&id));
    }
    execute(api, &id, command).await?;
    Ok(done.into_response())
}

/// Returns true if the invocation has not ended.
async fn is_pending(api: &ServicesApi, id: &PromiseId) -> AdminResult<bool> {
    let row = api.invocation(id).await.map_err(|_| missing(id))?;
    Ok(row.promise.is_pending())
}

/// Resumes a paused invocation, with its current deployment or with the one that `deployment`
/// selects.
pub(super) async fn resume(api: &ServicesApi, id: &str, query: &str) -> AdminResult {
    let id = PromiseId::from(id);
    let command = match parameter(query, "deployment") {
        Some(asked) if !asked.eq_ignore_ascii_case("keep") => on(api, &id, asked).await?,
        _ => Command::TaskContinue { id: id.clone() },
    };
    execute(api, &id, command).await?;
    Ok(StatusCode::OK.into_response())
}

/// Builds the command that continues a paused invocation on the selected deployment. The
/// deployment's SDK checks in every attempt that it repeats the journal.
async fn on(api: &ServicesApi, id: &PromiseId, asked: &str) -> AdminResult<Command> {
    let row = found(api, id).await?;
    let target = row.promise.target().unwrap_or_default();
    let Ok(Address::Service { service, handler, .. }) = Address::parse(target) else {
        let message = format!("`{id}` calls no service: continue it with `segno continue {id}`");
        return Err(AdminError::new(400, message));
    };
    let (module, deployment) = chosen(api, &row, &service, Some(asked)).await?;
    if began_on(&row) == Some(module) {
        return Ok(Command::TaskContinue { id: id.clone() });
    }
    if let Some(task) = row.task.as_ref().filter(|task| task.status() != TaskStatus::Halted) {
        let conflict = Conflict::WrongState { id: id.clone(), status: task.status() };
        return Err(Refusal::from(conflict).into());
    }
    if deployment.handler(&service, &handler).is_none() {
        let message =
            format!("the deployment `{}` has no handler `{service}/{handler}`", deployment.id());
        return Err(AdminError::new(400, message));
    }
    let records = first_records(&*api.host.store, id, u32::MAX).await?;
    if let Some(RecordBody::Started { engine, .. }) = records.first().map(|first| &first.body) {
        speaks(&deployment, id, engine.class, "leave `deployment` out")?;
    }
    let records = u32::try_from(records.len()).unwrap_or(u32::MAX);
    Ok(Command::TaskMigrate { id: id.clone(), module, records })
}

/// Removes an ended invocation with all its descendants.
async fn purge(api: &ServicesApi, id: &PromiseId) -> AdminResult {
    completed(api, id).await?;
    let before = api.host.env.clock.now();
    let command = Command::Prune { top: id.clone(), before, part: false, state: false };
    match execute(api, id, command).await? {
        Reply::Pruned(PruneResult::Gone { .. }) => {
            owners_removed(&api.host, vec![(id.clone(), before)]).await;
            Ok(StatusCode::OK.into_response())
        }
        Reply::Pruned(PruneResult::Kept(RetentionReason::Absent)) => Err(unknown(id)),
        Reply::Pruned(PruneResult::Kept(kept)) => {
            Err(AdminError::new(409, format!("`{id}` was not removed: {kept}; {}", advice(&kept))))
        }
        other => Err(unexpected(&other).into()),
    }
}

/// Removes the journal of an ended invocation, and keeps its result.
async fn purge_journal(api: &ServicesApi, id: &PromiseId) -> AdminResult {
    completed(api, id).await?;
    execute(api, id, Command::JournalRemove { id: id.clone() }).await?;
    Ok(StatusCode::OK.into_response())
}

pub(super) async fn execute(
    api: &ServicesApi,
    id: &PromiseId,
    command: Command,
) -> AdminResult<Reply> {
    match api.execute(command).await? {
        Reply::Refused(Refusal::NotFound(_)) => Err(missing(id)),
        Reply::Refused(refusal) => Err(refusal.into()),
        reply => Ok(reply),
    }
}

async fn found(api: &ServicesApi, id: &PromiseId) -> AdminResult<PromiseRow> {
    match api.invocation(id).await {
        Err(segno_api::ApiError::UnknownInvocation(_)) => Err(unknown(id)),
        found => Ok(found?),
    }
}

/// Reads an invocation, which must have ended.
pub(super) async fn completed(api: &ServicesApi, id: &PromiseId) -> AdminResult<PromiseRow> {
    let row = found(api, id).await?;
    match row.promise.is_pending() {
        false => Ok(row),
        true => {
            let message = format!("`{id}` has not completed: cancel or kill it, or wait for it");
            Err(AdminError::new(409, message))
        }
    }
}

fn unknown(id: &PromiseId) -> AdminError {
    AdminError::new(404, format!("there is no invocation `{id}`"))
}

fn missing(id: &PromiseId) -> AdminError {
    AdminError::new(404, format!("there is no invocation `{id}` that has not ended"))
}
