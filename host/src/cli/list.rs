//! `segno list`.

use std::path::PathBuf;

use clap::Args;
use segno_api::model::{
    InvocationCounts, InvocationPage, InvocationQuery, InvocationState, InvocationSummary,
};
use segno_client::{Client, ClientError};

use super::{
    CliError, Console, Exit,
    bundled::LoadedBundles,
    console::{CYAN, DIM},
    filter::FilterOptions,
    item_table::ItemTable,
    pages::{self, PageOptions},
    show::{forked_from, function, plain, plain_lines, state_cell},
    table::{TextCell, TextColumn, TextTable},
    time::{day_and_minute, length, now_ms, occurrence, relative},
};

/// List invocations, newest first
///
/// Lists invocations that clients and schedules started; calls only on request. The last line
/// counts all that match the options, on this page and on others.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno list
  segno list --since 2h
  segno list --stuck           # what cannot continue by itself, and why; calls as well
  segno list --stuck --json | jq -r '.items[] | [.id, .stuck.reason] | @tsv'
  segno list --module shop --label customer=42
  segno list --error declined --since 1d
  segno list --prefix order- --limit 1000 --json | jq -r '.items[].id'
  segno list --all             # every one, calls as well
  segno list --roots --all     # every one, without calls
  segno list --bundle order.segno-bundle --calls")]
pub(super) struct ListArgs {
    #[command(flatten)]
    filter: FilterOptions,
    /// Only invocations that cannot continue by themselves, with the reason: halted, deadlocked,
    /// not claimed by any worker, behind a closed limit, failing again and again; and rows in
    /// quarantine
    #[arg(long, conflicts_with = "state")]
    stuck: bool,
    /// Alias of the module through which they were called
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// Name of the function
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Id of the calling invocation
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Include calls; so do --all, --stuck, --state halted, --function, --prefix and --parent
    #[arg(long)]
    calls: bool,
    /// Only invocations without a caller
    #[arg(long, conflicts_with_all = ["calls", "parent"])]
    roots: bool,
    /// List executions in these bundles instead of asking a host; a folder means all bundles in it
    #[arg(long, value_name = "FILE|FOLDER", num_args = 1..)]
    bundle: Vec<PathBuf>,
    #[command(flatten)]
    pages: PageOptions,
}

impl ListArgs {
    pub(super) async fn run(
        self,
        host: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let client = &match self.bundle.is_empty() {
            true => host()?,
            false => {
                let bundled = LoadedBundles::read(&self.bundle)?;
                bundled.remarks(console);
                bundled.client().await?
            }
        };
        let asks_why = self.stuck || self.filter.state.as_deref() == Some("halted");
        let page = self.fetch(client, console).await?;
        if console.json() {
            console.document(&page)?;
            return Ok(Exit::Done);
        }
        pages::say_missing(&page.missing, console);
        if page.items.is_empty() && page.unreadable.is_empty() {
            console.remark("no invocations");
            return Ok(Exit::Done);
        }
        let mut table = table(&page);
        for row in &page.unreadable {
            let state = TextCell::from("unreadable");
            table.row([TextCell::from(plain(&row.id)), TextCell::from(&row.kind), state]);
        }
        console.table(&table)?;
        if asks_why {
            why(&page.items, console)?;
        }
        if let Some(counts) = page.counts.as_ref().filter(|counts| !counts.states.is_empty()) {
            let counts = console.paint(DIM, &in_words(counts));
            console.paragraph("\n", &counts, 0)?;
        }
        pages::say_unreadable(&page.unreadable, console);
        pages::say_more(page.next.as_deref(), console);
        Ok(Exit::Done)
    }

