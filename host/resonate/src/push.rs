//! Messages to workers with an HTTP address. An address that hangs, refuses or fails uses few
//! connections and little memory, is paused for increasing times, and delays no other address.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use reqwest::{Client, Url, header};
use segno_core::time::Millis;
use segno_engine::{
    delivery::{
        Reach,
        backoff::{AddressHealth, BackoffSettings, causes, shown},
    },
    host::Host,
    metrics::PushResult,
};
use segno_env::{HttpVersions, http_client_within};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of messages in transit to one server.
const AT_ONCE: usize = 16;
/// Maximum number of messages in transit to all servers.
const IN_ALL: usize = 256;
/// Maximum number of tasks being offered, including those that wait for a retry. Further tasks are
/// left to their own retry timers.
const OFFERS: usize = 1_024;
/// Maximum number of servers, and of failing addresses, that are remembered.
const REMEMBERED: usize = 1_024;
/// The timeout of one post.
const POST_TIMEOUT: Millis = Millis(10_000);
/// Delays between attempts to offer a task.
const PAUSES: [Millis; 3] = [Millis(100), Millis(500), Millis(2_000)];
/// Pauses of an address that fails.
const ADDRESS_PAUSES: BackoffSettings =
    BackoffSettings { first: Millis(100), longest: Millis(30_000) };
/// Delay before retrying if too many messages are in transit.
const RETRY_AFTER: Millis = Millis(200);

/// Posts messages. Cheap to clone.
#[derive(Clone)]
pub(super) struct PushClient {
    host: Host,
    http: Client,
    reach: Reach,
    in_all: Arc<Semaphore>,
    offers: Arc<Semaphore>,
    known: Arc<Mutex<PushState>>,
}

#[derive(Default)]
struct PushState {
    /// Permits for messages being posted to each server.
    servers: BTreeMap<String, Arc<Semaphore>>,
    /// Addresses that failed and have not accepted a message since.
    failing: BTreeMap<Url, FailingAddress>,
}

/// Health of an address that fails.
#[derive(Clone, Copy, Default)]
struct FailingAddress {
    health: AddressHealth,
    /// True while a message is in transit to test if the address has recovered.
    probed: bool,
}

/// The message was not accepted; an attempt before the delay is useless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PushRefusal {
    /// The minimum delay before the next attempt.
    pub(super) wait: Millis,
}

impl PushClient {
    pub(super) fn new(host: Host, reach: Reach) -> Result<Self, reqwest::Error> {
        let http = http_client_within(reach, HttpVersions::All).build()?;
        let in_all = Arc::new(Semaphore::new(IN_ALL));
        let offers = Arc::new(Semaphore::new(OFFERS));
        Ok(Self { host, http, reach, in_all, offers, known: Arc::default() })
    }

    /// Posts a message in the background, with a few retries.
    pub(super) fn insist(&self, url: String, message: Bytes) {
        let Ok(offer) = self.offers.clone().try_acquire_owned() else {
            self.count(PushResult::HeldBack);
            return tracing::debug!(url, "too many tasks are being offered; this one comes later");
        };
        let push = self.clone();
        let posting = async move {
            let _offer = offer;
            for pause in PAUSES {
                let Err(PushRefusal { wait }) = push.once(&url, message.clone()).await else {
                    return;
                };
                let wait = wait.max(pause);
                if wait > PAUSES[PAUSES.len() - 1] {
                    break;
                }
                push.host.env.runtime.sleep(wait).await;
            }
            tracing::debug!(url, "a worker did not take a task; it is offered again later");
        };
        self.host.env.runtime.spawn("push", Box::pin(posting));
    }

    /// Number of tasks being offered.
    #[cfg(test)]
    pub(super) fn offering(&self) -> usize {
        OFFERS - self.offers.available_permits()
    }

    /// Number of messages in transit.
    #[cfg(test)]
    pub(super) fn under_way(&self) -> usize {
        IN_ALL - self.in_all.available_permits()
    }

