//! The options of `segno serve` for traces.

use clap::Args;
use segno_engine::{host::Host, traces::TraceExporter};

use super::{CliError, build::other};

/// The receiver of traces.
#[derive(Debug, Args)]
pub(super) struct TraceOptions {
    /// OpenTelemetry receiver of traces (OTLP over HTTP), like http://127.0.0.1:4318; without it,
    /// and without OTEL_EXPORTER_OTLP_ENDPOINT, nothing is traced
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

/// Environment variables that also name a receiver.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

impl TraceOptions {
    /// Starts the exporter for `host`, named `node`, if a receiver is configured.
    pub(super) fn trace(&self, host: &Host, node: &str) -> Result<(), CliError> {
        let named = |variable| std::env::var(variable).is_ok_and(|url: String| !url.is_empty());
        let disabled = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value == "true");
        if disabled || (self.otlp.is_none() && !VARIABLES.into_iter().any(named)) {
            return Ok(());
        }
        let (traces, exporting) =
            TraceExporter::new(host.store.clone(), self.otlp.as_deref(), node)
                .map_err(|error| other("invalid-otlp", &error))?;
        host.trace(traces);
        let runtime = host.env.runtime.clone();
        runtime.clone().spawn("traces", Box::pin(exporting.run(runtime)));
        Ok(())
    }
}
