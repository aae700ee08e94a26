//! Traces for OpenTelemetry: what durable executions did, told when it is over.
//!
//! An execution outlives processes, so its spans are not measured but told from what is stored: its promise says when it
//! was made and settled, its journal when each step was asked for and answered. Ids are derived from durable ids, so a
//! tree of calls is one trace whichever hosts and lives ran it. Without a receiver nothing of this happens.

mod context;
mod exporter;
mod spans;

pub use context::{TRACEPARENT, TraceContext};
pub use exporter::{ExporterError, Exporting, Traces};
pub use spans::Replayed;
