//! Traces for OpenTelemetry: spans of durable executions, exported when they end.
//!
//! An execution outlives processes, so its spans are not measured but built from stored rows: the
//! promise says when it was created and settled, the journal when each step was asked for and
//! answered. Span ids are derived from durable ids, so a tree of calls is one trace, whichever
//! hosts and incarnations ran it. Without a configured receiver nothing is exported.

mod context;
mod exporter;
mod spans;

pub use context::{TRACEPARENT, TraceContext};
pub use exporter::{ExporterError, Exporting, Traces};
pub use spans::Replayed;
