//! What the worker did.

use std::time::Duration;

use prometheus_client::{
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

/// How a claim ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEnd {
    /// Its promise has its outcome.
    Finished,
    /// It waits for something to settle.
    Suspended,
    /// It was given back for another attempt, or for a person.
    Released,
    /// It was not ours any more.
    Lost,
}

/// See the module.
pub struct WorkerMetrics {
    processed: Counter,
    replayed: Counter,
    replays: Counter,
    replay_time: Histogram,
    warm_starts: Counter,
    journal: Histogram,
    claims: Family<super::Label, Counter>,
    divergences: Counter,
    traps: Counter,
    put_off: Counter,
    /// Executions that run now.
    pub running: Gauge,
    /// Executions that wait for others to get on.
    pub queued_runs: Gauge,
    /// Tasks known to be ready that wait for room.
    pub queued: Gauge,
}

impl WorkerMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            processed: Counter::default(),
            replayed: Counter::default(),
            replays: Counter::default(),
            replay_time: Histogram::new(exponential_buckets(0.000_1, 4.0, 10)),
            warm_starts: Counter::default(),
            journal: Histogram::new(exponential_buckets(4.0, 4.0, 9)),
            claims: Family::default(),
            divergences: Counter::default(),
            traps: Counter::default(),
            put_off: Counter::default(),
            running: Gauge::default(),
            queued_runs: Gauge::default(),
            queued: Gauge::default(),
        };
        for end in [ClaimEnd::Finished, ClaimEnd::Suspended, ClaimEnd::Released, ClaimEnd::Lost] {
            drop(metrics.claims.get_or_create(&[("end", end.name())]));
        }
        registry.register(
            "processed_records",
            "Journal records written by executions of this host",
            metrics.processed.clone(),
        );
        registry.register(
            "replayed_records",
            "Journal records matched while executions were brought back to where they were",
            metrics.replayed.clone(),
        );
        registry.register(
            "replays",
            "Executions brought back by a replay of their journal",
            metrics.replays.clone(),
        );
        registry.register_with_unit(
            "replay_duration",
            "How long replays took",
            Unit::Seconds,
            metrics.replay_time.clone(),
        );
        registry.register(
            "warm_starts",
            "Executions that went on in the instance they were suspended in",
            metrics.warm_starts.clone(),
        );
        registry.register(
            "journal_records_per_invocation",
            "Journal records of invocations that ended",
            metrics.journal.clone(),
        );
        registry.register("claims", "Claims that ended, by how", metrics.claims.clone());
        registry.register(
            "divergences",
            "Executions halted because a replay left their journal",
            metrics.divergences.clone(),
        );
        registry.register("traps", "Guests that trapped", metrics.traps.clone());
        registry.register(
            "put_off",
            "Executions put off since as many compute for long as may",
            metrics.put_off.clone(),
        );
        registry.register("executions_running", "Executions that run now", metrics.running.clone());
        registry.register(
            "executions_waiting",
            "Executions among them that wait for a processor",
            metrics.queued_runs.clone(),
        );
        registry.register(
            "ready_queue_length",
            "Ready tasks that wait for room on this host",
            metrics.queued.clone(),
        );
        metrics
    }

    /// So many records became durable.
    pub fn processed(&self, records: usize) {
        self.processed.inc_by(records as u64);
    }

    /// A replay of so many records took so long.
    pub fn replayed(&self, records: usize, took: Duration) {
        self.replays.inc();
        self.replayed.inc_by(records as u64);
        self.replay_time.observe(took.as_secs_f64());
    }

    /// An execution went on in a warm instance.
    pub fn warm_start(&self) {
        self.warm_starts.inc();
    }

    /// An invocation ended with so many records.
    pub fn finished(&self, records: u32) {
        self.journal.observe(f64::from(records));
    }

    /// A claim ended.
    pub fn claim_over(&self, end: ClaimEnd) {
        self.claims.get_or_create(&[("end", end.name())]).inc();
    }

    /// A replay left its journal.
    pub fn diverged(&self) {
        self.divergences.inc();
    }

    /// A guest trapped.
    pub fn trapped(&self) {
        self.traps.inc();
    }

    /// An execution was put off.
    pub fn put_off(&self) {
        self.put_off.inc();
    }
}

impl ClaimEnd {
    fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Suspended => "suspended",
            Self::Released => "released",
            Self::Lost => "lost",
        }
    }
}
