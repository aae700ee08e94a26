//! Continues a halted invocation, with the code that began it or with other code that repeats its
//! journal; and moves an invocation that no worker holds to such code.

use axum::{Json, extract::State};
use segno_core::{
    command::Command,
    id::{Digest, PromiseId},
    promise::{Task, TaskStatus},
    reply::{Conflict, Refusal, Reply},
};
use segno_engine::{
    target,
    worker::{self, replay::ReplayError},
};
use segno_store::PromiseRow;

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    control::act,
    model::{ContinueInvocation, Continued, MoveInvocation, Moved},
    problem_kind as kind,
    refusals::Refusals,
    replay,
    state::refused,
    view,
};

/// Continues a halted invocation. With a module, moves the invocation to it if a replay of the
/// journal is identical; otherwise changes nothing.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/continue", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    request_body = ContinueInvocation,
    responses((status = 200, body = Continued), Refusals),
)]
pub(crate) async fn proceed(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(request, _room): JsonBody<ContinueInvocation>,
) -> Result<Json<Continued>, ApiError> {
    let id = api.generation(id).await?;
    let (module, records) = match request.module {
        None => {
            act(&api, &id, Command::TaskContinue { id: id.clone() }).await?;
            (None, None)
        }
        Some(name) => {
            let row = api.invocation(&id).await?;
            // A replay takes time, so it only begins if the move is allowed.
            if let Some(task) = row.task.as_ref().filter(|task| task.status() != TaskStatus::Halted)
            {
                let conflict = Conflict::WrongState { id, status: task.status() };
                return Err(refused(row.promise.id(), Refusal::from(conflict)));
            }
            let (module, records) = migrate(&api, &id, &row, &name).await?;
            (Some(module.to_string()), Some(records))
        }
    };
    Ok(Json(Continued { id: id.to_string(), changed: true, module, records }))
}

/// Moves an invocation that no worker holds to another module if a replay of its journal is
/// identical; otherwise changes nothing.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/move", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    request_body = MoveInvocation,
    responses((status = 200, body = Moved), Refusals),
)]
pub(crate) async fn relocate(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(request, _room): JsonBody<MoveInvocation>,
) -> Result<Json<Moved>, ApiError> {
    let id = api.generation(id).await?;
    let row = api.invocation(&id).await?;
    match row.task.as_ref().map(Task::status) {
        Some(TaskStatus::Acquired) => {
            return Err(ApiError::WrongState {
                id: id.to_string(),
                state: TaskStatus::Acquired.to_string(),
                wanted: "it runs at the moment, and can be moved when it waits",
            });
        }
        Some(TaskStatus::Fulfilled) => {
            let state = view::outcome(&row.promise, row.task.as_ref().expect("it has one")).state;
            return Err(ApiError::Settled { id: id.to_string(), state: state.as_str() });
        }
        _ => {}
    }
    let (module, records) = migrate(&api, &id, &row, &request.module).await?;
    Ok(Json(Moved { id: id.to_string(), module: module.to_string(), records }))
}

/// Moves an invocation to the module with this alias or digest. Returns the module and the number
/// of records that it repeated.
async fn migrate(
    api: &Api,
    id: &PromiseId,
    row: &PromiseRow,
    name: &str,
) -> Result<(Digest, u32), ApiError> {
    let module = api.digest(name).await?;
    let records = compare(api, id, row, module, name).await?;
    let command = Command::TaskMigrate { id: id.clone(), module, records };
    match act(api, id, command).await? {
        Reply::Done => Ok((module, records)),
        other => Err(super::state::unexpected(&other)),
    }
}

/// Replays the journal on the module. Returns the number of records, all of which the module
/// repeated.
async fn compare(
    api: &Api,
    id: &PromiseId,
    row: &PromiseRow,
    module: Digest,
    name: &str,
) -> Result<u32, ApiError> {
    match worker::replay(&api.host, id, Some(module)).await {
        Ok(report) => match &report.divergence {
            None => Ok(report.records),
            Some(divergence) => Err(ApiError::refused(
                kind::DIVERGES,
                format!(
                    "`{name}` does not repeat the journal of `{id}`: at record {} the journal has {}, and `{name}` \
                     asks for {}; `segno replay {id} --module {name}` shows the difference",
                    divergence.seq(),
                    divergence.recorded(),
                    divergence.asked()
                ),
            )),
        },
        // The journal is empty: any module that has the function may begin.
        Err(ReplayError::NoJournal(..)) if is_untouched(api, id).await? => {
            let function = target::function_of(&row.promise);
            api.resolve(name, &function).await?;
            Ok(0)
        }
        Err(ReplayError::Guest { matched, error }) => Err(ApiError::refused(
            kind::DIVERGES,
            format!(
                "`{name}` fails in the replay of `{id}` after {matched} records: {}; nothing was changed",
                error.message()
            ),
        )),
        Err(error) => Err(replay::not_replayed(error)),
    }
}

/// Returns true if the journal has no records.
async fn is_untouched(api: &Api, id: &PromiseId) -> Result<bool, ApiError> {
    Ok(api.host.store.read().journal(id, 0, 1).await?.is_empty())
}
