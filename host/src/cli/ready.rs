//! `segno ready`.

use std::time::Duration;

use clap::Args;
use segno_client::{Client, ClientError};
use serde_json::json;

use super::{CliError, Console, Exit, console::GREEN, polling::PollDeadline, time::read_length};

/// Check that a host accepts work
///
/// The exit code is 0 if it does, 1 if it does not (the reason is printed), and 8 if no host
/// answers: for scripts, and for the health check of a container.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno ready && segno deploy . --as shop
  segno serve & segno ready --wait 30s
  segno ready --server http://127.0.0.1:7766")]
pub(super) struct ReadyArgs {
    /// Maximum wait for a host that starts
    #[arg(long, value_name = "LENGTH", value_parser = read_length)]
    wait: Option<Duration>,
}

impl ReadyArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let polling = PollDeadline::of(self.wait)?;
        let readiness = {
            let _progress = console.progress("waiting for the host");
            polling.ask(async || client.ready().await, starting).await?
        };
        let version = client.health().await?.version;
        if console.json() {
            let mut answer = json!({ "status": readiness.status, "version": version });
            if !readiness.missing.is_empty() {
                answer["missing"] = json!(readiness.missing);
            }
            console.document(&answer)?;
        } else {
            let status = console.paint(GREEN, &readiness.status);
            console.line(format!("{status}  {}, version {version}", client.server()))?;
            for address in &readiness.missing {
                console.warn(&format!("{address} does not answer: executions in it wait"));
            }
        }
        Ok(Exit::Done)
    }
}

/// Returns true if this may be a host that is starting: nothing listens yet, or it does not accept
/// work yet.
fn starting(error: &ClientError) -> bool {
    match error {
        ClientError::Unreachable { .. } | ClientError::Slow { .. } => true,
        ClientError::Refused(problem) => problem.status == 503,
        ClientError::Malformed { .. } | ClientError::Address { .. } => false,
    }
}
