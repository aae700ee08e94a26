//! Where `segno serve` sends traces to.

use clap::Args;

use crate::{host::Host, traces::Exporting};

use super::{CliError, build::other};

/// The receiver of traces.
#[derive(Debug, Args)]
pub(super) struct TraceOptions {
    /// Send traces to this OpenTelemetry receiver (OTLP over HTTP), as in http://127.0.0.1:4318; without one, and without
    /// OTEL_EXPORTER_OTLP_ENDPOINT, nothing is traced
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

/// Variables that name a receiver as well.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

impl TraceOptions {
    /// Has `host`, called `node`, send traces if there is a receiver.
    pub(super) fn trace(&self, host: &Host, node: &str) -> Result<(), CliError> {
        let named = |variable| std::env::var(variable).is_ok_and(|url: String| !url.is_empty());
        let disabled = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value == "true");
        if disabled || (self.otlp.is_none() && !VARIABLES.into_iter().any(named)) {
            return Ok(());
        }
        let (traces, exporting) = Exporting::new(host.store.clone(), self.otlp.as_deref(), node)
            .map_err(|error| other("invalid-otlp", &error))?;
        host.trace(traces);
        let runtime = host.env.runtime.clone();
        runtime.clone().spawn("traces", Box::pin(exporting.run(runtime)));
        Ok(())
    }
}
