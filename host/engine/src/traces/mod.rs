//! Traces for OpenTelemetry: spans of durable executions, exported when they end.
//!
//! An execution outlives processes, so its spans are built from stored rows. The promise has the
//! times of its creation and settlement, and the journal those of each command and its completion.
//! Span ids are derived from durable ids, so a tree of calls is one trace across hosts and
//! incarnations. Without a configured receiver nothing is exported.

mod context;
mod exporter;
mod spans;

pub use context::{TRACEPARENT, TraceContext};
pub use exporter::{ExporterError, TraceExporter, TraceSender};
pub use spans::FinishedReplay;
