//! Stopping, pausing and resuming invocations, and beginning them anew.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use segno_core::tags;
use segno_core::{
    command::Command,
    id::PromiseId,
    promise::NewPromise,
    reply::{Refusal, Reply},
    time::Timestamp,
    value::Tags,
};
use serde_json::json;

use super::{
    super::{error::AdminError, new_id},
    of_query,
};
use crate::{Api, state::unexpected};

/// Does one thing to an invocation.
pub async fn control(api: &Api, id: &str, how: &str) -> Result<Response, AdminError> {
    let id = PromiseId::from(id);
    let (command, done) = match how {
        "cancel" => (Command::Cancel { invocation: id.clone() }, StatusCode::ACCEPTED),
        "kill" => (Command::Kill { invocation: id.clone() }, StatusCode::OK),
        "pause" => (Command::TaskHalt { id: id.clone() }, StatusCode::ACCEPTED),
        "resume" => (Command::TaskContinue { id: id.clone() }, StatusCode::OK),
        "purge" | "purge-journal" => (
            Command::Prune { top: id.clone(), before: Timestamp::NEVER, part: false, state: false },
            StatusCode::OK,
        ),
        other => {
            let message = format!("`{other}` is nothing that can be done to an invocation");
            return Err(AdminError::new(404, message));
        }
    };
    if how == "cancel" || how == "kill" {
        let row = api.invocation(&id).await.map_err(|_| missing(&id))?;
        if !row.promise.is_pending() {
            return Err(missing(&id));
        }
    }
    match api.execute(command).await? {
        Reply::Refused(Refusal::NotFound(_)) => Err(missing(&id)),
        Reply::Refused(refusal) => Err(refusal.into()),
        _ => Ok(done.into_response()),
    }
}

/// Begins an invocation once more, with the same input and under a new id.
pub async fn restart(api: &Api, id: &str, query: &str) -> Result<Response, AdminError> {
    if of_query(query, "from").is_some_and(|from| from != "0") {
        let message = "an invocation begins anew from its input only: leave `from` out";
        return Err(AdminError::new(400, message));
    }
    let row =
        api.invocation(&PromiseId::from(id)).await.map_err(|_| missing(&PromiseId::from(id)))?;
    if row.promise.is_pending() {
        let message = format!("`{id}` has not ended: kill it first, or wait for it");
        return Err(AdminError::new(409, message));
    }
    let spec = &row.promise.spec;
    let target = spec.tags.get(tags::TARGET).cloned();
    let tags: Tags = target.map(|target| (tags::TARGET.to_owned(), target)).into_iter().collect();
    let new = new_id(api);
    let promise = NewPromise {
        id: new.clone(),
        param: spec.param.clone(),
        tags,
        timeout_at: Timestamp::NEVER,
    };
    match api.execute(Command::PromiseCreate(promise)).await? {
        Reply::Promise { .. } => {
            Ok((StatusCode::OK, Json(json!({ "new_invocation_id": new.as_str() }))).into_response())
        }
        Reply::Refused(refusal) => Err(refusal.into()),
        other => Err(unexpected(&other).into()),
    }
}

fn missing(id: &PromiseId) -> AdminError {
    AdminError::new(404, format!("there is no invocation `{id}` that has not ended"))
}
