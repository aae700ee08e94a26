//! `segno graph`.

mod check;
mod control;
mod drawing;
pub(super) mod history;
mod plan_file;
mod run;
mod show;

use clap::{Args, Subcommand};
use segno_client::{Client, ClientError};

use super::{CliError, Console, Exit};

/// Run plans: graphs of steps whose order is data
///
/// A plan is a TOML or JSON file with a table for each node: its action (`call`, `http`, `sleep`,
/// `promise`, `signal` or `graph`), the nodes that it `needs`, its input, retries, time limit and
/// condition. `segno graph schema` prints the JSON schema of plans, which editors use.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno graph check prices.toml
  segno graph run prices.toml --module shop --input '{\"day\": \"monday\"}' --id prices-1
  segno graph show prices-1
  segno graph show prices-1 --format mermaid
  segno signal prices-1 approved true        # for a node that waits for a signal
  segno graph retry-failed prices-1          # takes over what is completed")]
pub(super) struct GraphArgs {
    #[command(subcommand)]
    what: GraphCommand,
}

#[derive(Debug, Subcommand)]
enum GraphCommand {
    Check(check::GraphCheckArgs),
    Run(run::GraphRunArgs),
    Show(show::GraphShowArgs),
    List(control::GraphListArgs),
    Cancel(control::GraphCancelArgs),
    RetryFailed(control::GraphRetryArgs),
    /// Print the JSON schema of plans
    Schema,
}

impl GraphArgs {
    pub(super) async fn run(
        self,
        client: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.what {
            GraphCommand::Check(check) => check.run(client, console).await,
            GraphCommand::Run(run) => run.run(&client()?, console).await,
            GraphCommand::Show(show) => show.run(&client()?, console).await,
            GraphCommand::List(list) => list.run(&client()?, console).await,
            GraphCommand::Cancel(cancel) => cancel.run(&client()?, console).await,
            GraphCommand::RetryFailed(retry) => retry.run(&client()?, console).await,
            GraphCommand::Schema => {
                console.raw(segno_graph::plan::SCHEMA.trim_end().as_bytes())?;
                console.line("")?;
                Ok(Exit::Done)
            }
        }
    }
}
