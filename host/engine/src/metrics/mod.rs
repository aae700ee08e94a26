//! What this host counts, for Prometheus and whoever speaks its language. `docs/metrics.md` says what each figure means
//! and when to worry.
//!
//! What the engine decides is counted from the effects of its commits, so the figures are exact; what only the store
//! knows is read from it when somebody asks.

mod delivery;
mod engine;
mod gauges;
mod http;
mod store;
mod worker;

use prometheus_client::{encoding::text, registry::Registry};

pub use delivery::{DeliveryMetrics, Pushed};
pub use engine::EngineMetrics;
pub use gauges::Gauges;
pub use http::HttpMetrics;
pub use store::StoreMetrics;
pub use worker::{ClaimEnd, WorkerMetrics};

/// The content type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All figures of one host. Everything in it is counted without a lock, or with one that nobody holds for long.
pub struct Metrics {
    registry: Registry,
    /// What the engine decided.
    pub engine: EngineMetrics,
    /// What the worker did.
    pub worker: WorkerMetrics,
    /// What the store's writer did.
    pub store: StoreMetrics,
    /// What became of messages.
    pub delivery: DeliveryMetrics,
    /// What was asked over HTTP.
    pub http: HttpMetrics,
    /// How things stand.
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
            http: HttpMetrics::new(&mut registry),
            gauges: Gauges::new(&mut registry),
            registry,
        }
    }
}

impl Metrics {
    /// All figures as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}

/// A label with its value, as the families here use it.
type Label = [(&'static str, &'static str); 1];
