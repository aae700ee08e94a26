//! Requests, answers and outcomes as JSON.

use segno_guest::{HttpRequest, HttpResponse, Payload};
use segno_restate::wire::{self, OperationOutcome};
use serde_json::Value as Json;

/// Answer of a service.
pub fn answer(status: u16, body: &Json) -> HttpResponse {
    HttpResponse { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

/// Body of a request, as JSON.
///
/// # Panics
/// If the body is not JSON.
pub fn body(request: &HttpRequest) -> Json {
    let Some(Payload::Json(text)) = &request.body else { panic!("{request:?}") };
    serde_json::from_str(text).expect("JSON")
}

/// Value of a success, as JSON.
///
/// # Panics
/// If the outcome is a failure, or the value is not JSON.
pub fn success(outcome: &OperationOutcome) -> Json {
    match outcome {
        OperationOutcome::Success(value) => serde_json::from_slice(value).expect("JSON"),
        OperationOutcome::Failure(failure) => panic!("{failure:?}"),
    }
}

/// The failure.
///
/// # Panics
/// If the outcome is a success.
pub fn failure(outcome: &OperationOutcome) -> &wire::Failure {
    match outcome {
        OperationOutcome::Failure(failure) => failure,
        OperationOutcome::Success(value) => panic!("{value:?}"),
    }
}
