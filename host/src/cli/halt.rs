//! `segno halt`.

use clap::Args;
use segno_client::Client;

use super::{CliError, Console, Exit, console::CYAN};

/// Halt an invocation: it stays where it is until `segno continue`
///
/// No data is lost, and the function is not notified; its callees continue.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno halt order-1001
  segno list --state halted    # says why each is halted")]
pub(super) struct HaltArgs {
    /// Id of the invocation
    id: String,
}

impl HaltArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let accepted = client.halt(&self.id).await?;
        if console.json() {
            console.document(&accepted)?;
            return Ok(Exit::Done);
        }
        let id = console.paint(CYAN, &accepted.id);
        console.line(match accepted.changed {
            true => format!("{id}  halted; `segno continue {}` sets it going again", accepted.id),
            false => format!("{id}  was halted already"),
        })?;
        Ok(Exit::Done)
    }
}
