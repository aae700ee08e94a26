//! Restarts of ended invocations, from their input or after the first entries of their journal.

use axum::{Json, response::IntoResponse};
use segno_api::shared::{RESTART_OF, unexpected};
use segno_core::{
    address::Address, command::Command, id::PromiseId, promise::NewPromise, reply::Reply, tags,
    time::Timestamp, value::Tags,
};
use segno_store::PromiseRow;
use serde_json::json;

use super::{
    super::{
        error::{AdminError, AdminResult},
        new_id,
        request::parameter,
    },
    choice::{began_on, chosen, speaks},
    invocations::{completed, execute},
};
use crate::{
    BY,
    front::ServicesApi,
    run::{RestartPrefix, RestartRefusal},
};

/// Restarts an invocation under a new id: with the same input, or with the entries 0 to `from` of
/// its journal and the results of these commands.
pub(super) async fn restart(api: &ServicesApi, id: &str, query: &str) -> AdminResult {
    let from = from(query)?;
    let id = PromiseId::from(id);
    let row = completed(api, &id).await?;
    let target = row.promise.target().unwrap_or_default();
    let Ok(Address::Service { service, handler, .. }) = Address::parse(target) else {
        let message = format!("`{id}` calls no service: `segno restart {id}` begins it anew");
        return Err(AdminError::new(400, message));
    };
    if is_run(api, &row, &service, &handler).await? {
        let message = format!("`{id}` is the run of a workflow, and a workflow runs once a key");
        return Err(AdminError::new(422, message));
    }
    let asked = parameter(query, "deployment");
    let new = anew(api, &row);
    let new_id = new.id.clone();
    let command = if from == 0 {
        on_latest(api, &row, &service, asked).await?;
        Command::PromiseCreate(new)
    } else {
        let prefix = RestartPrefix::read(&*api.host.store, &row.promise, from).await?;
        let (digest, deployment) = chosen(api, &row, &service, asked).await?;
        speaks(&deployment, &id, prefix.version.number(), "leave `from` out")?;
        Command::InvocationFork(Box::new(prefix.into_fork(new, digest)))
    };
    match execute(api, &id, command).await? {
        Reply::Promise { .. } => {
            Ok(Json(json!({ "new_invocation_id": new_id.as_str() })).into_response())
        }
        other => Err(unexpected(&other).into()),
    }
}

fn from(query: &str) -> AdminResult<u32> {
    let Some(from) = parameter(query, "from") else { return Ok(0) };
    from.parse().map_err(|_| {
        let message = format!(
            "`from={from}` is no entry of a journal: it is a number, as `index` of `sys_journal`"
        );
        AdminError::new(400, message)
    })
}

/// Builds the promise of the new invocation.
fn anew(api: &ServicesApi, row: &PromiseRow) -> NewPromise {
    let promise = &row.promise;
    let mut param = promise.spec.param.clone();
    // The command that called the old invocation already has its answer.
    param.headers.remove(BY);
    let target = promise.target().unwrap_or_default();
    let label = format!("{}{RESTART_OF}", tags::LABEL_PREFIX);
    let tags = [(tags::TARGET.to_owned(), target.to_owned()), (label, promise.id().to_string())];
    NewPromise { id: new_id(api), param, tags: Tags::from(tags), timeout_at: Timestamp::NEVER }
}

/// Returns true if the handler runs once for each key.
async fn is_run(
    api: &ServicesApi,
    row: &PromiseRow,
    service: &str,
    handler: &str,
) -> AdminResult<bool> {
    let Some(digest) = began_on(row) else { return Ok(false) };
    let deployment = api.services.deployment(digest).await?;
    Ok(deployment.run_of(service).as_deref() == Some(handler))
}

/// Checks that the request selects the latest deployment: a restart from the input runs on it.
async fn on_latest(
    api: &ServicesApi,
    row: &PromiseRow,
    service: &str,
    asked: Option<&str>,
) -> AdminResult<()> {
    let (latest, deployment) = api.services.of_service(service).await?;
    let is_latest = match asked.map(str::to_ascii_lowercase).as_deref() {
        None | Some("latest") => true,
        Some("keep") => began_on(row) == Some(latest),
        Some(_) => asked == Some(&deployment.id()),
    };
    match is_latest {
        true => Ok(()),
        false => {
            let message = format!(
                "an invocation begins anew on the deployment that has `{service}` now, `{}`: leave `deployment` out",
                deployment.id()
            );
            Err(AdminError::new(400, message))
        }
    }
}

impl From<RestartRefusal> for AdminError {
    fn from(refused: RestartRefusal) -> Self {
        let status = match refused {
            RestartRefusal::Store(error) => return error.into(),
            RestartRefusal::NoJournal(_) | RestartRefusal::Open { .. } => 409,
            RestartRefusal::NoSuchEntry { .. } | RestartRefusal::TooMany(_) => 400,
            RestartRefusal::Damaged(..) => 500,
        };
        Self::new(status, refused.to_string())
    }
}
