//! `segno continue`.

use clap::Args;
use segno_client::Client;

use super::{CliError, Console, Exit, console::CYAN, show::short_digest};

/// Continue a halted invocation, also with mended code
///
/// Without --module it continues with its own code. With --module the host replays the journal on
/// that module first; if every record is the same, the invocation continues with it, and otherwise
/// nothing changes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno inspect order-1001                    # says why it is halted
  segno continue order-1001
  segno deploy . --as shop && segno continue order-1001 --module shop")]
pub(super) struct ContinueArgs {
    /// Id of the invocation
    id: String,
    /// Module to continue with: its name or digest
    #[arg(long, value_name = "MODULE")]
    module: Option<String>,
}

impl ContinueArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        run(client, console, &self.id, self.module).await
    }
}

/// Continues an invocation and reports the module.
pub(super) async fn run(
    client: &Client,
    console: &mut Console,
    id: &str,
    module: Option<String>,
) -> Result<Exit, CliError> {
    let continued = client.resume(id, module.clone()).await?;
    if console.json() {
        console.document(&continued)?;
        return Ok(Exit::Done);
    }
    let id = console.paint(CYAN, &continued.id);
    let how = match (&module, &continued.module, continued.records) {
        (Some(name), Some(digest), Some(records)) => {
            let digest = short_digest(digest);
            format!(
                "continues on {name} ({digest}), which repeats its journal of {records} records"
            )
        }
        _ => "continues".to_owned(),
    };
    console.line(format!("{id}  {how}"))?;
    Ok(Exit::Done)
}