    /// Posts a message once. Posts nothing to a paused address or to a server with too many
    /// messages in transit.
    ///
    /// # Errors
    /// [`PushRefusal`].
    pub(super) async fn once(&self, url: &str, message: Bytes) -> Result<(), PushRefusal> {
        // Addresses are validated when a client gives them.
        let Ok(url) = Url::parse(url) else {
            return Err(PushRefusal { wait: ADDRESS_PAUSES.longest });
        };
        let _room = self.room(&url).inspect_err(|_| self.count(PushResult::HeldBack))?;
        if let Err(private) = self.reach.allows(&url) {
            self.count(PushResult::Failed);
            return Err(PushRefusal { wait: self.failed(&url, &private.to_string()) });
        }
        let env = &self.host.env;
        let request = self.http.post(url.clone()).header(header::CONTENT_TYPE, "application/json");
        // The body of the response is ignored, and not read.
        let answer = env.within(POST_TIMEOUT, request.body(message).send()).await;
        let (pushed, failure) = match answer {
            Some(Ok(response)) if response.status().is_success() => {
                self.count(PushResult::Taken);
                self.recovered(&url);
                return Ok(());
            }
            Some(Ok(response)) => {
                (PushResult::Refused, format!("it answered {}", response.status()))
            }
            Some(Err(error)) => (PushResult::Failed, causes(&error)),
            None => (PushResult::Failed, format!("no answer within {} s", POST_TIMEOUT.0 / 1_000)),
        };
        self.count(pushed);
        Err(PushRefusal { wait: self.failed(&url, &failure) })
    }

    /// Takes the permits for a message, held until dropped.
    fn room(&self, url: &Url) -> Result<[OwnedSemaphorePermit; 2], PushRefusal> {
        let now = self.host.env.clock.now();
        let full = || PushRefusal { wait: RETRY_AFTER };
        let mut known = self.lock();
        if let Some(failing) = known.failing.get(url) {
            let left = failing.health.pause(now);
            if left > Millis::ZERO || failing.probed {
                return Err(PushRefusal { wait: left.max(RETRY_AFTER) });
            }
        }
        let server = url.authority().to_owned();
        if known.servers.len() >= REMEMBERED && !known.servers.contains_key(&server) {
            known.servers.retain(|_, room| room.available_permits() < AT_ONCE);
        }
        let room = known.servers.entry(server).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE)));
        let of_server = room.clone().try_acquire_owned().map_err(|_| full())?;
        let of_all = self.in_all.clone().try_acquire_owned().map_err(|_| full())?;
        if let Some(failing) = known.failing.get_mut(url) {
            failing.probed = true;
        }
        Ok([of_server, of_all])
    }

    fn recovered(&self, url: &Url) {
        if self.lock().failing.remove(url).is_some() {
            tracing::info!(url = shown(url), "the worker takes messages again");
        }
    }

    /// Counts a failure. Returns the duration of the address's pause.
    fn failed(&self, url: &Url, failure: &str) -> Millis {
        let now = self.host.env.clock.now();
        let mut known = self.lock();
        if known.failing.len() >= REMEMBERED && !known.failing.contains_key(url) {
            known.failing.retain(|_, failing| failing.health.pause(now) > Millis::ZERO);
            if known.failing.len() >= REMEMBERED {
                return ADDRESS_PAUSES.first;
            }
        }
        let failing = known.failing.entry(url.clone()).or_default();
        failing.probed = false;
        let failed = failing.health.failed(now, ADDRESS_PAUSES);
        if failed.is_news() {
            tracing::warn!(
                url = shown(url),
                failure,
                failures = failed.counted,
                "a worker did not take a message; it is posted again"
            );
        }
        failed.pause
    }

    fn count(&self, pushed: PushResult) {
        self.host.metrics.delivery.pushed(pushed);
    }

    fn lock(&self) -> MutexGuard<'_, PushState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
