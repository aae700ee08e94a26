//! The ledger of effects: a service that performs each effect once per key, and records every
//! request.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use segno_core::time::Millis;
use segno_env::Env;
use serde::Deserialize;
use tokio::net::TcpListener;

use super::report::Findings;

/// Behaviour of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Answers normally.
    Normal = 0,
    /// Answers 503, and performs no effect.
    Refusing = 1,
    /// Performs the effect, and drops the answer.
    Silent = 2,
}

/// Record of one effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Sequence number of the effect among all effects. `None` until it has happened.
    pub receipt: Option<u64>,
    /// Number of requests for the effect.
    pub requests: u32,
    /// Receipt of the effect that this one undoes, from the first request that named one.
    pub of: Option<u64>,
}

/// An effect, and the key of its first request.
#[derive(Debug)]
struct Entry {
    key: String,
    seen: Seen,
}

/// The ledger and its HTTP service.
pub struct Ledger {
    entries: Mutex<BTreeMap<(String, u32), Entry>>,
    receipts: AtomicU64,
    mode: AtomicU8,
    requests: AtomicU64,
    findings: Arc<Findings>,
    env: Env,
}

#[derive(Deserialize)]
struct Effect {
    flow: String,
    step: u32,
    /// HTTP status with which the effect is declined. `None`: it is accepted.
    refuse: Option<u16>,
    of: Option<u64>,
}

impl Ledger {
    /// Starts the service on a free port. Returns its address.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn start(findings: &Arc<Findings>, env: &Env) -> (Arc<Self>, String) {
        let ledger = Arc::new(Self {
            entries: Mutex::default(),
            receipts: AtomicU64::new(0),
            mode: AtomicU8::new(Mode::Normal as u8),
            requests: AtomicU64::new(0),
            findings: findings.clone(),
            env: env.clone(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = format!("http://{}", listener.local_addr().expect("the listener is bound"));
        let router = Router::new().route("/effects", post(effect)).with_state(ledger.clone());
        let serving = async move { axum::serve(listener, router).await.expect("it serves") };
        env.runtime.spawn("ledger", Box::pin(serving));
        (ledger, address)
    }

    /// Sets the behaviour from now on.
    pub fn set_mode(&self, mode: Mode) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    /// Receipts of a flow's effects, in the order of their steps.
    pub fn receipts(&self, flow: &str) -> Vec<u64> {
        self.effects(flow).values().filter_map(|seen| seen.receipt).collect()
    }

    /// Records of a flow's effects, by step.
    pub fn effects(&self, flow: &str) -> BTreeMap<u32, Seen> {
        let all = self.entries();
        let of_flow = all.range((flow.to_owned(), 0)..=(flow.to_owned(), u32::MAX));
        of_flow.map(|((_, step), entry)| (*step, entry.seen)).collect()
    }

    /// Names of the flows that begin with `prefix`.
    pub fn flows(&self, prefix: &str) -> BTreeSet<String> {
        let all = self.entries();
        let from = all.range((prefix.to_owned(), 0)..).map(|((flow, _), _)| flow);
        from.take_while(|flow| flow.starts_with(prefix)).cloned().collect()
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<(String, u32), Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request. Performs the effect if `acts` is true, unless it was already performed or
    /// is declined. A request for the same effect under another key is a finding.
    fn take(&self, effect: &Effect, key: &str, acts: bool) -> u64 {
        let mut entries = self.entries();
        let entry = entries
            .entry((effect.flow.clone(), effect.step))
            .or_insert_with(|| Entry { key: key.to_owned(), seen: Seen::default() });
        if entry.key != key {
            let (step, flow, first) = (effect.step, &effect.flow, &entry.key);
            let finding =
                format!("effect {step} of `{flow}` came under the key `{key}` after `{first}`");
            self.findings.add(finding);
        }
        entry.seen.requests += 1;
        entry.seen.of = entry.seen.of.or(effect.of);
        if acts && effect.refuse.is_none() && entry.seen.receipt.is_none() {
            entry.seen.receipt = Some(self.receipts.fetch_add(1, Ordering::Relaxed));
        }
        entry.seen.receipt.unwrap_or_default()
    }
}

async fn effect(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    Json(effect): Json<Effect>,
) -> Result<Json<u64>, StatusCode> {
    ledger.requests.fetch_add(1, Ordering::Relaxed);
    let mode = ledger.mode.load(Ordering::Relaxed);
    let Some(key) = headers.get("idempotency-key").and_then(|key| key.to_str().ok()) else {
        ledger.findings.add(format!("effect {} of `{}` has no key", effect.step, effect.flow));
        return Err(StatusCode::BAD_REQUEST);
    };
    let receipt = ledger.take(&effect, key, mode != Mode::Refusing as u8);
    if mode == Mode::Refusing as u8 {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    if mode == Mode::Silent as u8 {
        ledger.env.runtime.sleep(Millis(3_000)).await;
        return Err(StatusCode::BAD_GATEWAY);
    }
    match effect.refuse {
        Some(status) => Err(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST)),
        None => Ok(Json(receipt)),
    }
}
