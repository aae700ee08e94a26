//! Metrics of the store's writer.

use std::time::Duration;

use prometheus_client::{
    metrics::{
        counter::Counter,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

/// Durations and sizes of transactions, and submissions waiting.
pub struct StoreMetrics {
    commits: Counter,
    batch: Histogram,
    latency: Histogram,
    queue: Gauge,
}

impl StoreMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            commits: Counter::default(),
            batch: Histogram::new(exponential_buckets(1.0, 2.0, 11)),
            latency: Histogram::new(exponential_buckets(0.000_1, 2.5, 12)),
            queue: Gauge::default(),
        };
        registry.register("store_commits", "Transactions committed", metrics.commits.clone());
        registry.register(
            "store_batch_commands",
            "Commands in one transaction",
            metrics.batch.clone(),
        );
        registry.register_with_unit(
            "store_commit_duration",
            "Duration of transactions, from the decision of their first command to their end",
            Unit::Seconds,
            metrics.latency.clone(),
        );
        registry.register(
            "store_queue_length",
            "Submissions queued for the writer at the beginning of its last transaction",
            metrics.queue.clone(),
        );
        metrics
    }

    /// Records a transaction of `commands` commands that took `took`, with `waiting` submissions
    /// queued behind it.
    pub fn committed(&self, commands: usize, took: Duration, waiting: usize) {
        self.commits.inc();
        self.batch.observe(commands as f64);
        self.latency.observe(took.as_secs_f64());
        self.queue.set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }
}
