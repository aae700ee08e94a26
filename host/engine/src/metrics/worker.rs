//! Metrics of the worker.

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
use segno_core::graph::NodeState;

use crate::{graph::RunEnd, slots::SlotKind};

/// The end of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEnd {
    /// The promise was settled.
    Finished,
    /// The task was suspended.
    Suspended,
    /// The task was released, for another attempt or because it was halted.
    Released,
    /// The claim had already ended and no longer belonged to this host.
    Lost,
}

/// An event in the life of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotEvent {
    /// A snapshot was made and kept.
    Made,
    /// A workflow continued from the snapshot.
    Restored,
    /// The snapshot did not fit and was discarded. The journal was replayed instead.
    Discarded,
    /// Snapshots of this module cannot be made.
    Refused,
    /// A snapshot was made, but would not have continued as the journal requires.
    Unequal,
}

impl SnapshotEvent {
    const ALL: [Self; 5] =
        [Self::Made, Self::Restored, Self::Discarded, Self::Refused, Self::Unequal];

    fn name(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Restored => "restored",
            Self::Discarded => "discarded",
            Self::Refused => "refused",
            Self::Unequal => "unequal",
        }
    }
}

/// Running and queued executions, records, replays, traps.
pub struct WorkerMetrics {
    processed: Counter,
    replayed: Counter,
    replays: Counter,
    replay_time: Histogram,
    warm_starts: Counter,
    snapshots: Family<super::Label, Counter>,
    journal: Histogram,
    claims: Family<super::Label, Counter>,
    divergences: Counter,
    traps: Counter,
    put_off: Counter,
    not_stored: Counter,
    graph_runs: Family<super::Label, Counter>,
    graph_nodes: Family<super::Label, Counter>,
    /// Executions in a slot, with or without a permit to run.
    pub running: Gauge,
    /// Executions that wait for a permit to run.
    pub queued_runs: Gauge,
    /// Ready tasks that wait for a slot.
    pub queued: Gauge,
    slots: Family<super::Label, Gauge>,
}

impl WorkerMetrics {
    /// Sets the number of slots in use, by kind.
    pub fn slots_taken(&self, taken: [(SlotKind, usize); 3]) {
        for (kind, taken) in taken {
            let kind = match kind {
                SlotKind::Execution => "execution",
                SlotKind::Request => "request",
                SlotKind::Activity => "activity",
            };
            let taken = i64::try_from(taken).unwrap_or(i64::MAX);
            self.slots.get_or_create(&[("kind", kind)]).set(taken);
        }
    }

    /// Counts a graph run that ended.
    pub fn graph_ended(&self, end: RunEnd) {
        self.graph_runs.get_or_create(&[("end", end.name())]).inc();
    }

