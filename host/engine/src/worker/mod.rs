//! Takes tasks of hosted targets and runs them: acquire, run, suspend or fulfill, heartbeat.
//!
//! A worker holds nothing that is not also in the store. Killed at any instant, it leaves claims whose leases run out
//! (or that its next life gives back), and journals from which any host goes on.

mod action;
mod activity;
mod batch;
mod beginning;
mod birth;
mod claims;
pub mod convention;
mod dispatcher;
mod execution;
mod failure;
mod heartbeat;
mod http_step;
mod log_span;
mod open;
pub mod outcome;
mod pages;
mod put_off;
mod recorder;
pub mod replay;
pub mod request;
mod rerun;
mod run_limiter;
mod shared;
mod taking;
mod warm;
mod watching;

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::Holder,
    promise::{LeasePolicy, Promise, ReleaseReason},
    time::Millis,
};
use tokio_util::sync::CancellationToken;

pub use action::{HTTP, MODULE_HEADER};
pub use replay::{ReplayError, ReplayReport, replay};
pub use rerun::rerun;
pub use warm::WarmBudget;

use self::{
    claims::Claims, put_off::PutOff, run_limiter::RunLimiter, shared::Shared, warm::WarmCache,
};
use crate::{
    host::Host,
    lease_ttl::AdaptiveLeaseTtl,
    slots::{self, ExecutionSlots},
};

/// How much a worker does at once.
#[derive(Debug, Clone, Copy)]
pub struct WorkerSettings {
    /// Tasks run at once; those that wait warm for a moment count.
    pub room: usize,
    /// The processors that execute guests.
    pub processors: usize,
    /// How often the store is scanned for tasks whose hints were lost.
    pub scan_period: Millis,
    /// Suspended instances kept.
    pub warm: WarmBudget,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            room: 1_000,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            scan_period: Millis(5_000),
            warm: WarmBudget { instances: 512, bytes: 256 << 20 },
        }
    }
}

/// A running worker.
pub struct Worker {
    shared: Arc<Shared>,
    /// The notifier knows it as long as this worker lives.
    _slots: Arc<ExecutionSlots>,
    idle: CancellationToken,
    stopped: CancellationToken,
}

impl Worker {
    /// Begins to take tasks in the name of `holder`.
    ///
    /// # Panics
    /// If the host has a worker already: hints go to one.
    pub fn start(host: Host, holder: Holder, settings: WorkerSettings) -> Self {
        let hints = host.notifier.take_dispatched().expect("a host has one worker");
        let shared = Arc::new(Shared {
            holder,
            claims: Claims::default(),
            warm: WarmCache::new(settings.warm),
            draining: CancellationToken::new(),
            lease_ttl: Arc::new(AdaptiveLeaseTtl::new(LeasePolicy::of(host.config.ttl))),
            superseded: CancellationToken::new(),
            put_off: PutOff::default(),
            births: birth::Births::default(),
            run_limiter: RunLimiter::new(
                settings.processors,
                host.notifier.clone(),
                host.env.runtime.clone(),
            ),
            host,
        });
        let waiting = Arc::downgrade(&shared);
        shared.host.guests.when_full(Arc::new(move |module| {
            let Some(shared) = waiting.upgrade() else { return false };
            let dropped = shared.warm.drop_oldest(module);
            shared.show_warm();
            dropped
        }));
        let (idle, stopped) = (CancellationToken::new(), CancellationToken::new());
        let runtime = shared.host.env.runtime.clone();
        runtime.spawn("heartbeat", Box::pin(heartbeat::run(shared.clone(), stopped.clone())));
        let claims = slots::ClaimContext {
            holder: shared.holder.clone(),
            lease_ttl: shared.lease_ttl.clone(),
            renewer: Arc::new(heartbeat::AtOnce(shared.clone())),
            optimistic_start: Arc::new(beginning::Begins(shared.clone())),
            env: shared.host.env.clone(),
            draining: shared.draining.clone(),
        };
        let (slots, counter) = slots::pool(claims, settings.room);
        let slots = Arc::new(slots);
        shared.host.notifier.open(&slots);
        let dispatcher =
            dispatcher::run(shared.clone(), hints, counter, settings.scan_period, idle.clone());
        runtime.spawn("dispatcher", Box::pin(dispatcher));
        Self { shared, _slots: slots, idle, stopped }
    }

    /// Cancelled when another host has begun a life under this one's name: this one does nothing any more.
    pub fn superseded(&self) -> CancellationToken {
        self.shared.superseded.clone()
    }

    /// Takes no more tasks, lets the running ones come to a point where they can wait, and gives back what is still
    /// held after `limit`. Answers how many claims that were.
    pub async fn shutdown(&self, limit: Millis) -> usize {
        self.shared.draining.cancel();
        self.shared.host.env.within(limit, self.idle.cancelled()).await;
        let held = self.shared.claims.all();
        let releases: Vec<Command> = held
            .iter()
            .map(|held| {
                held.abort.cancel();
                Command::TaskRelease { claim: held.claim.clone(), reason: ReleaseReason::Shutdown }
            })
            .collect();
        let left = releases.len();
        for release in releases {
            if let Err(error) = self.shared.submit(vec![release]).await {
                tracing::warn!(?error, "a claim could not be given back; its lease runs out");
            }
        }
        self.stopped.cancel();
        self.shared.warm.clear();
        left
    }
}

/// The name under which policies know the module of this invocation: the one it was called by, or its caller's if it
/// was called within a module. Only an invocation says what its own module is; a client's header says nothing.
pub fn module_name(promise: &Promise) -> String {
    let target = promise.target().unwrap_or_default();
    let named = target.strip_prefix("wasm://").and_then(|rest| rest.split_once('/'));
    match named {
        Some((module, _)) if !module.is_empty() => module.to_owned(),
        _ if promise.birth.made_by.is_none() => String::new(),
        _ => promise.birth.param.headers.get(MODULE_HEADER).cloned().unwrap_or_default(),
    }
}
