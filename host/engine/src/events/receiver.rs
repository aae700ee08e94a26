//! One address that events are posted to: concurrent posts, their timeout, and the pauses after
//! failures.
//!
//! Posts are signed according to Standard Webhooks, for which receivers find libraries.
//!
//! ```text
//! webhook-id: order-1/3
//! webhook-timestamp: 1767323045
//! webhook-signature: v1,BASE64(HMAC-SHA256(secret, "{id}.{timestamp}.{body}"))
//! ```

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header;
use segno_core::time::{Millis, Timestamp};
use segno_env::Env;
use sha2::Sha256;
use tokio::sync::Semaphore;

use super::{CloudEvent, Route, SigningSecret};
use crate::delivery::{
    DeliveryResult,
    backoff::{AddressHealth, BackoffSettings, causes, shown},
};

/// Maximum number of concurrent posts to one address.
const AT_ONCE: usize = 16;
/// Maximum number of running or queued posts to one address. Further ones are retried after
/// `RETRY_AFTER`.
const QUEUE_LIMIT: usize = 128;
/// Timeout of one post. It is shorter than the time for which a message is left to one host.
const POST_TIMEOUT: Millis = Millis(8_000);
/// The delay before the next attempt when the queue is full.
const RETRY_AFTER: Millis = Millis(500);
/// The back-off of a failing address.
const PAUSES: BackoffSettings = BackoffSettings { first: Millis(100), longest: Millis(60_000) };

/// One route's address, with its queue and its health.
pub(super) struct EventReceiver {
    route: Route,
    at_once: Semaphore,
    queued: AtomicUsize,
    health: Mutex<AddressHealth>,
}

impl EventReceiver {
    /// The receiver of this route.
    pub(super) fn new(route: Route) -> Self {
        Self {
            route,
            at_once: Semaphore::new(AT_ONCE),
            queued: AtomicUsize::new(0),
            health: Mutex::default(),
        }
    }

    /// True if the address is not in a back-off pause.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        self.lock().pause(now) == Millis::ZERO
    }

    /// Posts the event and returns the result.
    pub(super) async fn post(
        &self,
        client: &reqwest::Client,
        env: &Env,
        event: &CloudEvent,
    ) -> DeliveryResult {
        let now = env.clock.now();
        if let Some(wait) = self.closed_for(now) {
            return DeliveryResult::Again { after: wait };
        }
        let _place = QueueReservation::take(&self.queued);
        if self.queued.load(Ordering::Relaxed) > QUEUE_LIMIT {
            return DeliveryResult::Again { after: RETRY_AFTER };
        }
        let answer = env.within(POST_TIMEOUT, async {
            let _permit = self.at_once.acquire().await;
            self.send(client, env, event).await
        });
        let failure = match answer.await {
            Some(Ok(())) => {
                self.recovered();
                return DeliveryResult::Done;
            }
            Some(Err(failure)) => failure,
            None => format!("no answer within {} s", POST_TIMEOUT.0 / 1_000),
        };
        DeliveryResult::Again { after: self.failed(env.clock.now(), event, &failure) }
    }

    async fn send(
        &self,
        client: &reqwest::Client,
        env: &Env,
        event: &CloudEvent,
    ) -> Result<(), String> {
        let body = serde_json::to_vec(event).map_err(|error| error.to_string())?;
        let mut request = client
            .post(self.route.url.clone())
            .header(header::CONTENT_TYPE, "application/cloudevents+json; charset=utf-8");
        if let Some(secret) = &self.route.secret {
            let seconds = env.clock.now().0 / 1_000;
            request = request
                .header("webhook-timestamp", seconds.to_string())
                .header("webhook-signature", sign(secret, &event.id, seconds, &body));
        }
        // An id that does not fit into a header is still in the body.
        if let Ok(id) = http::HeaderValue::from_str(&event.id) {
            request = request.header("webhook-id", id);
        }
        let response = request.body(body).send().await.map_err(|error| causes(&error))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("it answered {status}")),
        }
    }

    fn closed_for(&self, now: Timestamp) -> Option<Millis> {
        Some(self.lock().pause(now)).filter(|wait| *wait > Millis::ZERO)
    }

    fn recovered(&self) {
        if self.lock().recovered() {
            tracing::info!(url = shown(&self.route.url), "the receiver of events answers again");
        }
    }

    /// Records a failure. Returns the length of the pause.
    fn failed(&self, now: Timestamp, event: &CloudEvent, failure: &str) -> Millis {
        let failed = self.lock().failed(now, PAUSES);
        let (id, topic, url) = (&event.id, &event.topic, shown(&self.route.url));
        if failed.is_news() {
            tracing::warn!(
                invocation = event.subject, %id, %topic, url, failure,
                failures = failed.counted, "an event was not taken; it is posted again"
            );
        } else if failed.counted.is_some() {
            tracing::debug!(
                invocation = event.subject, %id, %topic, url, failure,
                "an event was not taken; it is posted again"
            );
        }
        failed.pause
    }

    fn lock(&self) -> MutexGuard<'_, AddressHealth> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue, until dropped.
struct QueueReservation<'a>(&'a AtomicUsize);

impl<'a> QueueReservation<'a> {
    fn take(queued: &'a AtomicUsize) -> Self {
        queued.fetch_add(1, Ordering::Relaxed);
        Self(queued)
    }
}

impl Drop for QueueReservation<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn sign(secret: &SigningSecret, id: &str, seconds: i64, body: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.bytes()).expect("HMAC takes keys of any length");
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_the_public_scheme_says() {
        let route = Route::new(vec![], "http://a/", Some("key")).expect("a route");
        // printf '%s' 'a/1.5.{}' | openssl dgst -sha256 -hmac key -binary | base64
        let expected = "v1,ZPdrWTiZXDB+j8siuJCUWLGDuANjz0yh3GzRxscpmSE=";
        assert_eq!(sign(&route.secret.expect("a secret"), "a/1", 5, b"{}"), expected);
    }
}
