//! `segno remove`.

use clap::Args;

use super::{CliError, Console, Exit, console::CYAN};
use crate::client::Client;

/// Remove an invocation that has ended, with its journal and everything that it made
///
/// It cannot be undone. The id can be used again then. What still runs is cancelled or killed first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno remove order-1001
  segno kill order-1001 && segno remove order-1001 && segno start shop/order @order.json --id order-1001")]
pub struct Remove {
    /// Id of the invocation
    id: String,
}

impl Remove {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let removed = client.remove(&self.id).await?;
        if console.json() {
            console.document(&removed)?;
            return Ok(Exit::Done);
        }
        let id = console.paint(CYAN, &removed.id);
        let made = match removed.promises.saturating_sub(1) {
            0 => String::new(),
            1 => ", with the one promise that it made".to_owned(),
            others => format!(", with {others} promises that it and they made"),
        };
        console.line(format!("{id}  removed{made}"))?;
        Ok(Exit::Done)
    }
}