    async fn fetch(self, client: &Client, console: &Console) -> Result<InvocationPage, CliError> {
        let _progress = console.progress("listing");
        let names_calls = self.stuck
            || self.filter.state.as_deref() == Some("halted")
            || self.function.is_some()
            || self.filter.prefix.is_some()
            || self.parent.is_some();
        let is_without_calls = self.roots || !(self.calls || self.pages.is_all() || names_calls);
        let query = InvocationQuery {
            module: self.module,
            function: self.function,
            stuck: self.stuck.then_some(true),
            parent: self.parent,
            roots: is_without_calls.then_some(true),
            ..self.filter.query()
        };
        let ask = async |after, limit, partial| {
            // The first page suffices: the counts do not depend on the page.
            let is_counted = Option::is_none(&after) && query.error.is_none();
            let counts = (is_counted && !self.filter.is_beyond_query()).then_some(true);
            let query =
                InvocationQuery { after, limit: Some(limit), counts, partial, ..query.clone() };
            let mut page = client.list(&query).await?;
            self.filter.retain(&mut page);
            Ok(page)
        };
        Ok(self.pages.read_present(ask).await?)
    }
}

/// The rows of a listing. Columns for the instants of schedules, and for the number of unread
/// signals and promises of ended invocations, appear if any row has them.
fn table(page: &InvocationPage) -> TextTable {
    let now = now_ms();
    let due = |id: &str| occurrence(id).map(day_and_minute);
    let unread = |item: &InvocationSummary| item.settled_at_ms.map_or(0, |_| item.unread);
    let any = |has: &dyn Fn(&InvocationSummary) -> bool| page.items.iter().any(has);
    ItemTable::new()
        .column(TextColumn::id("ID"), |item: &InvocationSummary| plain(&item.id))
        .column_if(
            any(&|item| due(&item.id).is_some()),
            TextColumn::whole("DUE (UTC)").rank(1),
            |item| due(&item.id).unwrap_or_default(),
        )
        .column(TextColumn::text("FUNCTION"), |item| {
            function(&item.target, item.function.as_deref())
        })
        .column(TextColumn::whole("STATE"), |item| state_cell(item.state, item.killed))
        .column(TextColumn::whole("STARTED").rank(2), |item| relative(item.created_at_ms, now))
        .column(TextColumn::number("TOOK").rank(3), |item| {
            length(item.settled_at_ms.unwrap_or(now) - item.created_at_ms)
        })
        .column(TextColumn::number("RECORDS").rank(5), |item| item.journal_len)
        .column(TextColumn::number("RETRIES").rank(4), |item| item.attempt)
        .column_if(any(&|item| unread(item) > 0), TextColumn::number("UNREAD").rank(2), unread)
        .column_if(any(&|item| item.forked_from.is_some()), TextColumn::text("FORKED"), |item| {
            item.forked_from.as_ref().map(forked_from).unwrap_or_default()
        })
        .rows(&page.items)
}

/// Prints the reasons for which invocations are halted or stuck.
fn why(items: &[InvocationSummary], console: &mut Console) -> Result<(), CliError> {
    let is_told =
        |item: &&InvocationSummary| item.state == InvocationState::Halted || item.stuck.is_some();
    for (place, item) in items.iter().filter(is_told).enumerate() {
        if place == 0 {
            console.line("")?;
        }
        let note = item.note.as_ref().map(|note| format!("{}: {}", note.kind, note.message));
        let stuck = item.stuck.as_ref().map(|stuck| format!("{}: {}", stuck.reason, stuck.why));
        // A note has more detail than its reason.
        let note = match item.state {
            InvocationState::Halted => note,
            _ => stuck,
        };
        let note = note.unwrap_or_else(|| "halted by hand".to_owned());
        let id = console.paint(CYAN, &plain(&item.id));
        console.paragraph(&format!("{id}  "), &plain_lines(&note, 0), 2)?;
    }
    Ok(())
}

/// Formats the counts of a listing.
fn in_words(counts: &InvocationCounts) -> String {
    let known = InvocationState::ALL.map(InvocationState::as_str);
    let count = |state| counts.states.get(state).map(|count| format!("{count} {state}"));
    let words: Vec<String> = known.into_iter().filter_map(count).collect();
    let note = if counts.newest_only { " among the newest 10,000" } else { "" };
    format!("{}{note}", words.join(", "))
}
