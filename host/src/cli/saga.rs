//! `segno saga`.

use clap::{ArgGroup, Args, Subcommand};
use comfy_table::Color;
use segno_api::model::{
    FailureView, InvocationState, SagaPage, SagaState, SagaStepState, SagaStepView, SagaView,
    UndoState,
};
use segno_client::Client;
use serde_json::Value;

use super::{
    CliError, Console, Exit,
    console::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    show::{failure_line, plain, short_target},
    table::{TextCell, TextColumn, TextTable},
};

/// Show the sagas of an invocation, and resolve steps with an unknown effect
///
/// A saga is a sequence of steps that are undone, last first, if the whole does not succeed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno saga show trip-1
  segno saga settle trip-1 booking 2 --acted         # it is undone
  segno saga settle trip-1 booking 2 --not-acted     # there is nothing to undo")]
pub(super) struct SagaArgs {
    #[command(subcommand)]
    what: SagaCommand,
}

#[derive(Debug, Subcommand)]
enum SagaCommand {
    /// Show the sagas of an invocation: their steps, and what is undone
    Show(SagaShowArgs),
    Settle(SagaSettleArgs),
}

#[derive(Debug, Args)]
struct SagaShowArgs {
    /// Id of the invocation
    id: String,
}

/// Resolve a step with an unknown effect; the unwinding then continues
///
/// The effect of a step is unknown if its deadline passed, or it was cancelled or killed. Check the
/// effect of the step before you answer: the answer cannot be withdrawn.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("said").required(true))]
#[command(after_help = "\
Examples:
  segno saga settle trip-1 booking 2 --acted
  segno saga settle trip-1 booking 2 --not-acted")]
struct SagaSettleArgs {
    /// Id of the invocation
    id: String,
    /// Name of the saga
    saga: String,
    /// Number of the step, as `segno saga show` prints it
    seq: u32,
    /// It acted, and is undone
    #[arg(long, group = "said")]
    acted: bool,
    /// It did not act: there is nothing to undo
    #[arg(long, group = "said")]
    not_acted: bool,
}

impl SagaArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.what {
            SagaCommand::Show(SagaShowArgs { id }) => {
                let page = client.sagas(&id).await?;
                match console.json() {
                    true => console.document(&page)?,
                    false => show(&page, console)?,
                }
            }
            SagaCommand::Settle(settle) => settle.run(client, console).await?,
        }
        Ok(Exit::Done)
    }
}

impl SagaSettleArgs {
    async fn run(&self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let Self { id, saga, seq, acted, .. } = self;
        let page = client.sagas(id).await?;
        let question = self.question(&page)?;
        let settled = match acted {
            true => client.resolve(&question, Value::Null).await?,
            false => client.reject(&question, did_not_act()).await?,
        };
        if console.json() {
            return console.document(&settled);
        }
        let step = console.paint(CYAN, &format!("{id}, step {seq} of {saga}"));
        let said = match (settled.changed, acted) {
            (Some(false), _) => "another request has settled it meanwhile",
            (_, true) => "acted, and is undone now",
            (_, false) => "did not act; the unwinding continues",
        };
        console.line(format!("{step}  {said}"))
    }

    /// The id of the promise that the answer settles.
    fn question(&self, page: &SagaPage) -> Result<String, CliError> {
        let Self { id, saga: name, seq, .. } = self;
        let wrong = |message: String| CliError::Other { code: "not-unclear", message };
        let Some(saga) = page.items.iter().find(|saga| saga.name == *name) else {
            let names: Vec<&str> = page.items.iter().map(|saga| saga.name.as_str()).collect();
            let known = match names.is_empty() {
                true => "it has none".to_owned(),
                false => format!("it has {}", names.join(", ")),
            };
            return Err(wrong(format!("`{id}` has no saga `{name}`; {known}")));
        };
        let Some(step) = saga.steps.iter().find(|step| step.seq == *seq) else {
            let steps = saga.steps.len();
            return Err(wrong(format!(
                "`{name}` has {steps} steps, and none with the number {seq}"
            )));
        };
        step.question.clone().ok_or_else(|| {
            let why = match step.state {
                SagaStepState::Unknown if saga.state == SagaState::Forward => {
                    "the saga is not being undone"
                }
                SagaStepState::Unknown => "steps behind it are undone first",
                SagaStepState::Open => "it has not ended",
                SagaStepState::Acted => "it acted",
                SagaStepState::Failed => "it did not act",
            };
            wrong(format!("step {seq} of `{name}` cannot be settled: {why}"))
        })
    }
}

fn did_not_act() -> FailureView {
    FailureView { code: 404, message: "it did not act".to_owned(), details: None }
}

