//! The edges of the host: activities, requests and the beginnings of children wait here until the
//! explorer releases them.

mod guests;
mod outbound;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    id::PromiseId,
    promise::TaskStatus,
    time::{Millis, Timestamp},
};
use segno_engine::{target, values};
use segno_env::{Clock as _, HandClock};
use segno_guest::{Failure, HttpRequest, Payload};
use segno_store::{MemoryStore, Store as _};
use serde_json::Value as Json;
use tokio::sync::{Notify, oneshot};

pub(crate) use self::{guests::GuardedGuests, outbound::GuardedOutbound};
use crate::{
    effect::ExternalEffect, error::VerifyError, schedule::RelativeId, script::ScriptedOutcome,
    setup::VerifySetup,
};

/// Id of the invocation that is verified.
pub(crate) const ROOT: &str = "it";

/// The place of a promise; empty for the root.
pub(crate) fn place_of(id: &str) -> RelativeId {
    RelativeId(id.strip_prefix(ROOT).map_or(id, |rest| rest.trim_start_matches('/')).to_owned())
}

pub(crate) fn id_at(place: &RelativeId) -> PromiseId {
    match place.0.as_str() {
        "" => PromiseId::from(ROOT),
        place => PromiseId::new(format!("{ROOT}/{place}")),
    }
}

/// Work that waits to be released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExternalWork {
    /// An attempt of an activity.
    Activity(String),
    /// A request, as `METHOD URL`.
    Request(String),
    /// The beginning of a child.
    Child(String),
}

impl ExternalWork {
    /// A description of the event that releases it.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Activity(name) => format!("`{name}` completes"),
            Self::Request(request) => format!("{request} is answered"),
            Self::Child(name) => format!("child `{name}` begins"),
        }
    }
}

/// The way in which work is released.
enum ReleaseMode {
    /// The work runs to its end.
    Finish,
    /// The work runs to its end, but the host does not learn the result.
    Lose,
}

struct HeldWork {
    place: RelativeId,
    work: ExternalWork,
    life: u64,
    ready_at: Timestamp,
    order: oneshot::Sender<(ReleaseMode, oneshot::Sender<()>)>,
}

/// A waiting piece of work, as the explorer sees it.
#[derive(Debug, Clone)]
pub(crate) struct PendingWork {
    /// The promise that it belongs to.
    pub place: RelativeId,
    pub work: ExternalWork,
    /// Earliest time at which it can be released.
    pub ready_at: Timestamp,
}

/// The edges of one run, which outlast its hosts.
pub(crate) struct ExternalWorld {
    setup: Arc<VerifySetup>,
    time: Arc<HandClock>,
    memory: Arc<MemoryStore>,
    state: Mutex<ExternalState>,
    troubled: Notify,
}

#[derive(Default)]
struct ExternalState {
    waiting: Vec<HeldWork>,
    begun: BTreeSet<String>,
    effects: Vec<ExternalEffect>,
    trouble: Option<VerifyError>,
}

tokio::task_local! {
    /// The requests of the current attempt.
    static WITHIN: Arc<AttemptScope>;
}

struct AttemptScope {
    function: String,
    place: RelativeId,
    attempt: u32,
    requests: Mutex<Vec<ExternalEffect>>,
}

impl ExternalWorld {
    /// Creates the edges of a new run.
    pub(crate) fn new(
        setup: Arc<VerifySetup>,
        time: Arc<HandClock>,
        memory: Arc<MemoryStore>,
    ) -> Self {
        Self { setup, time, memory, state: Mutex::default(), troubled: Notify::new() }
    }

    /// The waiting work in order of arrival, one entry per promise.
    pub(crate) fn waiting(&self) -> Vec<PendingWork> {
        let mut state = self.lock();
        state.waiting.retain(|waiting| !waiting.order.is_closed());
        let mut seen = BTreeSet::new();
        let first = state.waiting.iter().filter(|waiting| seen.insert(waiting.place.clone()));
        first
            .map(|waiting| PendingWork {
                place: waiting.place.clone(),
                work: waiting.work.clone(),
                ready_at: waiting.ready_at,
            })
            .collect()
    }

    /// Releases all work that waits for this promise, that of earlier lives first, each to its end.
    pub(crate) async fn finish(&self, place: &RelativeId) {
        while let Some(done) = self.release(place, ReleaseMode::Finish) {
            self.until(done).await;
        }
    }