    /// Counts a node of a graph run that reached this state.
    pub fn graph_node(&self, state: NodeState) {
        self.graph_nodes.get_or_create(&[("state", state.name())]).inc();
    }

    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            processed: Counter::default(),
            replayed: Counter::default(),
            replays: Counter::default(),
            replay_time: Histogram::new(exponential_buckets(0.000_1, 4.0, 10)),
            warm_starts: Counter::default(),
            snapshots: Family::default(),
            journal: Histogram::new(exponential_buckets(4.0, 4.0, 9)),
            claims: Family::default(),
            divergences: Counter::default(),
            traps: Counter::default(),
            put_off: Counter::default(),
            not_stored: Counter::default(),
            graph_runs: Family::default(),
            graph_nodes: Family::default(),
            running: Gauge::default(),
            queued_runs: Gauge::default(),
            queued: Gauge::default(),
            slots: Family::default(),
        };
        for end in [ClaimEnd::Finished, ClaimEnd::Suspended, ClaimEnd::Released, ClaimEnd::Lost] {
            drop(metrics.claims.get_or_create(&[("end", end.name())]));
        }
        for event in SnapshotEvent::ALL {
            drop(metrics.snapshots.get_or_create(&[("event", event.name())]));
        }
        for end in [RunEnd::Completed, RunEnd::Failed, RunEnd::Stuck] {
            drop(metrics.graph_runs.get_or_create(&[("end", end.name())]));
        }
        for state in NodeState::ALL {
            drop(metrics.graph_nodes.get_or_create(&[("state", state.name())]));
        }
        registry.register(
            "graph_runs",
            "Graph runs that ended on this host, by how; `stuck` is a defect",
            metrics.graph_runs.clone(),
        );
        registry.register(
            "graph_nodes",
            "Nodes of graph runs, by the state that they came to",
            metrics.graph_nodes.clone(),
        );
        registry.register(
            "processed_records",
            "Journal records written by executions of this host",
            metrics.processed.clone(),
        );
        registry.register(
            "replayed_records",
            "Journal records matched by replays",
            metrics.replayed.clone(),
        );
        registry.register(
            "replays",
            "Executions restored by a replay of their journal",
            metrics.replays.clone(),
        );
        registry.register_with_unit(
            "replay_duration",
            "Duration of replays",
            Unit::Seconds,
            metrics.replay_time.clone(),
        );
        registry.register(
            "warm_starts",
            "Executions that continued in a warm instance",
            metrics.warm_starts.clone(),
        );
        registry.register(
            "snapshots",
            "Snapshots of workflows with long journals, by what became of them; `unequal` is a defect",
            metrics.snapshots.clone(),
        );
        registry.register(
            "journal_records_per_invocation",
            "Journal records of invocations that ended",
            metrics.journal.clone(),
        );
        registry.register("claims", "Claims that ended, by how", metrics.claims.clone());
        registry.register(
            "divergences",
            "Executions halted because a replay diverged from their journal",
            metrics.divergences.clone(),
        );
        registry.register("traps", "Guests that trapped", metrics.traps.clone());
        registry.register(
            "put_off",
            "Executions put off because the maximum number of calls compute for long",
            metrics.put_off.clone(),
        );
        registry.register(
            "outcomes_not_stored",
            "Executions replayed because an outcome that they received was not stored",
            metrics.not_stored.clone(),
        );
        registry.register("executions_running", "Executions that run now", metrics.running.clone());
        registry.register(
            "executions_waiting",
            "Executions among them that wait for a permit to run",
            metrics.queued_runs.clone(),
        );
        registry.register(
            "ready_queue_length",
            "Ready tasks that wait for a slot on this host",
            metrics.queued.clone(),
        );
        registry.register(
            "slots_taken",
            "Slots of this host that are taken, by their kind",
            metrics.slots.clone(),
        );
        metrics
    }

    /// Counts records that became durable.
    pub fn processed(&self, records: usize) {
        self.processed.inc_by(records as u64);
    }

    /// The number of records that became durable so far.
    pub fn written(&self) -> u64 {
        self.processed.get()
    }

    /// Records the duration and the number of records of a replay.
    pub fn replayed(&self, records: usize, took: Duration) {
        self.replays.inc();
        self.replayed.inc_by(records as u64);
        self.replay_time.observe(took.as_secs_f64());
    }

    /// Counts a claim that continued in a warm instance.
    pub fn warm_start(&self) {
        self.warm_starts.inc();
    }

    /// Counts a snapshot event.
    pub fn snapshot(&self, event: SnapshotEvent) {
        self.snapshots.get_or_create(&[("event", event.name())]).inc();
    }

    /// Records the journal length of an invocation that ended.
    pub fn finished(&self, records: u32) {
        self.journal.observe(f64::from(records));
    }

    /// Counts a claim that ended.
    pub fn claim_over(&self, end: ClaimEnd) {
        self.claims.get_or_create(&[("end", end.name())]).inc();
    }

    /// Counts a replay that diverged from its journal.
    pub fn diverged(&self) {
        self.divergences.inc();
    }

    /// Counts a guest's trap.
    pub fn trapped(&self) {
        self.traps.inc();
    }

    /// Counts an execution that was rejected and will be retried later.
    pub fn put_off(&self) {
        self.put_off.inc();
    }

    /// Counts an execution that received an outcome which was not stored.
    pub fn not_stored(&self) {
        self.not_stored.inc();
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
