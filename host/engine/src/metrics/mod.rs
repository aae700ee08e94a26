//! The metrics of this host, in the OpenMetrics format that Prometheus reads.
//! `docs/operating/metrics.md` explains each metric and when to act.
//!
//! Decisions of the engine are counted from the effects of its commits, so the numbers are exact.
//! Values that only the store knows are read from the store at each scrape.

mod blobs;
mod delivery;
mod engine;
mod gauges;
mod http;
mod store;
mod worker;

use prometheus_client::{encoding::text, registry::Registry};

pub use blobs::{BlobMetrics, BlobRemoval};
pub use delivery::{DeliveryMetrics, PushResult};
pub use engine::EngineMetrics;
pub use gauges::Gauges;
pub use http::HttpMetrics;
pub use store::StoreMetrics;
pub use worker::{ClaimEnd, SnapshotEvent, WorkerMetrics};

/// The content type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of one host. Counters need no lock, or a lock that is held for a short time.
pub struct Metrics {
    registry: Registry,
    /// Metrics of decisions.
    pub engine: EngineMetrics,
    /// Metrics of the worker.
    pub worker: WorkerMetrics,
    /// Metrics of the store's writer.
    pub store: StoreMetrics,
    /// Metrics of message delivery.
    pub delivery: DeliveryMetrics,
    /// Metrics of blobs.
    pub blobs: BlobMetrics,
    /// Metrics of HTTP requests.
    pub http: HttpMetrics,
    /// Current values.
    pub gauges: Gauges,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("segno");
        Self {
            engine: EngineMetrics::new(&mut registry),
            worker: WorkerMetrics::new(&mut registry),
            store: StoreMetrics::new(&mut registry),
            delivery: DeliveryMetrics::new(&mut registry),
            blobs: BlobMetrics::new(&mut registry),
            http: HttpMetrics::new(&mut registry),
            gauges: Gauges::new(&mut registry),
            registry,
        }
    }
}

impl Metrics {
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}

/// A label with its value, as the families here use it.
type Label = [(&'static str, &'static str); 1];
