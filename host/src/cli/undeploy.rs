//! `segno undeploy`.

use clap::Args;
use segno_client::Client;

use super::{CliError, Console, Exit, console::CYAN, show::short_digest};

/// Remove a module's name: it starts no more executions
///
/// Executions in flight finish on the module that they began with. `segno deploy` gives the name to
/// a module again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno undeploy shop
  segno undeploy shop --json | jq .module.in_use")]
pub(super) struct UndeployArgs {
    /// Name of the module
    name: String,
}

impl UndeployArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let undeployed = client.undeploy(&self.name).await?;
        if console.json() {
            console.document(&undeployed)?;
            return Ok(Exit::Done);
        }
        let name = console.paint(CYAN, &undeployed.alias);
        let digest = short_digest(&undeployed.module.digest);
        let goes_on = match undeployed.module.in_use {
            0 => String::new(),
            1 => ", on which 1 execution in flight finishes".to_owned(),
            more => format!(", on which {more} executions in flight finish"),
        };
        console.line(format!("{name}  no longer names {digest}{goes_on}"))?;
        Ok(Exit::Done)
    }
}