    /// Runs an attempt to its end without its host learning the result.
    pub(crate) async fn lose(&self, place: &RelativeId) {
        if let Some(done) = self.release(place, ReleaseMode::Lose) {
            self.until(done).await;
        }
    }

    /// Completes when an attempt is done or aborted, or cannot continue.
    async fn until(&self, done: oneshot::Receiver<()>) {
        tokio::select! {
            biased;
            _ = done => {}
            () = self.troubled.notified() => {}
        }
    }

    fn release(&self, place: &RelativeId, order: ReleaseMode) -> Option<oneshot::Receiver<()>> {
        let mut state = self.lock();
        state.waiting.retain(|waiting| !waiting.order.is_closed());
        let of_place = state.waiting.iter().enumerate().filter(|(_, it)| it.place == *place);
        let at = of_place.min_by_key(|(_, waiting)| waiting.life)?.0;
        let waiting = state.waiting.remove(at);
        let (done, ended) = oneshot::channel();
        let _ = waiting.order.send((order, done));
        Some(ended)
    }

    /// The external effects so far.
    pub(crate) fn effects(&self) -> Vec<ExternalEffect> {
        self.lock().effects.clone()
    }

    /// The reason that nothing can be verified, if any.
    pub(crate) fn trouble(&self) -> Option<VerifyError> {
        self.lock().trouble.clone()
    }

    fn lock(&self) -> MutexGuard<'_, ExternalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn wait(
        &self,
        place: &RelativeId,
        work: ExternalWork,
        life: u64,
        after_ms: u64,
    ) -> (ReleaseMode, oneshot::Sender<()>) {
        let (order, ordered) = oneshot::channel();
        let ready_at = self.time.now() + Millis(i64::try_from(after_ms).unwrap_or(i64::MAX));
        let waiting = HeldWork { place: place.clone(), work, life, ready_at, order };
        self.lock().waiting.push(waiting);
        match ordered.await {
            Ok(ordered) => ordered,
            // The run is over.
            Err(_) => std::future::pending().await,
        }
    }

    fn did(&self, effect: ExternalEffect) {
        let within = WITHIN.try_with(Arc::clone).ok();
        if let Some(within) = within {
            within.requests.lock().unwrap_or_else(PoisonError::into_inner).push(effect);
            return;
        }
        self.lock().effects.push(effect);
    }

    async fn stop<T>(&self, error: VerifyError) -> T {
        self.lock().trouble.get_or_insert(error);
        self.troubled.notify_one();
        std::future::pending().await
    }

    /// The promise and the attempt that a request of the host belongs to, found by the running
    /// task.
    async fn request_of(&self, key: Option<&str>, request: &HttpRequest) -> (RelativeId, u32) {
        let rows = self.memory.read().dump().await.unwrap_or_default();
        let attempt = |id: &PromiseId| rows.tasks.get(id).map_or(1, |task| task.attempt + 1);
        if let Some(key) = key {
            let id = PromiseId::from(key);
            if rows.promises.get(&id).is_some_and(|promise| promise.target() == Some(target::HTTP))
            {
                return (place_of(key), attempt(&id));
            }
        }
        let waiting: BTreeSet<RelativeId> = self.waiting().into_iter().map(|it| it.place).collect();
        let asked = |id: &PromiseId| {
            let promise = rows.promises.get(id).filter(|it| it.target() == Some(target::HTTP))?;
            let Payload::Json(input) = values::input(&promise.spec.param) else { return None };
            let input: Json = serde_json::from_str(&input).ok()?;
            (input["url"] == request.url.as_str() && input["method"] == request.method.as_str())
                .then(|| place_of(id.as_str()))
        };
        let running = rows.tasks.values().filter(|task| task.status() == TaskStatus::Acquired);
        let place = running.filter_map(|task| asked(&task.id)).find(|it| !waiting.contains(it));
        let place =
            place.unwrap_or_else(|| RelativeId(format!("request/{}", key.unwrap_or_default())));
        let attempts = attempt(&id_at(&place));
        (place, attempts)
    }
}

/// A payload in the form that scripts compare.
pub(crate) fn json_of(payload: &Payload) -> Json {
    match payload {
        Payload::Json(text) => values::shown(text.as_bytes()),
        Payload::Bytes(bytes) => Json::String(format!("{} bytes {:02x?}", bytes.len(), bytes)),
    }
}

fn failure(code: u32, scripted: &ScriptedOutcome) -> Failure {
    let message = scripted.message.clone().unwrap_or_else(|| "as the script says".to_owned());
    Failure { code, message, details: None }
}
