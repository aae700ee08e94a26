//! `segno list`.

use clap::Args;
use comfy_table::{Cell, CellAlignment};

use super::{
    CliError, Console, Exit,
    console::CYAN,
    input::read_label,
    pages::{self, Pages},
    show::{function, plain, plain_lines, state_cell},
    time::{length, now_ms, relative},
};
use crate::{
    api::model::{InvocationPage, InvocationQuery, InvocationState},
    client::Client,
};

/// List invocations, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno list
  segno list --state halted    # and why
  segno list --stuck
  segno list --module shop --function order --label customer=42
  segno list --prefix order- --limit 1000 --json | jq -r '.items[].id'
  segno list --roots --all")]
pub struct List {
    /// State of the invocations
    #[arg(long, value_name = "STATE", value_parser = state_parser())]
    state: Option<String>,
    /// Only invocations that wait for a person: halted ones, and those that the host has put into
    /// quarantine
    #[arg(long, conflicts_with = "state")]
    stuck: bool,
    /// Alias of the module through which they were called
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// Name of the function
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Label of the invocations
    #[arg(long, value_name = "NAME=VALUE", value_parser = read_label)]
    label: Option<(String, String)>,
    /// Prefix of ids
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Id of the calling invocation
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Only invocations without a caller
    #[arg(long)]
    roots: bool,
    #[command(flatten)]
    pages: Pages,
}

fn state_parser() -> clap::builder::PossibleValuesParser {
    InvocationState::ALL.map(InvocationState::as_str).into()
}

impl List {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let asks_why = self.stuck || self.state.as_deref() == Some("halted");
        let page = self.fetch(client, console).await?;
        if console.json() {
            console.document(&page)?;
            return Ok(Exit::Done);
        }
        if page.items.is_empty() && page.unreadable.is_empty() {
            console.remark("no invocations");
            return Ok(Exit::Done);
        }
        let now = now_ms();
        let heads = ["ID", "FUNCTION", "STATE", "STARTED", "TOOK", "RECORDS", "RETRIES"];
        let mut table = console.new_table(&heads);
        for item in &page.items {
            let took = item.settled_at_ms.map(|at| length(at - item.created_at_ms));
            table.add_row([
                Cell::new(plain(&item.id)),
                Cell::new(function(&item.target, item.function.as_deref())),
                state_cell(item.state),
                Cell::new(relative(item.created_at_ms, now)),
                Cell::new(took.as_deref().unwrap_or("-")).set_alignment(CellAlignment::Right),
                Cell::new(item.journal_len).set_alignment(CellAlignment::Right),
                Cell::new(item.attempt).set_alignment(CellAlignment::Right),
            ]);
        }
        for row in &page.unreadable {
            let state = Cell::new("unreadable");
            table.add_row([Cell::new(plain(&row.id)), Cell::new(&row.kind), state]);
        }
        console.table(table)?;
        let halted: Vec<&str> = page
            .items
            .iter()
            .filter(|item| asks_why && item.state == InvocationState::Halted)
            .map(|item| item.id.as_str())
            .collect();
        why(&halted, client, console).await?;
        pages::say_unreadable(&page.unreadable, console);
        pages::say_more(page.next.as_deref(), console);
        Ok(Exit::Done)
    }

    async fn fetch(self, client: &Client, console: &Console) -> Result<InvocationPage, CliError> {
        let _progress = console.progress("listing");
        let query = InvocationQuery {
            module: self.module,
            function: self.function,
            state: self.state,
            stuck: self.stuck.then_some(true),
            prefix: self.prefix,
            label: self.label.map(|(name, value)| format!("{name}={value}")),
            parent: self.parent,
            roots: self.roots.then_some(true),
            ..InvocationQuery::default()
        };
        let ask = async |after, limit| {
            client.list(&InvocationQuery { after, limit: Some(limit), ..query.clone() }).await
        };
        Ok(self.pages.read(ask).await?)
    }
}

/// Prints why each of these invocations is halted.
async fn why(halted: &[&str], client: &Client, console: &mut Console) -> Result<(), CliError> {
    if halted.is_empty() {
        return Ok(());
    }
    console.line("")?;
    for id in halted {
        let note = client.invocation(id).await?.note;
        let note = note.map(|note| format!("{}: {}", note.kind, note.message));
        let note = note.unwrap_or_else(|| "halted by hand".to_owned());
        let id = console.paint(CYAN, &plain(id));
        console.line(format!("{id}  {}", plain_lines(&note, 2)))?;
    }
    Ok(())
}
