//! The built-in activity `segno:http`: one HTTP request, with the promise id as its idempotency
//! key.

use segno_core::{
    promise::{Promise, Verdict},
    saga::{StepTags, declines},
    tags,
    value::Value,
};
use segno_guest::{Failure, HttpRequest, Outbound, Outcome, Payload};

use crate::{
    target::HTTP,
    values::{self, code},
};

/// The header by which a server recognises a repeated request.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Sends the request in the promise's parameter.
///
/// The statuses 408, 425, 429 and 5xx are failures that may be retried. Every other response is a
/// success with its status.
pub(super) async fn send(outbound: &dyn Outbound, module: &str, promise: &Promise) -> Outcome {
    match values::request(&promise.spec.param) {
        Ok(request) => request_once(outbound, module, promise.id().as_str(), request).await,
        Err(reason) => failed(code::BAD_REQUEST, reason),
    }
}

/// Sends one request, with this idempotency key unless it has one. The response is handled as in
/// [`send`].
pub async fn request_once(
    outbound: &dyn Outbound,
    module: &str,
    idempotency_key: &str,
    mut request: HttpRequest,
) -> Outcome {
    let said = |name: &str, request: &HttpRequest| {
        request.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    if !said(IDEMPOTENCY_KEY, &request) {
        request.headers.push((IDEMPOTENCY_KEY.into(), idempotency_key.into()));
    }
    if matches!(request.body, Some(Payload::Json(_))) && !said("content-type", &request) {
        request.headers.push(("content-type".into(), "application/json".into()));
    }
    let (method, url) = (request.method.clone(), request.url.clone());
    match outbound.send(module, request).await {
        Err(failure) => Outcome::Failure(failure),
        Ok(response) if is_transient(response.status) => failed(
            u32::from(response.status),
            format!("{method} {url} answered {}", response.status),
        ),
        Ok(response) => Outcome::Success(values::response_value(response)),
    }
}

/// The stored form of an outcome. For a step of a saga, a header marks a response by which the
/// server declined the request.
pub(super) fn settlement(promise: &Promise, outcome: &Outcome) -> (Verdict, Value) {
    let (verdict, mut value) = values::verdict(outcome);
    if let Outcome::Success(answer) = outcome
        && promise.target() == Some(HTTP)
        && StepTags::of(&promise.spec.tags).is_some()
        && values::response(answer).is_some_and(|response| declines(response.status))
    {
        value.headers.insert(tags::DECLINED_HEADER.to_owned(), "true".to_owned());
    }
    (verdict, value)
}

fn is_transient(status: u16) -> bool {
    status >= 500 || matches!(status, 408 | 425 | 429)
}

fn failed(code: u32, message: String) -> Outcome {
    Outcome::Failure(Failure { code, message, details: None })
}
