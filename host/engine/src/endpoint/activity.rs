//! Work that touches the outside: attempts of activities, and HTTP requests.
//!
//! The result of an activity is the output of its invocation, in the frame after which the invocation is over. A run
//! around it would store it twice, and save nothing: both are stored together or not at all.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use segno_core::{
    id::PromiseId,
    promise::{RetryDecision, RetryPolicy},
};
use segno_guest::{
    ActivityContext, ActivityHost, Failure, GuestError, HttpRequest, HttpResponse, Level, Outbound,
    Outcome, Payload,
};
use segno_restate::{
    immutable::ErrorMessage,
    wire::{Header, Start},
};

use super::{Endpoint, Handler};
use crate::values::{self, code};

/// The header with the retry policy of a call, from another endpoint.
pub(super) const RETRY_HEADER: &str = "segno-retry";

/// An attempt of an activity.
pub(super) struct Performance {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) handler: Arc<Handler>,
    pub(super) invocation: String,
    pub(super) start: Start,
    pub(super) input: Payload,
    /// Whether it was asked to stop.
    pub(super) is_cancelled: Arc<AtomicBool>,
}

impl Performance {
    pub(super) async fn perform(self) -> Result<Outcome, GuestError> {
        let Self { endpoint, handler, invocation, start, input, is_cancelled } = self;
        let context = ActivityContext {
            invocation: invocation.clone(),
            idempotency_key: invocation.clone(),
            // The runtime runs one attempt at a time, and its protocol has no number for them.
            fence_token: u64::from(attempt_of(&start)),
            attempt: attempt_of(&start),
            last_progress: None,
            started_at_ms: u64::try_from(endpoint.env.clock.now().0).unwrap_or(0),
            deadline_ms: None,
        };
        let host = Arc::new(Performing {
            outbound: endpoint.outbound.clone(),
            module: endpoint.offer.module.clone(),
            function: handler.function.clone(),
            invocation,
            is_cancelled,
        });
        let (module, function) = (&endpoint.offer.module, &handler.function);
        endpoint.guests.perform(endpoint.digest, module, function, input, context, host).await
    }
}

/// The policy that the caller gave, else that of the function.
///
/// # Errors
/// 400: what the caller gave is no policy.
pub(super) fn policy(headers: &[Header], handler: &Handler) -> Result<RetryPolicy, Failure> {
    let given = headers.iter().find(|header| header.key.eq_ignore_ascii_case(RETRY_HEADER));
    match given {
        Some(header) => values::read_policy(&header.value).map_err(|message| Failure {
            code: code::BAD_REQUEST,
            message,
            details: None,
        }),
        None => Ok(handler.retry.clone()),
    }
}

/// The number of this attempt, from 1, when nothing was stored since the first.
pub(super) fn attempt_of(start: &Start) -> u32 {
    start.retry_count.saturating_add(1)
}

/// The error with which the attempt ends if a failure is not final: the runtime tries again after its delay.
pub(super) fn again(
    policy: &RetryPolicy,
    attempt: u32,
    failure: &Failure,
    key: &str,
) -> Option<ErrorMessage> {
    match policy.decide(attempt, failure.code, &PromiseId::from(key)) {
        RetryDecision::GiveUp => None,
        RetryDecision::After(delay) => Some(ErrorMessage {
            code: failure.code,
            message: format!("attempt {attempt} failed with {}: {}", failure.code, failure.message),
            next_retry_delay_ms: Some(u64::try_from(delay.0).unwrap_or(0)),
            ..ErrorMessage::default()
        }),
    }
}

struct Performing {
    outbound: Arc<dyn Outbound>,
    module: String,
    function: String,
    invocation: String,
    is_cancelled: Arc<AtomicBool>,
}

#[async_trait]
impl ActivityHost for Performing {
    async fn heartbeat(&self, _progress: Option<Payload>) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    async fn http(&self, request: HttpRequest) -> Result<HttpResponse, Failure> {
        self.outbound.send(&self.module, request).await
    }

    fn log(&self, level: Level, message: String) {
        super::log(&self.invocation, &self.function, level, &message);
    }
}
