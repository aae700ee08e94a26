//! Takes tasks of hosted targets and runs them: acquire, run, suspend or fulfill, heartbeat.
//!
//! A worker holds nothing that is not also in the store. Killed at any instant, it leaves claims whose leases run out
//! (or that its next life gives back), and journals from which any host goes on.

// Under a claim, from the task that is ready to the commands that are committed. Each file knows the
// ones below it.
mod acquire;
mod activity;
mod context;
mod dispatcher;
mod execution;
mod release;
mod run;
mod start;

// The guest's journal.
pub mod commands;
pub mod recording;
pub mod replay;

// The parts of a worker.
mod claims;
mod error;
mod heartbeat;
mod http_step;
mod log_span;
mod put_off;
mod run_limiter;
mod settlement_watch;
mod task_versions;
mod warm;

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::Holder,
    promise::{LeasePolicy, ReleaseReason},
    time::Millis,
};
use tokio_util::sync::CancellationToken;

pub use replay::{ReplayError, ReplayReport, replay};
pub use warm::WarmBudget;

use self::{
    claims::Claims, context::WorkerContext, heartbeat::RenewAtOnce, put_off::PutOff,
    run_limiter::RunLimiter, start::SpeculativeStart, task_versions::TaskVersions, warm::WarmCache,
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
    pub slots: usize,
    /// The processors that execute guests.
    pub processors: usize,
    /// How often the store is scanned for tasks whose hints were lost.
    pub scan_period: Millis,
    /// Suspended instances kept.
    pub warm: WarmBudget,
    /// Whether an invocation runs before it is stored, which saves its start a commit.
    pub speculative_starts: bool,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            slots: 1_000,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            scan_period: Millis(5_000),
            warm: WarmBudget { instances: 512, bytes: 256 << 20 },
            speculative_starts: true,
        }
    }
}

/// A running worker.
pub struct Worker {
    worker: Arc<WorkerContext>,
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
        let worker = Arc::new(WorkerContext {
            holder,
            claims: Claims::default(),
            warm: WarmCache::new(settings.warm),
            draining: CancellationToken::new(),
            lease_ttl: Arc::new(AdaptiveLeaseTtl::new(LeasePolicy::of(host.config.ttl))),
            superseded: CancellationToken::new(),
            put_off: PutOff::default(),
            task_versions: TaskVersions::default(),
            speculative_starts: settings.speculative_starts,
            run_limiter: RunLimiter::new(settings.processors, &host),
            host,
        });
        let waiting = Arc::downgrade(&worker);
        worker.host.guests.when_full(Arc::new(move |module| {
            let Some(worker) = waiting.upgrade() else { return false };
            let dropped = worker.warm.drop_oldest(module);
            worker.show_warm();
            dropped
        }));
        let (idle, stopped) = (CancellationToken::new(), CancellationToken::new());
        let runtime = worker.host.env.runtime.clone();
        runtime.spawn("heartbeat", Box::pin(heartbeat::run(worker.clone(), stopped.clone())));
        let claims = slots::ClaimContext {
            holder: worker.holder.clone(),
            lease_ttl: worker.lease_ttl.clone(),
            renewer: Arc::new(RenewAtOnce(worker.clone())),
            optimistic_start: Arc::new(SpeculativeStart(worker.clone())),
            env: worker.host.env.clone(),
            draining: worker.draining.clone(),
        };
        let (slots, counter) = slots::pool(claims, settings.slots);
        let slots = Arc::new(slots);
        worker.host.open_slots(&slots);
        let dispatcher =
            dispatcher::run(worker.clone(), hints, counter, settings.scan_period, idle.clone());
        runtime.spawn("dispatcher", Box::pin(dispatcher));
        Self { worker, _slots: slots, idle, stopped }
    }

    /// Cancelled when another host has begun a life under this one's name: this one does nothing any more.
    pub fn superseded(&self) -> CancellationToken {
        self.worker.superseded.clone()
    }

    /// Takes no more tasks, lets the running ones come to a point where they can wait, and gives back what is still
    /// active after `limit`. Answers how many claims that were.
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
        left
    }
}
