//! Messages to workers with an HTTP address. An address that hangs, refuses or fails costs few
//! connections and little memory, is paused for longer and longer, and delays no other address.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use reqwest::{Client, Url, header, redirect::Policy};
use segno_core::time::{Millis, Timestamp};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use segno_engine::delivery::Reach;
use segno_engine::host::Host;
use segno_engine::metrics::Pushed;
use segno_env::provide_tls;

/// Maximum number of messages being posted to one server.
const AT_ONCE: usize = 16;
/// Maximum number of messages being posted to all servers.
const IN_ALL: usize = 256;
/// Maximum number of tasks being offered, including those that will be tried again in a moment.
/// Further tasks are left to their own retries.
const OFFERS: usize = 1_024;
/// Maximum number of servers, and of failing addresses, that are remembered.
const REMEMBERED: usize = 1_024;
/// The timeout of one post.
const PATIENCE: Millis = Millis(10_000);
/// Delays between attempts to offer a task.
const PAUSES: [Millis; 3] = [Millis(100), Millis(500), Millis(2_000)];
/// The pause after a failure of an address: the first one, and the longest.
const PEACE: (Millis, Millis) = (Millis(100), Millis(30_000));
/// The delay before the next attempt when too many messages are being posted.
const SOON: Millis = Millis(200);

/// Posts messages. Cheap to clone.
#[derive(Clone)]
pub(super) struct Push {
    host: Host,
    http: Client,
    reach: Reach,
    in_all: Arc<Semaphore>,
    offers: Arc<Semaphore>,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    /// Permits for messages being posted to each server.
    servers: BTreeMap<String, Arc<Semaphore>>,
    /// Addresses that failed and have not accepted a message since.
    failing: BTreeMap<Url, Failing>,
}

/// What recent posts showed about a failing address.
#[derive(Clone, Copy, Default)]
struct Failing {
    /// Failures since the last success.
    failures: u32,
    /// No post before this instant.
    until: Timestamp,
    /// Whether one message is being posted to test the address.
    probed: bool,
}

/// The message was not accepted; an earlier attempt makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotTaken {
    /// The minimum delay before the next attempt.
    pub(super) wait: Millis,
}

impl Push {
    pub(super) fn new(host: Host, reach: Reach) -> Result<Self, reqwest::Error> {
        provide_tls();
        let http = Client::builder()
            .redirect(Policy::none())
            // A proxy would resolve names itself, without the check.
            .no_proxy()
            .dns_resolver(Arc::new(reach))
            .user_agent(concat!("segno/", env!("CARGO_PKG_VERSION")))
            .build()?;
        let in_all = Arc::new(Semaphore::new(IN_ALL));
        let offers = Arc::new(Semaphore::new(OFFERS));
        Ok(Self { host, http, reach, in_all, offers, known: Arc::default() })
    }

    /// Posts a message in the background; tries a few times.
    pub(super) fn insist(&self, url: String, message: Bytes) {
        let Ok(offer) = self.offers.clone().try_acquire_owned() else {
            self.count(Pushed::HeldBack);
            return tracing::debug!(url, "too many tasks are being offered; this one comes later");
        };
        let push = self.clone();
        let posting = async move {
            let _offer = offer;
            for pause in PAUSES {
                let Err(NotTaken { wait }) = push.once(&url, message.clone()).await else { return };
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

    /// Number of messages being posted.
    #[cfg(test)]
    pub(super) fn under_way(&self) -> usize {
        IN_ALL - self.in_all.available_permits()
    }

    /// Posts a message once. Nothing is posted to a paused address, nor to a server with too many
    /// messages under way.
    ///
    /// # Errors
    /// [`NotTaken`].
    pub(super) async fn once(&self, url: &str, message: Bytes) -> Result<(), NotTaken> {
        // Addresses are checked when they are registered.
        let Ok(url) = Url::parse(url) else { return Err(NotTaken { wait: PEACE.1 }) };
        let _room = self.room(&url).inspect_err(|_| self.count(Pushed::HeldBack))?;
        if let Err(private) = self.reach.allows(&url) {
            self.count(Pushed::Failed);
            return Err(NotTaken { wait: self.failed(&url, &private.to_string()) });
        }
        let env = &self.host.env;
        let request = self.http.post(url.clone()).header(header::CONTENT_TYPE, "application/json");
        // The body of the answer is ignored, and not read.
        let answer = env.within(PATIENCE, request.body(message).send()).await;
        let (pushed, failure) = match answer {
            Some(Ok(response)) if response.status().is_success() => {
                self.count(Pushed::Taken);
                self.recovered(&url);
                return Ok(());
            }
            Some(Ok(response)) => (Pushed::Refused, format!("it answered {}", response.status())),
            Some(Err(error)) => (Pushed::Failed, said(&error)),
            None => (Pushed::Failed, format!("no answer within {} s", PATIENCE.0 / 1_000)),
        };
        self.count(pushed);
        Err(NotTaken { wait: self.failed(&url, &failure) })
    }

    /// Permits for a message, held until dropped.
    fn room(&self, url: &Url) -> Result<[OwnedSemaphorePermit; 2], NotTaken> {
        let now = self.host.env.clock.now();
        let full = || NotTaken { wait: SOON };
        let mut known = self.lock();
        if let Some(failing) = known.failing.get(url) {
            let left = failing.until.since(now);
            if left > Millis::ZERO || failing.probed {
                return Err(NotTaken { wait: left.max(SOON) });
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

    /// Counts a failure; answers for how long the address is paused.
    fn failed(&self, url: &Url, failure: &str) -> Millis {
        let now = self.host.env.clock.now();
        let mut known = self.lock();
        if known.failing.len() >= REMEMBERED && !known.failing.contains_key(url) {
            known.failing.retain(|_, failing| failing.until > now);
            if known.failing.len() >= REMEMBERED {
                return PEACE.0;
            }
        }
        let failing = known.failing.entry(url.clone()).or_default();
        failing.probed = false;
        // Messages posted concurrently count once.
        if failing.until <= now {
            let doubled = PEACE.0.0.saturating_mul(1 << failing.failures.min(16));
            failing.failures += 1;
            failing.until = now + Millis(doubled.min(PEACE.1.0));
            let failures = failing.failures;
            // The first failure is logged, and every tenth.
            if failures == 1 || failures.is_multiple_of(10) {
                tracing::warn!(
                    url = shown(url),
                    failure,
                    failures,
                    "a worker did not take a message; it is posted again"
                );
            }
        }
        failing.until.since(now)
    }

    fn count(&self, pushed: Pushed) {
        self.host.metrics.delivery.pushed(pushed);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An address without its parts that may be secret.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// An error with its causes, without the address, which may hold a secret.
fn said(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let words: Vec<String> = causes.map(ToString::to_string).collect();
    if words.is_empty() { "it could not be reached".to_owned() } else { words.join(": ") }
}
