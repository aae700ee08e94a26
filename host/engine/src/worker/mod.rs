//! The worker claims tasks of hosted targets and runs them: claim, run, suspend or fulfill,
//! heartbeat.
//!
//! All state of a worker is also in the store. A worker killed at any instant leaves claims whose
//! leases expire (or that its next incarnation releases), and journals from which any host
//! continues.

// The path from a ready task to the committed commands. Each file depends on the files below it.
mod acquire;
mod activity;
mod asking;
mod attempt_blobs;
mod attempt_body;
mod attempt_costs;
mod attempt_start;
mod attempt_streams;
mod budget_call;
pub(crate) mod context;
mod dispatcher;
mod execution;
mod graph_run;
mod run;
mod start;
mod stream_call;

// The guest's journal.
pub mod commands;
pub mod fork;
pub mod recording;
pub mod replay;
mod snapshot;

// The parts of a worker.
mod heartbeat;
mod http_step;
mod instance_cache;
mod log_span;
mod put_off;
mod run_limiter;
mod task_versions;
mod trap_report;
mod warm;

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::Holder,
    promise::{LeasePolicy, ReleaseReason},
    time::Millis,
};
use segno_guest::Guests;
use tokio_util::sync::CancellationToken;

pub use asking::{AskError, QueryReplicas, Question, QuestionAnswer, ask};
pub use http_step::request_once;
pub use instance_cache::WarmBudget;
pub use replay::{ReplayError, ReplayReport, replay, replay_to};
pub use trap_report::{TrapLine, TrapReport};

use self::{
    context::WorkerContext, graph_run::RunCache, heartbeat::ImmediateRenewer,
    put_off::DeferredRetries, run_limiter::RunLimiter, start::SpeculativeStart,
    task_versions::TaskVersions, warm::WarmCache,
};
use crate::{
    claim::ActiveClaims,
    host::Host,
    lease_ttl::AdaptiveLeaseTtl,
    slots::{self, ExecutionSlots, SlotLimits},
};

/// The limits of a worker.
#[derive(Debug, Clone, Copy)]
pub struct WorkerSettings {
    /// Maximum number of workflows and graph runs executed concurrently, including those that are
    /// waiting warm for a short time.
    pub slots: usize,
    /// Maximum number of concurrent HTTP steps and attempts of services. `None`: four times
    /// `slots`.
    pub requests: Option<usize>,
    /// Maximum number of concurrent attempts of activities, in places of the instance pool. `None`:
    /// `slots`. At most three quarters of the pool in any case.
    pub activities: Option<usize>,
    /// The number of processors that execute guests.
    pub processors: usize,
    /// The interval between scans of the store for tasks whose hints were lost.
    pub scan_period: Millis,
    /// The budget of suspended instances.
    pub warm: WarmBudget,
    /// True if an invocation runs before it is stored, which saves one commit at its start.
    pub speculative_starts: bool,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            slots: 1_000,
            requests: None,
            activities: None,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            scan_period: Millis(5_000),
            warm: WarmBudget { instances: 512, bytes: 256 << 20 },
            speculative_starts: true,
        }
    }
}

impl WorkerSettings {
    /// The slots of each kind, over a pool of instances for these guests.
    fn limits(&self, guests: &dyn Guests) -> SlotLimits {
        let instances = guests.limits().map_or(usize::MAX, |limits| limits.instances as usize);
        // The rest of the pool is left to workflows.
        let most = instances - instances / 4;
        SlotLimits {
            executions: self.slots,
            requests: self.requests.unwrap_or(self.slots.saturating_mul(4)),
            activities: self.activities.unwrap_or(self.slots).min(most),
        }
    }
}

/// A running worker.
pub struct Worker {
    worker: Arc<WorkerContext>,
    /// Kept alive: the host refers to these slots weakly.
    _slots: Arc<ExecutionSlots>,
    idle: CancellationToken,
    stopped: CancellationToken,
}

impl Worker {
    /// Starts to claim tasks in the name of `holder`.
    ///
    /// # Panics
    /// If the host has a worker already: hints go to one worker.
    pub fn start(host: Host, holder: Holder, settings: WorkerSettings) -> Self {
        let hints = host.notifier.take_dispatched().expect("a host has one worker");
        let worker = Arc::new(WorkerContext {
            holder,
            claims: ActiveClaims::default(),
            callers: Arc::default(),
            warm: WarmCache::new(settings.warm),
            runs: RunCache::new(settings.warm.bytes / 4),
            draining: CancellationToken::new(),
            lease_ttl: Arc::new(AdaptiveLeaseTtl::new(LeasePolicy::of(host.config.ttl))),
            superseded: CancellationToken::new(),
            put_off: DeferredRetries::default(),
            snapshots: snapshot::SnapshotMaker::default(),
            task_versions: TaskVersions::default(),
            speculative_starts: settings.speculative_starts,
            run_limiter: RunLimiter::new(
                settings.processors,
                host.commit_latency.clone(),
                host.metrics.clone(),
                host.env.runtime.clone(),
            ),
            host,
        });
        let waiting = Arc::downgrade(&worker);
        worker.host.guests.when_full(Arc::new(move |module| {
            let Some(worker) = waiting.upgrade() else { return false };
            let dropped =
                worker.host.shadows.drop_oldest(module) || worker.warm.drop_oldest(module);
            worker.show_warm();
            dropped
        }));
        let (idle, stopped) = (CancellationToken::new(), CancellationToken::new());
        let runtime = worker.host.env.runtime.clone();
        runtime.spawn("heartbeat", Box::pin(heartbeat::run(worker.clone(), stopped.clone())));
        let claims = slots::ClaimContext {
            holder: worker.holder.clone(),
            lease_ttl: worker.lease_ttl.clone(),
            renewer: Arc::new(ImmediateRenewer(worker.clone())),
            optimistic_start: Arc::new(SpeculativeStart(worker.clone())),
            env: worker.host.env.clone(),
            draining: worker.draining.clone(),
        };
        let (slots, counter) = slots::pool(claims, settings.limits(&*worker.host.guests));
        let slots = Arc::new(slots);
        worker.host.open_slots(&slots);
        let dispatcher =
            dispatcher::run(worker.clone(), hints, counter, settings.scan_period, idle.clone());
        runtime.spawn("dispatcher", Box::pin(dispatcher));
        Self { worker, _slots: slots, idle, stopped }
    }

    /// Cancelled when another host begins an incarnation under this node's name. This worker must
    /// then stop.
    pub fn superseded(&self) -> CancellationToken {
        self.worker.superseded.clone()
    }

    /// Claims no more tasks, waits until the running executions suspend or end, and releases claims
    /// that are still active after `limit`. Returns the number of released claims.
    pub async fn shutdown(&self, limit: Millis) -> usize {
        self.worker.draining.cancel();
        self.worker.host.env.within(limit, self.idle.cancelled()).await;
        let active = self.worker.claims.all();
        let releases: Vec<Command> = active
            .iter()
            .map(|active| {
                active.abort.cancel();
                Command::TaskRelease {
                    claim: active.claim.clone(),
                    reason: ReleaseReason::Shutdown,
                }
            })
            .collect();
        let left = releases.len();
        for release in releases {
            if let Err(error) = self.worker.submit(vec![release]).await {
                tracing::warn!(?error, "a claim could not be given back; its lease runs out");
            }
        }
        self.stopped.cancel();
        self.worker.warm.clear();
        self.worker.host.shadows.clear();
        self.worker.runs.clear();
        left
    }
}
