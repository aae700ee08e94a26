//! `segno cancel`, `segno kill` and `segno continue`.

use clap::Args;

use crate::{api::model::Accepted, client::Client};

use super::{CliError, Console, Exit, console::CYAN};

/// Ask an invocation to end; it may clean up first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno cancel order-1001 && segno result order-1001 --wait 1m")]
pub struct Cancel {
    /// The invocation
    id: String,
}

/// End an invocation at once; it cannot clean up
///
/// Prefer `segno cancel`. What it called is cancelled afterwards.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno kill order-1001")]
pub struct Kill {
    /// The invocation
    id: String,
}

/// Set a halted invocation going again
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno inspect order-1001     # says why it is halted
  segno continue order-1001")]
pub struct Continue {
    /// The invocation
    id: String,
}

impl Cancel {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        done(&client.cancel(&self.id).await?, "cancellation requested", console)
    }
}

impl Kill {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        done(&client.kill(&self.id).await?, "killed", console)
    }
}

impl Continue {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        done(&client.resume(&self.id).await?, "continues", console)
    }
}

/// Says what became of it.
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
