//! The ledger of effects: a service that performs each effect once for a key, and records every
//! request.

use std::{
    collections::BTreeMap,
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
use segno::runtime::Env;
use segno_core::time::Millis;
use serde::Deserialize;
use tokio::net::TcpListener;

use super::report::Findings;

/// The behaviour of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Normal answers.
    Normal = 0,
    /// Answers 503, and performs nothing.
    Refusing = 1,
    /// Performs the effect, and loses the answer.
    Silent = 2,
}

/// The state of one effect.
#[derive(Debug, Clone)]
struct Entry {
    key: String,
    receipt: u64,
}

/// The ledger and its service.
pub struct Ledger {
    entries: Mutex<BTreeMap<(String, u32), Entry>>,
    mode: AtomicU8,
    requests: AtomicU64,
    findings: Arc<Findings>,
    env: Env,
}

#[derive(Deserialize)]
struct Effect {
    flow: String,
    step: u32,
}

impl Ledger {
    /// Serves on a free port; answers the address.
    ///
    /// # Panics
    /// There is no free port.
    pub async fn start(findings: &Arc<Findings>, env: &Env) -> (Arc<Self>, String) {
        let ledger = Arc::new(Self {
            entries: Mutex::default(),
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

    /// Sets the behaviour.
    pub fn set_mode(&self, mode: Mode) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    /// The receipts of a flow's effects, in the order of their steps.
    pub fn receipts(&self, flow: &str) -> Vec<u64> {
        let all = self.entries();
        let of_flow = all.range((flow.to_owned(), 0)..=(flow.to_owned(), u32::MAX));
        of_flow.map(|(_, entry)| entry.receipt).collect()
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<(String, u32), Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs the effect, unless it was done under this key. The same effect under another key is
    /// a finding.
    fn act(&self, effect: Effect, key: &str) -> u64 {
        let mut entries = self.entries();
        let fresh = entries.len() as u64;
        let what = format!("effect {} of flow `{}`", effect.step, effect.flow);
        let entry = entries
            .entry((effect.flow, effect.step))
            .or_insert_with(|| Entry { key: key.to_owned(), receipt: fresh });
        if entry.key != key {
            let first = &entry.key;
            self.findings.add(format!("{what} came under the key `{key}` after `{first}`"));
        }
        entry.receipt
    }
}

async fn effect(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    Json(effect): Json<Effect>,
) -> Result<Json<u64>, StatusCode> {
    ledger.requests.fetch_add(1, Ordering::Relaxed);
    let mode = ledger.mode.load(Ordering::Relaxed);
    if mode == Mode::Refusing as u8 {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    let Some(key) = headers.get("idempotency-key").and_then(|key| key.to_str().ok()) else {
        ledger.findings.add(format!("effect {} of `{}` has no key", effect.step, effect.flow));
        return Err(StatusCode::BAD_REQUEST);
    };
    let receipt = ledger.act(effect, key);
    if mode == Mode::Silent as u8 {
        ledger.env.runtime.sleep(Millis(3_000)).await;
        return Err(StatusCode::BAD_GATEWAY);
    }
    Ok(Json(receipt))
}
