//! `segno promise`.

use std::{collections::BTreeMap, time::Duration};

use clap::{Args, Subcommand};
use segno_api::model::{
    CreatePromise, PromisePage, PromiseQuery, PromiseState, PromiseSummary, PromiseView,
};
use segno_client::Client;

use super::{
    CliError, Console, Exit,
    console::{CYAN, DIM, RED},
    input::{read_json, read_label},
    item_table::ItemTable,
    pages::PageOptions,
    settle::{self, RejectArgs, ResolveArgs},
    show::{self, facts, failure_line, plain, promise_cell, promise_style, short_target},
    table::TextColumn,
    time::{as_ms, now_ms, read_limit, relative, when},
};

/// Create, show and settle promises
///
/// A promise is a value that is not known yet. Promises of invocations are settled by their
/// functions; all others by a client or a worker that knows the value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno promise create approval-7 --timeout 3d --tag team=finance
  segno promise list --state pending --prefix approval-
  segno promise get approval-7
  segno promise resolve approval-7 '{\"approved\": true}'")]
pub(super) struct PromiseArgs {
    #[command(subcommand)]
    what: PromiseCliCommand,
}

#[derive(Debug, Subcommand)]
enum PromiseCliCommand {
    List(PromiseListArgs),
    /// Show a promise: its value, its tags, the invocations that wait for it
    Get(PromiseIdArgs),
    Create(PromiseCreateArgs),
    Resolve(ResolveArgs),
    Reject(RejectArgs),
    /// Settle a promise as cancelled
    Cancel(PromiseIdArgs),
}

/// List promises, by id: those of invocations, and all others
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno promise list --state pending --external
  segno promise list --prefix order-1001/
  segno promise list --tag target=poll://any@packers --tag team=finance --all --json")]
struct PromiseListArgs {
    /// State of the promises
    #[arg(long, value_name = "STATE", value_parser = states())]
    state: Option<String>,
    /// Only those that people or other systems settle: neither calls, nor timers, nor signals
    #[arg(long)]
    external: bool,
    /// Prefix of ids
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Tag of the promises; may be repeated, then all of them must match
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = read_label)]
    tags: Vec<(String, String)>,
    #[command(flatten)]
    pages: PageOptions,
}

#[derive(Debug, Args)]
struct PromiseIdArgs {
    /// Id of the promise
    id: String,
}

/// Create a promise that is settled from outside
///
/// The same id again changes nothing, and the answer says so. With the tag `target` an external
/// worker produces the value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno promise create approval-7 --timeout 3d
  segno promise create later --timeout 90s --tag timer=true
  segno promise create pack-7 --timeout 1h --tag target=poll://any@packers '{\"func\": \"pack\", \"args\": [7]}'")]
struct PromiseCreateArgs {
    /// Id of the promise
    id: String,
    /// Parameter for the client or worker that settles the promise: JSON, @FILE, or - for standard
    /// input
    #[arg(value_name = "JSON")]
    param: Option<String>,
    /// Time from now to the deadline (default: no deadline)
    #[arg(long, value_name = "LENGTH", value_parser = read_limit)]
    timeout: Option<Duration>,
    /// Tag; may be repeated
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = read_label)]
    tags: Vec<(String, String)>,
}

fn states() -> clap::builder::PossibleValuesParser {
    PromiseState::ALL.map(PromiseState::as_str).into()
}

impl PromiseArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.what {
            PromiseCliCommand::List(list) => list.run(client, console).await?,
            PromiseCliCommand::Get(PromiseIdArgs { id }) => {
                show(&client.promise(&id).await?, console)?
            }
            PromiseCliCommand::Create(create) => create.run(client, console).await?,
            PromiseCliCommand::Resolve(resolve) => return resolve.run(client, console).await,
            PromiseCliCommand::Reject(reject) => return reject.run(client, console).await,
            PromiseCliCommand::Cancel(PromiseIdArgs { id }) => {
                return settle::settled(&client.cancel_promise(&id).await?, console);
            }
        }
        Ok(Exit::Done)
    }
}

