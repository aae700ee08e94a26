//! Work with side effects: attempts of activities, and HTTP requests.
//!
//! The result of an activity is the output of its invocation, in the frame that ends the
//! invocation. A run entry around the activity would store the result twice without benefit: both
//! would be stored together or not at all.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use segno_core::{
    id::PromiseId,
    promise::{RetryDecision, RetryPolicy},
    time::Millis,
};
use segno_engine::{
    attempt_limit,
    values::{self, code},
};
use segno_guest::{
    ActivityContext, ActivityHost, Failure, GuestError, HttpRequest, HttpResponse, Level,
    OpenedResponse, Outbound, Outcome, Payload,
};
use segno_restate::{
    immutable::ErrorMessage,
    wire::{Header, StartMessage},
};

use super::{Endpoint, OfferedHandler};

/// The header with the retry policy of a call from another endpoint.
pub(super) const RETRY_HEADER: &str = "segno-retry";

/// The header with the time limit of each attempt, in milliseconds, of a call from another
/// endpoint.
pub(super) const ATTEMPT_TIMEOUT_HEADER: &str = "segno-attempt-timeout-ms";

/// An attempt of an activity.
pub(super) struct ActivityAttempt {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) handler: Arc<OfferedHandler>,
    pub(super) invocation: String,
    pub(super) start: StartMessage,
    pub(super) input: Payload,
    /// True if the attempt was asked to stop.
    pub(super) is_cancelled: Arc<AtomicBool>,
    /// The time limit of the attempt.
    pub(super) limit: Option<Millis>,
}

impl ActivityAttempt {
    pub(super) async fn perform(self) -> Result<Outcome, GuestError> {
        let Self { endpoint, handler, invocation, start, input, is_cancelled, limit } = self;
        let context = ActivityContext {
            invocation: invocation.clone(),
            idempotency_key: invocation.clone(),
            // The runtime runs one attempt at a time, and its protocol has no fence token.
            fence_token: u64::from(attempt_of(&start)),
            attempt: attempt_of(&start),
            last_progress: None,
            started_at_ms: u64::try_from(endpoint.env.clock.now().0).unwrap_or(0),
            deadline_ms: None,
        };
        let host = Arc::new(EndpointActivityHost {
            outbound: endpoint.outbound.clone(),
            module: endpoint.offer.module.clone(),
            function: handler.function.clone(),
            invocation,
            is_cancelled,
        });
        let (module, function) = (&endpoint.offer.module, &handler.function);
        let number = context.attempt;
        let guests = &endpoint.guests;
        let performing = guests.perform(endpoint.digest, module, function, input, context, host);
        let Some(limit) = limit else { return performing.await };
        let in_time = endpoint.env.within(limit, performing).await;
        in_time.unwrap_or_else(|| Ok(Outcome::Failure(attempt_limit::passed(number, limit))))
    }
}

/// The time limit of an attempt, from the caller's headers.
///
/// # Errors
/// 400 if the header is not a limit.
pub(super) fn limit(headers: &[Header]) -> Result<Option<Millis>, Failure> {
    let is_it = |header: &&Header| header.key.eq_ignore_ascii_case(ATTEMPT_TIMEOUT_HEADER);
    attempt_limit::read(headers.iter().find(is_it).map(|header| &*header.value))
}

/// The retry policy from the caller's headers, or else that of the function.
///
/// # Errors
/// 400 if the header is not a policy.
pub(super) fn policy(headers: &[Header], handler: &OfferedHandler) -> Result<RetryPolicy, Failure> {
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

/// The number of this attempt, from 1, if nothing was stored since the first attempt.
pub(super) fn attempt_of(start: &StartMessage) -> u32 {
    start.retry_count.saturating_add(1)
}

/// The error that ends the attempt if the failure can be retried. The runtime retries after the
/// delay in the error. `None` if the failure is final.
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

struct EndpointActivityHost {
    outbound: Arc<dyn Outbound>,
    module: String,
    function: String,
    invocation: String,
    is_cancelled: Arc<AtomicBool>,
}

#[async_trait]
impl ActivityHost for EndpointActivityHost {
    async fn heartbeat(&self, _progress: Option<Payload>) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    async fn http(&self, request: HttpRequest) -> Result<HttpResponse, Failure> {
        self.outbound.send(&self.module, request).await
    }

    async fn http_open(&self, request: HttpRequest) -> Result<OpenedResponse, Failure> {
        self.outbound.open(&self.module, request).await
    }

    fn log(&self, level: Level, message: String) {
        super::log(&self.invocation, &self.function, level, &message);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use segno_core::{id::Digest, invocation::EngineFacts};
    use segno_env::Env;
    use segno_guest::{FunctionDescription, Guests, NoGuests, Workflow};

    use super::*;
    use crate::offer::tests::offer;

    /// Guests whose activities never end.
    struct EndlessActivities;

    #[async_trait]
    impl Guests for EndlessActivities {
        async fn describe(
            &self,
            module: Digest,
        ) -> Result<Arc<Vec<FunctionDescription>>, GuestError> {
            NoGuests.describe(module).await
        }

        async fn instantiate(
            &self,
            module: Digest,
            facts: Option<EngineFacts>,
        ) -> Result<Box<dyn Workflow>, GuestError> {
            NoGuests.instantiate(module, facts).await
        }

        fn engine_facts(&self) -> EngineFacts {
            NoGuests.engine_facts()
        }

        async fn perform(
            &self,
            _: Digest,
            _: &str,
            _: &str,
            _: Payload,
            _: ActivityContext,
            _: Arc<dyn ActivityHost>,
        ) -> Result<Outcome, GuestError> {
            pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_takes_too_long_is_dropped_and_may_be_repeated() {
        let header = |value: &str| Header {
            key: "Segno-Attempt-Timeout-Ms".to_owned(),
            value: value.to_owned(),
        };
        assert_eq!(limit(&[]), Ok(None));
        assert_eq!(limit(&[header("0")]).map_err(|failure| failure.code), Err(400));
        let offer = offer(&["ship!"]);
        let handler = offer.handler("shop", "ship").expect("it is there").clone();
        let (guests, digest) = (Arc::new(EndlessActivities), Digest::of(b"it"));
        let endpoint = Endpoint::new(guests, Arc::new(NoGuests), Env::system(), offer, digest);
        let performance = ActivityAttempt {
            endpoint: Arc::new(endpoint),
            handler,
            invocation: "inv".to_owned(),
            start: StartMessage::default(),
            input: Payload::Json("1".to_owned()),
            is_cancelled: Arc::default(),
            limit: limit(&[header("250")]).expect("it is one"),
        };
        let Ok(Outcome::Failure(failure)) = performance.perform().await else { panic!("no end") };
        assert_eq!(failure.code, code::TIMED_OUT);
        assert!(again(&RetryPolicy::default(), 1, &failure, "inv").is_some());
    }
}
