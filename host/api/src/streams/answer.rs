//! Headers of answers, and refusals with the headers that the protocol asks for.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use segno_core::{
    reply::{Refusal, Reply, StreamRefusal, StreamReply},
    stream::{DurableStream, StreamLifetime},
};

use super::{
    super::{ApiError, problem_kind::ProblemKind, state::unexpected},
    headers::{CLOSED, EXPECTED_SEQ, EXPIRES_AT, NEXT_OFFSET, PRODUCER_EPOCH, RECEIVED_SEQ, TTL},
    offset::offset,
};

/// Sets a header. A value that is no header value is left out.
pub(super) fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Sets the headers that describe the end of a stream.
pub(super) fn set_end(headers: &mut HeaderMap, tail: u64, closed: bool) {
    set(headers, NEXT_OFFSET, &offset(tail));
    if closed {
        headers.insert(CLOSED, HeaderValue::from_static("true"));
    }
}

/// Sets the headers that describe the lifetime of a stream.
pub(super) fn set_lifetime(headers: &mut HeaderMap, stream: &DurableStream) {
    match stream.lifetime {
        StreamLifetime::Unlimited => {}
        StreamLifetime::Idle(ttl) => set(headers, TTL, &(ttl.0 / 1_000).to_string()),
        StreamLifetime::Until(at) => set(headers, EXPIRES_AT, &at.in_utc_millis()),
    }
}

/// The stream of a reply, or the refusal as an answer.
pub(super) fn replied(reply: Reply) -> Result<Box<StreamReply>, Box<Response>> {
    match reply {
        Reply::Stream(replied) => Ok(replied),
        Reply::Refused(refusal) => Err(Box::new(refused(&refusal))),
        other => Err(Box::new(unexpected(&other).into_response())),
    }
}

/// The answer for a refusal.
pub(super) fn refused(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.code()).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY);
    let kind = ProblemKind::of_engine(status, refusal.kind());
    let mut answer = ApiError::refused(kind, refusal.to_string()).into_response();
    let headers = answer.headers_mut();
    if let Refusal::Stream(refusal) = refusal {
        match &**refusal {
            StreamRefusal::Closed { tail, .. } => set_end(headers, *tail, true),
            StreamRefusal::StaleEpoch { current, .. } => {
                set(headers, PRODUCER_EPOCH, &current.to_string());
            }
            StreamRefusal::SequenceGap { expected, received, .. } => {
                set(headers, EXPECTED_SEQ, &expected.to_string());
                set(headers, RECEIVED_SEQ, &received.to_string());
            }
            StreamRefusal::TooFast { wait, .. } => {
                let seconds = wait.0.unsigned_abs().div_ceil(1_000);
                set(headers, header::RETRY_AFTER, &seconds.to_string());
            }
            _ => {}
        }
    }
    answer
}
