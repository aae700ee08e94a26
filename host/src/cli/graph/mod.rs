//! `segno graph`.

mod check;
mod control;
mod drawing;
pub(super) mod history;
mod plan_file;
mod run;
mod show;

use clap::{Args, Subcommand};

use super::{CliError, Console, Exit};
use crate::client::{Client, ClientError};

/// Run plans: graphs of steps whose order is data
///
/// A plan is a TOML or JSON file with a table for each node: what it does (`call`, `http`, `sleep`,
/// `promise`, `signal` or `graph`), which nodes it `needs`, its input, retries, time limit and
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
pub struct Graph {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Check(check::Check),
    Run(run::Run),
    Show(show::Show),
    List(control::List),
    Cancel(control::Cancel),
    RetryFailed(control::RetryFailed),
    /// Print the JSON schema of plans
    Schema,
}

impl Graph {
    pub(super) async fn run(
        self,
        client: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.what {
            What::Check(check) => check.run(client, console).await,
            What::Run(run) => run.run(&client()?, console).await,
            What::Show(show) => show.run(&client()?, console).await,
            What::List(list) => list.run(&client()?, console).await,
            What::Cancel(cancel) => cancel.run(&client()?, console).await,
            What::RetryFailed(retry) => retry.run(&client()?, console).await,
            What::Schema => {
                console.raw(segno_graph::plan::SCHEMA.trim_end().as_bytes())?;
                console.line("")?;
                Ok(Exit::Done)
            }
        }
    }
}
