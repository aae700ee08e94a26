//! `segno remove`.

use std::time::Duration;

use clap::Args;
use segno_client::Client;

use super::{
    CliError, Console, Exit,
    console::CYAN,
    time::{as_ms, read_length},
};

/// Remove an invocation that has ended, with its journal and everything that it created
///
/// The removal cannot be undone. Afterwards the id can be used again. Executions that still run
/// must be cancelled or killed first: `--cancel` cancels the invocation and everything that it
/// created.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno remove order-1001
  segno remove --cancel order-1001
  segno remove --journal order-1001      # its outcome stays
  segno kill order-1001 && segno remove order-1001 && segno start shop/order @order.json --id order-1001")]
pub(super) struct RemoveArgs {
    /// Id of the invocation
    id: String,
    /// Remove only its journal and log: its outcome stays, and a start under its id is answered
    /// with it
    #[arg(long)]
    journal: bool,
    /// Cancel the invocation and everything that it created, and remove them when they have ended
    #[arg(long, conflicts_with = "journal")]
    cancel: bool,
    /// Time for cleaning up; executions that have not ended then are killed
    #[arg(long, value_name = "LENGTH", default_value = "10s", requires = "cancel", value_parser = read_length)]
    grace: Duration,
}

impl RemoveArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        if self.journal {
            return self.remove_journal(client, console).await;
        }
        let removed = match self.cancel {
            true => client.cancel_and_remove(&self.id, as_ms(self.grace)?).await?,
            false => client.remove(&self.id).await?,
        };
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
    async fn remove_journal(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let outcome = client.remove_journal(&self.id).await?;
        if console.json() {
            console.document(&outcome)?;
            return Ok(Exit::Done);
        }
        let id = console.paint(CYAN, &outcome.id);
        let said = outcome.note.map_or_else(|| "it has no journal".to_owned(), |note| note.message);
        console.line(format!("{id}  {said}"))?;
        Ok(Exit::Done)
    }
}
