//! Metrics of the engine's decisions, from the effects of commits.

use prometheus_client::{
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use segno_core::{
    effect::{Metric, RequeueCause, SettleCause},
    promise::{SkipReason, Verdict},
    time::Millis,
};

/// Counters of promises, tasks, settlements and heartbeats.
pub struct EngineMetrics {
    acquisition: Histogram,
    heartbeats: Family<super::Label, Counter>,
    expirations: Counter,
    requeues: Family<super::Label, Counter>,
    death_to_requeue: Histogram,
    fencing_rejections: Counter,
    settlements: Family<[(&'static str, &'static str); 2], Counter>,
    chain_length: Histogram,
    quarantines: Counter,
    compensation_failures: Counter,
    limit_admissions: Counter,
    unread_signals: Counter,
    unmade_promises: Counter,
    schedule_skips: Family<super::Label, Counter>,
    schedule_failures: Family<super::Label, Counter>,
}

impl EngineMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            // 1 ms to about 1,000 s.
            acquisition: Histogram::new(exponential_buckets(0.001, 4.0, 11)),
            heartbeats: Family::default(),
            expirations: Counter::default(),
            requeues: Family::default(),
            death_to_requeue: Histogram::new(exponential_buckets(0.25, 2.0, 11)),
            fencing_rejections: Counter::default(),
            settlements: Family::default(),
            chain_length: Histogram::new([0.0, 1.0, 2.0, 4.0, 16.0, 64.0, 256.0, 1_024.0]),
            quarantines: Counter::default(),
            compensation_failures: Counter::default(),
            limit_admissions: Counter::default(),
            unread_signals: Counter::default(),
            unmade_promises: Counter::default(),
            schedule_skips: Family::default(),
            schedule_failures: Family::default(),
        };
        metrics.begin_at_zero();
        registry.register_with_unit(
            "lease_acquisition_latency",
            "Time from a task's becoming pending to its acquisition",
            Unit::Seconds,
            metrics.acquisition.clone(),
        );
        registry.register(
            "heartbeats",
            "Claims named in heartbeats, by result",
            metrics.heartbeats.clone(),
        );
        registry.register("lease_expirations", "Leases that ran out", metrics.expirations.clone());
        registry.register(
            "recovery_requeues",
            "Tasks that the engine released from their holders, by cause",
            metrics.requeues.clone(),
        );
        registry.register_with_unit(
            "death_to_requeue",
            "Time from the last heartbeat of a holder to the release of its task",
            Unit::Seconds,
            metrics.death_to_requeue.clone(),
        );
        registry.register(
            "fencing_rejections",
            "Writes refused because their claim or token was stale",
            metrics.fencing_rejections.clone(),
        );
        registry.register(
            "settlements",
            "Promises settled, by outcome and by cause",
            metrics.settlements.clone(),
        );
        registry.register(
            "chain_length",
            "Tasks resumed by one settlement",
            metrics.chain_length.clone(),
        );
        registry.register(
            "quarantines",
            "Executions halted by the engine",
            metrics.quarantines.clone(),
        );
        registry.register(
            "compensation_failures",
            "Saga steps whose compensation failed",
            metrics.compensation_failures.clone(),
        );
        registry.register(
            "limit_admissions",
            "Executions that waited behind a limit and were admitted",
            metrics.limit_admissions.clone(),
        );
        registry.register(
            "unread_signals",
            "Signals and updates that workflows had not read when they ended",
            metrics.unread_signals.clone(),
        );
        registry.register(
            "unmade_promises",
            "Promises that were settled and that workflows had not made when they ended",
            metrics.unmade_promises.clone(),
        );
        registry.register(
            "schedule_skips",
            "Occurrences that schedules left out, by reason",
            metrics.schedule_skips.clone(),
        );
        registry.register(
            "schedule_failures",
            "Executions of schedules that ended without a result, by outcome",
            metrics.schedule_failures.clone(),
        );
        metrics
    }

    /// Reports a counter that was never incremented as zero instead of omitting it, so that alerts
    /// can watch its increase.
    fn begin_at_zero(&self) {
        for result in ["extended", "stale", "stalled"] {
            drop(self.heartbeats.get_or_create(&[("result", result)]));
        }
        for cause in [RequeueCause::Expiry, RequeueCause::HostReset, RequeueCause::Reconcile] {
            drop(self.requeues.get_or_create(&[("cause", requeue(cause))]));
        }
        for reason in SkipReason::ALL {
            drop(self.schedule_skips.get_or_create(&[("reason", reason.name())]));
        }
        for verdict in [Verdict::Rejected, Verdict::Canceled, Verdict::TimedOut] {
            drop(self.schedule_failures.get_or_create(&[("state", state(verdict))]));
        }
    }

    /// Counts occurrences that a schedule left out.
    pub fn skipped(&self, reason: SkipReason, count: u64) {
        self.schedule_skips.get_or_create(&[("reason", reason.name())]).inc_by(count);
    }

    /// Counts an execution of a schedule that ended without a result.
    pub fn occurrence_failed(&self, verdict: Verdict) {
        self.schedule_failures.get_or_create(&[("state", state(verdict))]).inc();
    }

    /// Counts the signals and promises that a workflow had not read when it ended.
    pub fn unread(&self, signals: u32, promises: usize) {
        self.unread_signals.inc_by(signals.into());
        self.unmade_promises.inc_by(promises as u64);
    }

    /// Counts one effect of a commit.
    pub fn count(&self, metric: Metric) {
        let heartbeat = |result| {
            self.heartbeats.get_or_create(&[("result", result)]).inc();
        };
        match metric {
            Metric::LeaseAcquired(waited) => self.acquisition.observe(seconds(waited)),
            Metric::HeartbeatExtended => heartbeat("extended"),
            Metric::HeartbeatStale => heartbeat("stale"),
            Metric::HeartbeatStalled => heartbeat("stalled"),
            Metric::LeaseExpired => {
                self.expirations.inc();
            }
            Metric::Requeued(cause, unheard) => {
                self.requeues.get_or_create(&[("cause", requeue(cause))]).inc();
                self.death_to_requeue.observe(seconds(unheard));
            }
            Metric::FencingRejected => {
                self.fencing_rejections.inc();
            }
            Metric::Settled { verdict, cause, resumed } => {
                let labels = [("state", state(verdict)), ("cause", settled_by(cause))];
                self.settlements.get_or_create(&labels).inc();
                self.chain_length.observe(f64::from(resumed));
            }
            Metric::Quarantined => {
                self.quarantines.inc();
            }
            Metric::CompensationFailed => {
                self.compensation_failures.inc();
            }
            Metric::Admitted { .. } => {
                self.limit_admissions.inc();
            }
        }
    }
}

fn seconds(length: Millis) -> f64 {
    length.0 as f64 / 1_000.0
}

fn requeue(cause: RequeueCause) -> &'static str {
    match cause {
        RequeueCause::Expiry => "expiry",
        RequeueCause::HostReset => "host-reset",
        RequeueCause::Reconcile => "reconcile",
        RequeueCause::WorkerGone => "worker-gone",
    }
}

fn settled_by(cause: SettleCause) -> &'static str {
    match cause {
        SettleCause::Claim => "claim",
        SettleCause::Deadline => "deadline",
        SettleCause::Request => "request",
    }
}

fn state(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Resolved => "resolved",
        Verdict::Rejected => "rejected",
        Verdict::Canceled => "cancelled",
        Verdict::TimedOut => "timed-out",
    }
}