impl PromiseListArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let page = self.fetch(client, console).await?;
        let now = now_ms();
        ItemTable::new()
            .column(TextColumn::id("ID"), |item: &PromiseSummary| plain(&item.id))
            .column(TextColumn::whole("STATE"), |item| promise_cell(item.state))
            .column(TextColumn::text("PRODUCED BY"), |item| plain(&producer(&item.tags)))
            .column(TextColumn::whole("MADE").rank(2), |item| relative(item.created_at_ms, now))
            .column(TextColumn::whole("DEADLINE").rank(1), |item| {
                let deadline = item.timeout_at_ms.filter(|_| item.settled_at_ms.is_none());
                deadline.map_or("-".to_owned(), |at| relative(at, now))
            })
            .print("no promises", &page, console)
    }

    async fn fetch(self, client: &Client, console: &Console) -> Result<PromisePage, CliError> {
        let _progress = console.progress("listing");
        let tags: BTreeMap<String, String> = self.tags.into_iter().collect();
        let query = PromiseQuery {
            state: self.state,
            prefix: self.prefix,
            tags: (!tags.is_empty()).then(|| serde_json::json!(tags).to_string()),
            external: self.external.then_some(true),
            signals: None,
            ..PromiseQuery::default()
        };
        let ask = async |after, limit, partial| {
            let query = PromiseQuery { after, limit: Some(limit), partial, ..query.clone() };
            client.promises(&query).await
        };
        Ok(self.pages.read_present(ask).await?)
    }
}

impl PromiseCreateArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let request = CreatePromise {
            id: self.id,
            timeout_ms: self.timeout.map(as_ms).transpose()?,
            tags: self.tags.into_iter().collect(),
            param: self.param.as_deref().map(read_json).transpose()?,
        };
        let made = client.create_promise(&request).await?;
        if !made.created {
            console.warn("it existed before and is unchanged");
        }
        if console.json() {
            return console.document(&made);
        }
        let id = console.paint(CYAN, &plain(&made.promise.id));
        let what = match (made.created, made.promise.timeout_at_ms) {
            (false, _) => format!("exists, {}", made.promise.state.as_str()),
            (true, Some(at)) => format!("made, times out {}", relative(at, now_ms())),
            (true, None) => "made, never times out".to_owned(),
        };
        console.line(format!("{id}  {}", console.paint(DIM, &what)))
    }
}

fn show(promise: &PromiseView, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        return console.document(promise);
    }
    let now = now_ms();
    let when = |at: i64| when(at, now);
    let id = console.paint(CYAN, &plain(&promise.id));
    let state = console.paint(promise_style(promise.state), promise.state.as_str());
    let head = format!("{id}  {state}  {}", plain(&producer(&promise.tags)));
    console.paragraph("", &head, 2)?;
    let mut lines = vec![("made", when(promise.created_at_ms))];
    lines.extend(promise.settled_at_ms.map(|at| ("settled", when(at))));
    lines.extend(promise.timeout_at_ms.map(|at| ("deadline", when(at))));
    lines.extend(promise.made_by.as_ref().map(|maker| ("made by", plain(maker))));
    lines.extend(promise.param.as_ref().map(|param| ("param", show::value(param, console))));
    lines.extend(promise.value.as_ref().map(|value| ("value", show::value(value, console))));
    lines.extend(
        promise
            .failure
            .as_ref()
            .map(|failure| ("failure", console.paint(RED, &failure_line(failure)))),
    );
    lines.extend(
        promise.tags.iter().map(|(name, value)| ("tag", plain(&format!("{name}={value}")))),
    );
    lines.extend(promise.awaited_by.iter().map(|id| ("awaited", format!("by {}", plain(id)))));
    facts(lines, console)
}

/// The party that is expected to settle the promise: a client, a worker or a function.
fn producer(tags: &BTreeMap<String, String>) -> String {
    match (tags.get("target"), tags.get("timer").map(String::as_str)) {
        (_, Some("true")) => "its deadline".to_owned(),
        (Some(target), _) => short_target(target).to_owned(),
        (None, _) => "-".to_owned(),
    }
}
