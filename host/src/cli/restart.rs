//! `segno restart`.

use clap::Args;
use segno_api::model::RestartInvocation;
use segno_client::Client;

use super::{CliError, Console, Exit, start};

/// Start an invocation once more, as a new one
///
/// The new invocation has the function, input, labels and time limit of the old one, which stays as
/// it is. Its label `restart-of` names the old one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno restart order-1001                    # starts order-1001-r1
  segno restart order-1001 --id order-1001b --module shop
  segno list --label restart-of=order-1001")]
pub(super) struct RestartArgs {
    /// Id of the invocation
    id: String,
    /// Id of the new invocation (default: the first free of ID-r1, ID-r2, …)
    #[arg(long = "id", value_name = "NEW")]
    new: Option<String>,
    /// Module to run: its name or digest (default: the name under which the old one was started)
    #[arg(long, value_name = "MODULE")]
    module: Option<String>,
}

impl RestartArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let request = RestartInvocation { id: self.new, module: self.module };
        let started = client.restart(&self.id, &request).await?;
        start::report(&started, &format!("started in place of {}", self.id), console)
    }
}
