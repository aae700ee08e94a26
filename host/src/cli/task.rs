//! `segno task`.

use clap::{Args, Subcommand};
use comfy_table::Color;
use segno_api::model::{Accepted, TaskPage, TaskQuery, TaskState, TaskView};
use segno_client::Client;

use super::{
    CliError, Console, Exit,
    console::{CYAN, YELLOW},
    item_table::ItemTable,
    pages::PageOptions,
    proceed,
    show::{self, facts, function, plain},
    table::{TextCell, TextColumn},
    time::{length, now_ms, relative, when},
};

/// Show the holders and leases of tasks, and intervene manually
///
/// A task is the claim on producing one promise's value, by a function of a module or of an
/// external worker.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno task list --state acquired
  segno task list --holder worker-7
  segno task get order-1001
  segno task halt order-1001 && segno task continue order-1001
  segno task release order-1001     # its holder hangs: offer it to others")]
pub(super) struct TaskArgs {
    #[command(subcommand)]
    what: TaskCommand,
}

#[derive(Debug, Subcommand)]
enum TaskCommand {
    List(TaskListArgs),
    /// Show a task: its holder and lease, its version, and the reason of a halt
    Get(TaskIdArgs),
    /// Halt a task for a person; its holder loses the claim
    Halt(TaskIdArgs),
    /// Continue a halted task, with its failures forgotten
    Continue(TaskIdArgs),
    Release(TaskReleaseArgs),
}

/// List tasks, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno task list
  segno task list --state halted
  segno task list --holder worker-7 --json | jq -r '.items[].id'")]
struct TaskListArgs {
    /// State of the tasks
    #[arg(long, value_name = "STATE", value_parser = states())]
    state: Option<String>,
    /// Name of the worker or host that holds the tasks
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// Prefix of ids
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    #[command(flatten)]
    pages: PageOptions,
}

#[derive(Debug, Args)]
struct TaskIdArgs {
    /// Id of the task, which is that of its promise
    id: String,
}

/// Release a task from the worker that holds it, and offer it to others immediately
///
/// Further writes of the holder are refused. Use this when a holder hangs and its lease is long.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno task release order-1001
  segno task release order-1001 --if-version 4     # only this claim")]
struct TaskReleaseArgs {
    /// Id of the task, which is that of its promise
    id: String,
    /// Version of the claim to release, as `segno task get` shows it
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
}

fn states() -> clap::builder::PossibleValuesParser {
    TaskState::LISTED.map(TaskState::as_str).into()
}

impl TaskArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.what {
            TaskCommand::List(list) => list.run(client, console).await?,
            TaskCommand::Get(TaskIdArgs { id }) => show(&client.task(&id).await?, console)?,
            TaskCommand::Halt(TaskIdArgs { id }) => {
                let hint = format!("halted; `segno task continue {id}` sets it going again");
                said(&client.halt(&id).await?, &hint, "was halted already", console)?;
            }
            TaskCommand::Continue(TaskIdArgs { id }) => {
                return proceed::run(client, console, &id, None).await;
            }
            TaskCommand::Release(TaskReleaseArgs { id, if_version }) => {
                let released = client.release(&id, if_version).await?;
                said(&released, "taken from its holder, and offered again", "", console)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl TaskListArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let page = self.fetch(client, console).await?;
        let now = now_ms();
        ItemTable::new()
            .column(TextColumn::id("ID"), |item: &TaskView| plain(&item.id))
            .column(TextColumn::text("FUNCTION").rank(1), |item| {
                function(&item.target, item.function.as_deref())
            })
            .column(TextColumn::whole("STATE"), |item| state_cell(item.state))
            .column(TextColumn::number("VERSION").rank(4), |item| item.version)
            .column(TextColumn::text("HOLDER"), |item| {
                item.holder.as_deref().map_or("-".to_owned(), plain)
            })
            .column(TextColumn::whole("UNTIL").rank(2), |item| {
                let until = item.until_at_ms.or(item.retry_at_ms.filter(|at| *at > now));
                until.map_or("-".to_owned(), |at| relative(at, now))
            })
            .column(TextColumn::text("NOTE").rank(3), |item| {
                let note = item.note.as_ref();
                let note = note.map(|note| format!("{}: {}", note.kind, note.message));
                let note = note.or_else(|| item.halted.clone()).unwrap_or_default();
                plain(&note.replace('\n', " "))
            })
            .state_at(2)
            .print("no tasks", &page, console)
    }

    async fn fetch(self, client: &Client, console: &Console) -> Result<TaskPage, CliError> {
        let _progress = console.progress("listing");
        let query = TaskQuery {
            state: self.state,
            holder: self.holder,
            prefix: self.prefix,
            ..TaskQuery::default()
        };
        let ask = async |after, limit, partial| {
            let query = TaskQuery { after, limit: Some(limit), partial, ..query.clone() };
            client.tasks(&query).await
        };
        Ok(self.pages.read_present(ask).await?)
    }
}

fn show(task: &TaskView, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        return console.document(task);
    }
    let now = now_ms();
    let when = |at: i64| when(at, now);
    let (id, target) = (plain(&task.id), function(&task.target, task.function.as_deref()));
    let head = format!("{}  {target}  {}", console.paint(CYAN, &id), task.state.as_str());
    console.paragraph("", &head, 2)?;
    let mut lines = vec![("version", task.version.to_string())];
    if let Some(holder) = &task.holder {
        lines.push(("holder", plain(holder)));
        lines.extend(task.until_at_ms.map(|at| ("until", when(at))));
        lines.extend(task.ttl_ms.map(|ttl| ("lease", length(ttl))));
        lines.extend(task.heard_at_ms.map(|at| ("heard", relative(at, now))));
    }
    lines.extend(match (task.offered, task.retry_at_ms) {
        (Some(false), Some(at)) => Some(("offered", when(at))),
        (Some(true), _) => Some(("offered", "now; it waits for a worker".to_owned())),
        (Some(false) | None, _) => None,
    });
    if let Some(reason) = &task.halted {
        let hint = format!("{reason}; `segno task continue {id}` sets it going again");
        lines.push(("halted", console.paint(YELLOW, &hint)));
    }
    if task.attempt > 0 || task.losses > 0 {
        let (attempts, losses) = (task.attempt, task.losses);
        lines.push((
            "so far",
            format!("attempts without progress: {attempts}; claims lost: {losses}"),
        ));
    }
    lines.push(("made", when(task.created_at_ms)));
    lines.extend(task.timeout_at_ms.map(|at| ("deadline", when(at))));
    facts(lines, console)?;
    if let Some(note) = &task.note {
        show::note(note, console)?;
    }
    Ok(())
}

fn state_cell(state: TaskState) -> TextCell {
    let color = match state {
        TaskState::Pending | TaskState::Suspended => None,
        TaskState::Acquired => Some(Color::Cyan),
        TaskState::Halted => Some(Color::Yellow),
        TaskState::Fulfilled => Some(Color::Green),
    };
    TextCell::colored(state.as_str(), color)
}

fn said(
    accepted: &Accepted,
    done: &str,
    already: &str,
    console: &mut Console,
) -> Result<(), CliError> {
    if console.json() {
        return console.document(accepted);
    }
    let id = console.paint(CYAN, &plain(&accepted.id));
    console.line(format!("{id}  {}", if accepted.changed { done } else { already }))
}
