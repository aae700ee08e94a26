//! `segno graph run`.

use std::time::Duration;

use clap::Args;
use segno_api::model::{GraphPersistence, GraphStarted, StartGraph};
use segno_client::Client;
use serde_json::Value;

use super::{plan_file, show};
use crate::cli::{
    CliError, Console, Exit, budget,
    console::{CYAN, DIM},
    input::{read_json, read_label},
    result::wait_for,
    time::read_length,
};

/// Start a run of a plan
///
/// The same id again starts nothing: the command names the first run. If that one has another plan
/// or input, the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno graph run prices.toml --module shop
  segno graph run prices.toml --module shop --input '{\"day\": \"monday\"}' --id prices-1 --wait 5m
  segno graph run prices.json --module shop --input @input.json --max-parallel 4 --fail-fast
  segno graph run prices.toml --module shop --max-parallel 1     # one node after the other")]
pub(super) struct GraphRunArgs {
    /// The plan: a TOML or JSON file, or - for standard input
    plan: String,
    /// Value of `input` in the plan: JSON, @FILE, or - for standard input (default: null)
    #[arg(long, short = 'i', value_name = "JSON")]
    input: Option<String>,
    /// Module whose functions the plan names without a module, and whose policy applies
    #[arg(long, value_name = "MODULE")]
    module: Option<String>,
    /// Id of the run (default: generated)
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Maximum number of concurrent nodes, instead of the plan's own
    #[arg(long, value_name = "N")]
    max_parallel: Option<u64>,
    /// End the run with the first node that fails
    #[arg(long)]
    fail_fast: bool,
    /// Store each fact in a separate transaction, instead of several together
    #[arg(long)]
    each: bool,
    /// Budget of the run and everything below it; may be repeated
    #[arg(long = "budget", value_name = "UNIT=AMOUNT")]
    budget: Vec<String>,
    /// Label of the run; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = read_label)]
    labels: Vec<(String, String)>,
    /// Wait for the end, and show the run then
    #[arg(long, value_name = "LENGTH", value_parser = read_length, num_args = 0..=1, default_missing_value = "1year")]
    wait: Option<Duration>,
}

impl GraphRunArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let plan = plan_file::read(&self.plan)?;
        let start = StartGraph {
            id: self.id,
            plan: plan_file::to_send(&plan)?,
            input: self.input.as_deref().map_or(Ok(Value::Null), read_json)?,
            module: self.module,
            max_parallel: self.max_parallel,
            fail_fast: self.fail_fast.then_some(true),
            persist: self.each.then_some(GraphPersistence::Each),
            labels: self.labels.into_iter().collect(),
            budget: budget::read(&self.budget)?,
        };
        let started = client.start_graph(&start).await?;
        begun(&started, self.wait, client, console).await
    }
}

/// Reports the start, or waits for the end.
pub(super) async fn begun(
    started: &GraphStarted,
    wait: Option<Duration>,
    client: &Client,
    console: &mut Console,
) -> Result<Exit, CliError> {
    let id = &started.id;
    if let Some(limit) = wait {
        let ended = {
            let _progress = console.progress(format!("waiting for {id}"));
            wait_for(client, id, Some(limit)).await?
        };
        show::show(id, client, console).await?;
        return Ok(Exit::of(ended.state));
    }
    if console.json() {
        console.document(started)?;
        return Ok(Exit::Done);
    }
    let how = if started.created { "started" } else { "exists" };
    let how = console.paint(DIM, how);
    let shown = console.paint(CYAN, id);
    console.line(format!("{shown}  {how}"))?;
    console.remark(&format!("`segno graph show {id}` shows its state"));
    Ok(Exit::Done)
}
