//! `segno graph list`, `cancel` and `retry-failed`.

use std::time::Duration;

use clap::Args;
use segno_api::model::{InvocationQuery, InvocationSummary, RetryGraph};
use segno_client::Client;

use super::run;
use crate::cli::{
    CliError, Console, Exit, control,
    item_table::ItemTable,
    pages::{self, PageOptions},
    show::{plain, state_cell},
    table::TextColumn,
    time::{length, now_ms, read_length, relative},
};

/// List runs of graphs, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno graph list
  segno graph list --state rejected")]
pub(super) struct GraphListArgs {
    /// Only runs in this state: pending, acquired, suspended, halted, resolved, rejected, cancelled or timed-out
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only runs whose ids begin like this
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    #[command(flatten)]
    pages: PageOptions,
}

/// Cancel a run, with everything that it has begun
#[derive(Debug, Args)]
pub(super) struct GraphCancelArgs {
    /// Id of the run
    id: String,
}

/// Start a new run that takes over the completed nodes of an ended run
///
/// The plan, the input and the settings are those of the old run, which stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno graph retry-failed prices-1                  # starts prices-1-r1
  segno graph retry-failed prices-1 --id prices-2 --wait")]
pub(super) struct GraphRetryArgs {
    /// Id of the run that has ended
    id: String,
    /// Id of the new run (default: the first free of ID-r1, ID-r2, …)
    #[arg(long = "id", value_name = "NEW")]
    new: Option<String>,
    /// Wait for the end, and show the run then
    #[arg(long, value_name = "LENGTH", value_parser = read_length, num_args = 0..=1, default_missing_value = "1year")]
    wait: Option<Duration>,
}

impl GraphListArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let query = InvocationQuery {
            function: Some("segno:graph".to_owned()),
            state: self.state,
            prefix: self.prefix,
            ..InvocationQuery::default()
        };
        let ask = async |after, limit| {
            client.list(&InvocationQuery { after, limit: Some(limit), ..query.clone() }).await
        };
        let page = self.pages.read(ask).await?;
        if console.json() {
            console.document(&page)?;
            return Ok(Exit::Done);
        }
        if page.items.is_empty() {
            console.remark("no runs of graphs");
            return Ok(Exit::Done);
        }
        let now = now_ms();
        let table = ItemTable::new()
            .column(TextColumn::id("RUN"), |item: &InvocationSummary| plain(&item.id))
            .column(TextColumn::whole("STATE"), |item| state_cell(item.state, item.killed))
            .column(TextColumn::whole("STARTED").rank(1), |item| relative(item.created_at_ms, now))
            .column(TextColumn::number("TOOK").rank(2), |item| {
                length(item.settled_at_ms.unwrap_or(now) - item.created_at_ms)
            })
            .column(TextColumn::id("PART OF").rank(3), |item| {
                plain(item.parent.as_deref().unwrap_or_default())
            });
        console.table(&table.rows(&page.items))?;
        pages::say_more(page.next.as_deref(), console);
        Ok(Exit::Done)
    }
}

impl GraphCancelArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        // An id that is not a graph run gets a named refusal.
        client.graph_plan(&self.id).await?;
        control::done(&client.cancel(&self.id).await?, "cancellation requested", console)
    }
}

impl GraphRetryArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let started = client.retry_graph(&self.id, &RetryGraph { id: self.new }).await?;
        run::begun(&started, self.wait, client, console).await
    }
}