fn show(page: &SagaPage, console: &mut Console) -> Result<(), CliError> {
    if page.items.is_empty() {
        return console.line(format!("`{}` has no sagas", page.id));
    }
    for (place, saga) in page.items.iter().enumerate() {
        if place > 0 {
            console.line("")?;
        }
        show_saga(page, saga, console)?;
    }
    if page.incomplete {
        console.line("\nonly the first 20,000 children were looked at: steps may be missing")?;
    }
    Ok(())
}

/// A one-line summary of a saga: its name and status.
pub(super) fn headline(page: &SagaPage, saga: &SagaView, console: &Console) -> String {
    if let Some(how) = ended_without_undoing(page, saga) {
        let stands = format!("{how}: nothing is undone any more");
        let stands = console.paint(RED, &stands);
        return format!("{}  {stands}", console.paint(BOLD, &plain(&saga.name)));
    }
    let seq = saga.next_seq.unwrap_or_default();
    let (style, state) = match saga.state {
        SagaState::Forward => (GREEN, "in progress".to_owned()),
        SagaState::Kept => (GREEN, "nothing undone".to_owned()),
        SagaState::Unwinding => (YELLOW, "is unwound".to_owned()),
        SagaState::Undone => (YELLOW, "undone".to_owned()),
        SagaState::Failed => (RED, format!("step {seq} could not be undone")),
        SagaState::Unclear => (RED, format!("step {seq} is unclear")),
    };
    format!("{}  {}", console.paint(BOLD, &plain(&saga.name)), console.paint(style, &state))
}

const COLUMNS: [TextColumn; 5] = [
    TextColumn::number("STEP"),
    TextColumn::text("FUNCTION"),
    TextColumn::whole("STATE"),
    TextColumn::text("UNDONE BY").rank(1),
    TextColumn::whole("UNDOING"),
];

fn show_saga(page: &SagaPage, saga: &SagaView, console: &mut Console) -> Result<(), CliError> {
    let id = &page.id;
    let head = headline(page, saga, console);
    console.line(head)?;
    let mut table = TextTable::new(&COLUMNS);
    for step in &saga.steps {
        table.row(row(step, page.ended));
    }
    console.table(&table)?;
    for step in &saga.steps {
        if let Some(failure) = step.undo.as_ref().and_then(|undo| undo.failure.as_ref()) {
            let line = console.paint(RED, &failure_line(failure));
            console.line(format!("\nstep {}: {line}", step.seq))?;
        }
        if step.question.is_some() {
            let said = format!("segno saga settle {id} {} {}", saga.name, step.seq);
            let hint = console.paint(DIM, &format!("{said} --acted, or --not-acted"));
            console.line(format!("\nstep {} is unclear: {hint}", step.seq))?;
        }
    }
    Ok(())
}

/// The outcome of an invocation that left steps which acted and are not undone, without a result
/// that confirms this.
fn ended_without_undoing(page: &SagaPage, saga: &SagaView) -> Option<&'static str> {
    let is_undone = |step: &SagaStepView| {
        step.undo.as_ref().is_some_and(|undo| undo.state == UndoState::Completed)
    };
    let stays = |step: &SagaStepView| step.registered && !is_undone(step);
    if saga.state == SagaState::Failed || !saga.steps.iter().any(stays) {
        return None;
    }
    match page.ended? {
        _ if page.killed => Some("killed"),
        InvocationState::TimedOut => Some("timed out"),
        InvocationState::Cancelled => Some("cancelled"),
        InvocationState::Rejected => Some("failed"),
        _ => None,
    }
}

fn row(step: &SagaStepView, ended: Option<InvocationState>) -> [TextCell; 5] {
    let (color, state) = match step.state {
        SagaStepState::Open => (None, "open"),
        SagaStepState::Acted => (Some(Color::Green), "acted"),
        SagaStepState::Failed => (None, "failed"),
        SagaStepState::Unknown => (Some(Color::Red), "unknown"),
    };
    let (undoing_color, undoing) =
        match (step.undo.as_ref().map(|undo| undo.state), step.registered) {
            (Some(UndoState::Pending), _) => (Some(Color::Yellow), "under way"),
            (Some(UndoState::Completed), _) => (None, "undone"),
            (Some(UndoState::Failed), _) => (Some(Color::Red), "failed"),
            (None, true) if ended.is_some_and(|state| state != InvocationState::Resolved) => {
                (Some(Color::Red), "will not be")
            }
            (None, true) if ended.is_some() => (None, "not needed"),
            (None, true) => (None, "if need be"),
            (None, false) => (None, ""),
        };
    [
        TextCell::colored(step.seq.to_string(), None),
        TextCell::colored(plain(step.function.as_deref().unwrap_or("HTTP request")), None),
        TextCell::colored(state, color),
        TextCell::colored(short_target(&step.compensate), None),
        TextCell::colored(undoing, undoing_color),
    ]
}
