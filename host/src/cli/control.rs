//! `segno cancel` and `segno kill`.

use clap::Args;
use segno_api::model::Accepted;
use segno_client::Client;

use super::{CliError, Console, Exit, console::CYAN};

/// Request the cancellation of an invocation, which may clean up
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno cancel order-1001 && segno result order-1001 --wait 1m")]
pub(super) struct CancelArgs {
    /// Id of the invocation
    id: String,
}

/// End an invocation immediately; it cannot clean up
///
/// Prefer `segno cancel`. Invocations called by this one are killed as well; those that it sent
/// continue.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno kill order-1001")]
pub(super) struct KillArgs {
    /// Id of the invocation
    id: String,
}

impl CancelArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        done(&client.cancel(&self.id).await?, "cancellation requested", console)
    }
}

impl KillArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        done(&client.kill(&self.id).await?, "killed", console)
    }
}

/// Prints the result of the request.
pub(super) fn done(
    accepted: &Accepted,
    what: &str,
    console: &mut Console,
) -> Result<Exit, CliError> {
    if console.json() {
        console.document(accepted)?;
    } else {
        let id = console.paint(CYAN, &accepted.id);
        let what = if accepted.changed { what } else { "had ended already" };
        console.line(format!("{id}  {what}"))?;
    }
    Ok(Exit::Done)
}
