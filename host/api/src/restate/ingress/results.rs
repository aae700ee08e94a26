//! The results of invocations: waited for, or as they stand.

use axum::response::Response;
use segno_core::{
    id::PromiseId,
    promise::{Promise, Verdict},
    tags,
};
use segno_engine::{
    services::{ids::Called, outcome},
    values,
};
use segno_restate::wire::{Failure, Outcome};

use super::{
    super::{error::IngressError, path::joined},
    call,
};
use crate::{Api, wait};

/// How long one wait for a settlement lasts; then another begins.
const WAIT_MS: u64 = 60_000;
/// The status of what has not ended.
const NOT_READY: u16 = 470;

/// The result of an invocation by its id, or by its idempotency key:
/// `SERVICE, [KEY,] HANDLER, IDEMPOTENCY KEY`.
pub async fn of_invocation(
    api: &Api,
    named: &[&str],
    wait: bool,
) -> Result<Response, IngressError> {
    let by_key = match *named {
        [service, handler, key] => Some((Called { service, key: None, handler }, key)),
        [service, of, handler, key] => Some((Called { service, key: Some(of), handler }, key)),
        _ => None,
    };
    match by_key.filter(|_| !named[0].starts_with("inv_")) {
        Some((called, key)) => result(api, &called.idempotent(key), wait).await,
        None => by_id(api, &joined(named), wait).await,
    }
}

/// The result of an invocation.
pub async fn by_id(api: &Api, id: &str, wait: bool) -> Result<Response, IngressError> {
    result(api, &PromiseId::from(id), wait).await
}

/// The result of the run of a workflow.
pub async fn of_workflow(
    api: &Api,
    workflow: &str,
    key: &str,
    wait: bool,
) -> Result<Response, IngressError> {
    let handler = api.host.services.run_handler(workflow);
    let called = Called { service: workflow, key: Some(key), handler: &handler };
    let run = called.run().ok_or_else(|| IngressError::new(400, "the workflow has no key"))?;
    result(api, &run, wait).await
}

async fn result(api: &Api, id: &PromiseId, wait: bool) -> Result<Response, IngressError> {
    if wait {
        return awaited(api, id, None).await;
    }
    let promise = read(api, id).await?;
    match promise.is_pending() {
        true => {
            let message = "the invocation exists but has not completed yet";
            Err(IngressError::new(NOT_READY, message).about(id.as_str()))
        }
        false => answer(&promise, None),
    }
}

/// The result of an invocation when it has ended; `gives` is what its handler says of it.
pub async fn awaited(
    api: &Api,
    id: &PromiseId,
    gives: Option<&(String, bool)>,
) -> Result<Response, IngressError> {
    loop {
        let row = wait::settled(api, id, WAIT_MS).await.map_err(|error| match error {
            crate::ApiError::UnknownInvocation(_) => not_found(id),
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

async fn read(api: &Api, id: &PromiseId) -> Result<Promise, IngressError> {
    let row = api.host.store.read().promise(id).await?;
    row.map(|row| row.promise).ok_or_else(|| not_found(id))
}

fn not_found(id: &PromiseId) -> IngressError {
    IngressError::new(404, format!("invocation `{id}` not found"))
}

/// The answer with how an invocation ended.
fn answer(promise: &Promise, gives: Option<&(String, bool)>) -> Result<Response, IngressError> {
    let id = promise.id().as_str();
    let settlement = promise.settlement();
    let is_killed = settlement.is_some_and(|settlement| {
        settlement.verdict == Verdict::Canceled
            && settlement
                .value
                .as_ref()
                .is_some_and(|value| value.headers.contains_key(tags::KILLED_HEADER))
    });
    if is_killed {
        return Err(IngressError::of_invocation(id, Failure::new(409, "killed")));
    }
    let told = values::told(promise).ok_or_else(|| IngressError::new(NOT_READY, "not ended"))?;
    match outcome::of_guest(&told) {
        Outcome::Success(bytes) => Ok(call::body(bytes, id, gives)),
        Outcome::Failure(failure) => Err(IngressError::of_invocation(id, failure)),
    }
}
