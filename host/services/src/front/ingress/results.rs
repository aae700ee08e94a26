//! Results of invocations, with or without waiting.

use axum::{Json, extract::Request, response::IntoResponse};
use segno_api::shared::wait;
use segno_core::{id::PromiseId, promise::Promise};
use segno_engine::values;
use segno_restate::{
    id::InvocationId,
    wire::{Failure, OperationOutcome},
};

use serde_json::json;

use super::{
    super::{
        error::{IngressError, IngressResult},
        request::OF_CALLERS,
    },
    call,
};
use crate::{
    front::ServicesApi,
    ids::{HandlerTarget, scope},
    outcome,
};

/// Duration of one wait for a settlement, in milliseconds; after it another wait begins.
const WAIT_MS: u64 = 60_000;
/// HTTP status for an invocation that has not ended.
const NOT_READY: u16 = 470;

/// Returns the result of an invocation by id or idempotency key: `SERVICE, [KEY,] HANDLER,
/// IDEMPOTENCY KEY`.
pub(super) async fn of_invocation(api: &ServicesApi, named: &[&str], wait: bool) -> IngressResult {
    let by_key = match *named {
        [service, handler, key] => {
            Some((HandlerTarget { service, scope: None, key: None, handler }, key))
        }
        [service, of, handler, key] => {
            Some((HandlerTarget { service, scope: None, key: Some(of), handler }, key))
        }
        _ => None,
    };
    match by_key {
        Some((called, key)) => result(api, &called.idempotent(key), wait).await,
        None if named.len() == 1 && !named[0].is_empty() => by_id(api, named[0], wait).await,
        None => Err(IngressError::new(400, "the path names no invocation")),
    }
}

/// Returns the result of an invocation by id.
pub(super) async fn by_id(api: &ServicesApi, id: &str, wait: bool) -> IngressResult {
    if id.parse::<InvocationId>().is_err() {
        let message =
            format!("`{id}` is no id of an invocation, which is `inv_1` and 33 letters or digits");
        return Err(IngressError::new(400, message));
    }
    result(api, &PromiseId::from(id), wait).await
}

/// Returns the result of a workflow's run.
pub(super) async fn of_workflow(
    api: &ServicesApi,
    workflow: &str,
    key: &str,
    wait: bool,
) -> IngressResult {
    let handler = api.services.run_handler(workflow);
    let called =
        HandlerTarget { service: workflow, scope: None, key: Some(key), handler: &handler };
    result(api, &called.run(), wait).await
}

async fn result(api: &ServicesApi, id: &PromiseId, wait: bool) -> IngressResult {
    if wait {
        return awaited(api, id, None).await;
    }
    let promise = read(api, id).await?.ok_or_else(|| IngressError::new(404, unknown(id)))?;
    match promise.is_pending() {
        true => {
            let message = "the invocation exists but has not completed yet";
            Err(IngressError::new(NOT_READY, message).about(id.as_str()))
        }
        false => answer(&promise, None),
    }
}

/// Waits for the result of an invocation. `gives` is the content type that its handler declares.
pub(super) async fn awaited(
    api: &ServicesApi,
    id: &PromiseId,
    gives: Option<&(String, bool)>,
) -> IngressResult {
    loop {
        let row = wait::settled(api, id, WAIT_MS).await.map_err(|error| match error {
            segno_api::ApiError::UnknownInvocation(_) => not_found(id),
            other => other.into(),
        })?;
        if !row.promise.is_pending() {
            return answer(&row.promise, gives);
        }
        if api.stopping.is_cancelled() {
            return Err(IngressError::new(503, "this host is about to stop").about(id.as_str()));
        }
    }
}

async fn read(api: &ServicesApi, id: &PromiseId) -> IngressResult<Option<Promise>> {
    let row = api.host.store.read().promise(id).await?;
    Ok(row.map(|row| row.promise))
}

fn unknown(id: &PromiseId) -> String {
    format!("there is no invocation `{id}`")
}

/// Tools compare this message.
fn not_found(id: &PromiseId) -> IngressError {
    tracing::debug!(%id, "there is no such invocation");
    IngressError::of_invocation(id.as_str(), Failure::new(404, "not found")).without_id()
}

/// The invocation in the body of a request.
#[derive(serde::Deserialize)]
#[serde(tag = "target", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum InvocationReference {
    Invocation {
        #[serde(alias = "invocation_id", alias = "id")]
        invocation_id: String,
    },
    Workflow {
        #[serde(alias = "workflowName", alias = "service")]
        name: String,
        #[serde(alias = "workflowKey")]
        key: String,
        #[serde(default)]
        scope: Option<String>,
    },
    IdempotentInvocation {
        service: String,
        #[serde(default)]
        key: Option<String>,
        handler: String,
        #[serde(alias = "idempotency_key")]
        idempotency_key: String,
        #[serde(default)]
        scope: Option<String>,
    },
}

/// Returns the result, or the id, of the invocation in the body of a request.
pub(super) async fn by_body(api: &ServicesApi, request: Request, how: &str) -> IngressResult {
    let (parts, body) = request.into_parts();
    let (bytes, _room) = OF_CALLERS.read(api, &parts, body).await?;
    let named: InvocationReference = serde_json::from_slice(&bytes).map_err(|error| {
        IngressError::new(400, format!("the body names no invocation: {error}"))
    })?;
    let id = match named {
        InvocationReference::Invocation { invocation_id } => {
            PromiseId::from(invocation_id.as_str())
        }
        InvocationReference::Workflow { name, key, scope: given } => {
            let handler = api.services.run_handler(&name);
            let scope = scope(given.as_deref()).map_err(|why| IngressError::new(400, why))?;
            HandlerTarget { service: &name, scope, key: Some(&key), handler: &handler }.run()
        }
        InvocationReference::IdempotentInvocation {
            service,
            key,
            handler,
            idempotency_key,
            scope: given,
        } => {
            let key = key.as_deref().filter(|key| !key.is_empty());
            let scope = scope(given.as_deref()).map_err(|why| IngressError::new(400, why))?;
            HandlerTarget { service: &service, scope, key, handler: &handler }
                .idempotent(&idempotency_key)
        }
    };
    match how {
        "attach" => awaited(api, &id, None).await,
        "output" => result(api, &id, false).await,
        _ => {
            read(api, &id).await?.ok_or_else(|| IngressError::new(404, unknown(&id)))?;
            Ok(Json(json!({ "invocationId": id.as_str() })).into_response())
        }
    }
}

/// Builds the response with the outcome of an invocation.
fn answer(promise: &Promise, gives: Option<&(String, bool)>) -> IngressResult {
    let id = promise.id().as_str();
    if promise.was_killed() {
        return Err(IngressError::of_invocation(id, Failure::new(409, "killed")));
    }
    let told = values::told(promise).ok_or_else(|| IngressError::new(NOT_READY, "not ended"))?;
    match outcome::of_guest(&told) {
        OperationOutcome::Success(bytes) => Ok(call::body(bytes, id, gives)),
        OperationOutcome::Failure(failure) => Err(IngressError::of_invocation(id, failure)),
    }
}
