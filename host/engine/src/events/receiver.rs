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
use sha2::Sha256;
use tokio::sync::Semaphore;

use super::{CloudEvent, Route, Secret};
use crate::delivery::Delivered;
use segno_env::Env;

/// Maximum number of concurrent posts to one address.
const AT_ONCE: usize = 16;
/// Maximum number of posts to one address that are under way or queued; further ones are tried
/// again after `SOON`.
const IN_LINE: usize = 128;
/// Timeout of one post; shorter than the time for which a message is left to one host.
const PATIENCE: Millis = Millis(8_000);
/// The delay before the next attempt when the queue is full.
const SOON: Millis = Millis(500);
/// The pause after a failure of the address: the first one, and the longest.
const PAUSE: (Millis, Millis) = (Millis(100), Millis(60_000));

/// One route's address, with its queue and its health.
pub struct Receiver {
    route: Route,
    at_once: Semaphore,
    in_line: AtomicUsize,
    health: Mutex<Health>,
}

/// What recent posts showed about an address.
#[derive(Debug, Clone, Copy, Default)]
struct Health {
    /// Failures since the last success.
    failures: u32,
    /// No post before this instant.
    until: Timestamp,
}

impl Receiver {
    /// The receiver of this route.
    pub fn new(route: Route) -> Self {
        Self {
            route,
            at_once: Semaphore::new(AT_ONCE),
            in_line: AtomicUsize::new(0),
            health: Mutex::default(),
        }
    }

    /// Whether the address is not paused.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.lock().until <= now
    }

    /// Posts the event and answers the result.
    pub async fn post(&self, client: &reqwest::Client, env: &Env, event: &CloudEvent) -> Delivered {
        let now = env.clock.now();
        if let Some(wait) = self.closed_for(now) {
            return Delivered::Again { after: wait };
        }
        let _place = Place::take(&self.in_line);
        if self.in_line.load(Ordering::Relaxed) > IN_LINE {
            return Delivered::Again { after: SOON };
        }
        let answer = env.within(PATIENCE, async {
            let _seat = self.at_once.acquire().await;
            self.send(client, env, event).await
        });
        let failure = match answer.await {
            Some(Ok(())) => {
                self.recovered();
                return Delivered::Done;
            }
            Some(Err(failure)) => failure,
            None => format!("no answer within {} s", PATIENCE.0 / 1_000),
        };
        Delivered::Again { after: self.failed(env.clock.now(), event, &failure) }
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
        let response = request.body(body).send().await.map_err(|error| chain(&error))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("it answered {status}")),
        }
    }

    fn closed_for(&self, now: Timestamp) -> Option<Millis> {
        Some(self.lock().until.since(now)).filter(|wait| *wait > Millis::ZERO)
    }

    fn recovered(&self) {
        let mut health = self.lock();
        if health.failures > 0 {
            tracing::info!(url = %self.shown(), "the receiver of events answers again");
        }
        *health = Health::default();
    }

    /// Counts a failure; answers for how long the address is paused.
    fn failed(&self, now: Timestamp, event: &CloudEvent, failure: &str) -> Millis {
        let mut health = self.lock();
        // Posts that were under way concurrently count once.
        if health.until <= now {
            let doubled = PAUSE.0.0.saturating_mul(1 << health.failures.min(16));
            health.failures += 1;
            health.until = now + Millis(doubled.min(PAUSE.1.0));
            let (id, topic) = (&event.id, &event.topic);
            // The first failure is logged, and every tenth.
            if health.failures == 1 || health.failures.is_multiple_of(10) {
                tracing::warn!(
                    invocation = event.subject, %id, %topic, url = %self.shown(), failure,
                    failures = health.failures, "an event was not taken; it is posted again"
                );
            } else {
                tracing::debug!(
                    invocation = event.subject, %id, %topic, url = %self.shown(), failure,
                    "an event was not taken; it is posted again"
                );
            }
        }
        health.until.since(now)
    }

    /// The address without its parts that may be secret.
    fn shown(&self) -> String {
        let url = &self.route.url;
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
    }

    fn lock(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue, until dropped.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(line: &'a AtomicUsize) -> Self {
        line.fetch_add(1, Ordering::Relaxed);
        Self(line)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn sign(secret: &Secret, id: &str, seconds: i64, body: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.bytes()).expect("HMAC takes keys of any length");
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

/// An error with its causes. reqwest's own message leaves the causes out, and contains the address
/// with its secrets.
fn chain(error: &reqwest::Error) -> String {
    let mut text = if error.is_connect() { "it cannot be reached" } else { "no answer" }.to_owned();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use segno_core::{
        id::{CommandIndex, PromiseId},
        value::Value,
    };

    use super::*;
    use crate::events::EventId;

    #[test]
    fn a_signature_is_what_the_public_scheme_says() {
        let route = Route::new(vec![], "http://a/", Some("key")).expect("a route");
        // printf '%s' 'a/1.5.{}' | openssl dgst -sha256 -hmac key -binary | base64
        let expected = "v1,ZPdrWTiZXDB+j8siuJCUWLGDuANjz0yh3GzRxscpmSE=";
        assert_eq!(sign(&route.secret.expect("a secret"), "a/1", 5, b"{}"), expected);
    }

    #[test]
    fn an_address_that_fails_is_left_in_peace_for_longer_and_longer() {
        let receiver = Receiver::new(Route::new(vec![], "http://a/", None).expect("a route"));
        let id = EventId { source: PromiseId::from("a"), index: CommandIndex(1) };
        let event = CloudEvent::new(&id, "t", &Value::default(), Timestamp(0));
        let mut now = Timestamp(0);
        for expected in [100, 200, 400, 800, 1_600] {
            assert!(receiver.is_open(now));
            assert_eq!(receiver.failed(now, &event, "no").0, expected);
            assert!(!receiver.is_open(now));
            now = receiver.lock().until;
            let together = receiver.failed(now - Millis(1), &event, "no");
            assert_eq!(together.0, 1, "failures of posts that were under way count once");
        }
        for _ in 0..80 {
            now = now + receiver.failed(now, &event, "no");
        }
        assert_eq!(receiver.failed(now, &event, "no"), Millis(60_000));
        receiver.recovered();
        assert!(receiver.is_open(now));
        assert_eq!(receiver.failed(now, &event, "no"), Millis(100));
    }

    #[test]
    fn what_may_be_secret_in_an_address_is_not_logged() {
        let url = "https://user:pass@h:8/hook?token=t";
        let receiver = Receiver::new(Route::new(vec![], url, None).expect("a route"));
        assert_eq!(receiver.shown(), "https://h:8/hook");
    }
}
