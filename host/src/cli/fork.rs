//! `segno fork`.

use clap::Args;
use segno_api::model::{
    DryAnswer, DryEnd, DryRun, DryStep, DryStream, ForkInvocation, Forked, OutcomeView,
    UnansweredPolicy,
};
use segno_client::Client;
use serde_json::Value;

use super::{
    CliError, Console, Exit,
    console::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    given::{GivenOptions, policy_parser},
    show::{failure_line, plain, short_digest},
    text,
};

/// Start a new invocation from the first records of another one's journal
///
/// Recorded results are reused: the new invocation continues from there on its own, and steps that
/// were open at that place are started again. The old invocation stays unchanged. The module must
/// repeat the records first; otherwise nothing is started.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno fork order-1001 --at 7                       # starts order-1001-f1
  segno fork order-1001 --at 7 --set 3='{\"ok\":true}' --id what-if
  segno fork order-1001 --at 7 --fail 3='card declined'
  segno fork order-1001 --at 7 --module shop         # continues on the present module shop
  segno fork order-1001 --at 7 --module shop --dry-run
  segno replay order-1001 --step                     # finds the place

The exit code is 0, also if a dry run ends otherwise than the old invocation did; 7 if the module
does not repeat the records.")]
pub(super) struct ForkArgs {
    /// Id of the invocation
    id: String,
    /// Number of records that the new invocation begins with: in the numbering of `segno inspect`,
    /// it continues before record N
    #[arg(long, value_name = "N")]
    at: u32,
    #[command(flatten)]
    given: GivenOptions,
    /// Module to run: its name or digest (default: the code that the old one runs)
    #[arg(long, value_name = "MODULE")]
    module: Option<String>,
    /// Id of the new invocation (default: the first free of ID-f1, ID-f2, …)
    #[arg(long = "id", value_name = "NEW")]
    new: Option<String>,
    /// Only run it forward in memory, with the answers of the old journal, and show how it ends and
    /// how its streams differ: nothing is stored, and nothing is done outside
    #[arg(long)]
    dry_run: bool,
    /// What a command gets in a dry run if the old journal has no answer: nothing, so that the run
    /// ends; a failure with code 404; or null
    #[arg(
        long,
        value_name = "POLICY",
        requires = "dry_run",
        default_value = "stop",
        value_parser = policy_parser()
    )]
    unanswered: UnansweredPolicy,
}

/// Columns of the output if there is no terminal.
const COLUMNS: usize = 80;

impl ForkArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let set = self.given.results()?;
        let request = ForkInvocation {
            at: self.at,
            set,
            module: self.module,
            id: self.new,
            dry_run: self.dry_run,
            unanswered: self.unanswered,
        };
        let progress = console.progress(format!("forking {}", self.id));
        let forked = client.fork(&self.id, &request).await;
        drop(progress);
        let forked = forked?;
        if console.json() {
            console.document(&forked)?;
            return Ok(Exit::Done);
        }
        match &forked.dry_run {
            Some(run) => dry_run(&forked, run, console)?,
            None => made(&forked, console)?,
        }
        Ok(Exit::Done)
    }
}

fn made(forked: &Forked, console: &mut Console) -> Result<(), CliError> {
    let id = console.paint(CYAN, &plain(&forked.id));
    let from = &forked.forked_from;
    let set = match from.set.as_slice() {
        [] => String::new(),
        set => {
            let set: Vec<String> = set.iter().map(|command| format!("#{command}")).collect();
            format!(", with given results of {}", set.join(", "))
        }
    };
    let how = if forked.created { "begins with" } else { "exists; it began with" };
    let text = format!("{how} {} records of {}{set}", from.records, plain(&from.id));
    let text = console.paint(DIM, &text);
    console.paragraph("", &format!("{id}  {text}"), 2)
}

fn dry_run(forked: &Forked, run: &DryRun, console: &mut Console) -> Result<(), CliError> {
    let from = &forked.forked_from;
    let head = console.paint(BOLD, "dry run");
    let place = format!(
        "from record {} of {} on module {}: nothing was stored",
        from.records,
        plain(&from.id),
        short_digest(&forked.module)
    );
    let place = console.paint(DIM, &place);
    console.paragraph("", &format!("{head}  {place}"), 2)?;
    for step in &run.steps {
        let line = step_line(step, console);
        console.line(line)?;
    }
    if !run.left_out.is_empty() {
        console.line("")?;
        let head = console.paint(BOLD, "not asked for any more");
        console.line(head)?;
        for left in &run.left_out {
            let index = console.paint(CYAN, &format!("#{}", left.index));
            let name = plain(left.name.as_deref().unwrap_or_default());
            console.line(format!("  {index} {} {name}", left.command).trim_end())?;
        }
    }
    if !run.streams.is_empty() {
        console.line("")?;
        let head = console.paint(BOLD, "streams");
        console.line(head)?;
        run.streams.iter().try_for_each(|of| stream(of, console))?;
    }
    console.line("")?;
    end(run, console)
}

/// Prints a stream: equal, or the first items of both that differ, side by side.
fn stream(of: &DryStream, console: &mut Console) -> Result<(), CliError> {
    let unit = if of.content_type.starts_with("application/json") { "message" } else { "byte" };
    let name = console.paint(CYAN, &plain(&of.name));
    let (style, mark, text) = match (of.same, of.differs_at) {
        (true, _) => (DIM, "=", counted(of.length, unit)),
        (false, Some(at)) => {
            let lengths = format!("{} recorded, {} now", of.recorded_length, of.length);
            (YELLOW, "~", format!("differs from {unit} {at} on ({lengths})"))
        }
        (false, None) => (YELLOW, "?", "has too much data to be compared".to_owned()),
    };
    console.line(format!("  {} {name} {text}", console.paint(style, mark)))?;
    if of.differs_at.is_none() {
        return Ok(());
    }
    let column = (console.width().unwrap_or(COLUMNS).max(COLUMNS / 2) - 8) / 2;
    let pair = |left: &str, right: &str| {
        let left = text::cut(&plain(left), column);
        let pad = " ".repeat(column.saturating_sub(text::width(&left)) + 2);
        format!("      {left}{pad}{}", text::cut(&plain(right), column)).trim_end().to_owned()
    };
    let head = console.paint(DIM, &pair("RECORDED", "NOW"));
    console.line(head)?;
    let rows = of.recorded.len().max(of.forked.len());
    let cell = |items: &[String], row: usize| match items.get(row) {
        Some(item) => item.clone(),
        None if row == items.len() => "(the end)".to_owned(),
        None => String::new(),
    };
    (0..rows)
        .try_for_each(|row| console.line(pair(&cell(&of.recorded, row), &cell(&of.forked, row))))
}

fn counted(count: u64, unit: &str) -> String {
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

/// Formats a step as `#3 call ship {…}`, with its result.
fn step_line(step: &DryStep, console: &Console) -> String {
    let (mark, style) = match (step.answered, step.recorded) {
        (DryAnswer::Open | DryAnswer::Policy, _) => ("?", YELLOW),
        (_, true) => ("=", DIM),
        (DryAnswer::Recorded, false) => ("~", CYAN),
        (DryAnswer::Clock | DryAnswer::LeftOut, false) => ("+", GREEN),
    };
    let index = console.paint(CYAN, &format!("#{}", step.index));
    let command = console.paint(BOLD, &step.command);
    let name = plain(step.name.as_deref().unwrap_or_default());
    let lead = format!("{} {index} {command} {name}", console.paint(style, mark));
    let lead = lead.trim_end().to_owned();
    let of = step.of_command.filter(|of| *of != step.index);
    let of = of.map(|of| format!(" (as #{of} was)")).unwrap_or_default();
    let told = match (step.answered, &step.outcome) {
        (DryAnswer::Open, _) => "← no answer".to_owned(),
        (DryAnswer::LeftOut, _) => "← its effect was left out".to_owned(),
        (DryAnswer::Clock, _) => "← its time came".to_owned(),
        (DryAnswer::Policy, outcome) => {
            format!("← no recorded answer: {}", outcome_text(outcome.as_ref()))
        }
        (DryAnswer::Recorded, outcome) => format!("← {}{of}", outcome_text(outcome.as_ref())),
    };
    let told = console.fit(&told, text::width(&lead) + 1);
    format!("{lead} {told}")
}

fn end(run: &DryRun, console: &mut Console) -> Result<(), CliError> {
    let recorded = run.recorded_outcome.as_ref().map(|outcome| outcome_text(Some(outcome)));
    let (style, word, text) = match run.end {
        DryEnd::Ended if run.same_end => (GREEN, "ends alike", outcome_text(run.outcome.as_ref())),
        DryEnd::Ended => (YELLOW, "ends", outcome_text(run.outcome.as_ref())),
        DryEnd::Waits => {
            (YELLOW, "stops", "at commands that the old journal does not answer".to_owned())
        }
        DryEnd::Failed => {
            (RED, "fails", plain(run.error.as_deref().unwrap_or("no reason is known")))
        }
    };
    let word = console.paint(style.bold(), word);
    console.paragraph("", &format!("{word}: {text}"), 2)?;
    if run.same_end {
        return Ok(());
    }
    let before = recorded.unwrap_or_else(|| "it has not ended".to_owned());
    console.paragraph("", &format!("{}: {before}", console.paint(BOLD, "recorded")), 2)
}

/// Formats an outcome on one line.
pub(super) fn outcome_text(outcome: Option<&OutcomeView>) -> String {
    match outcome {
        Some(OutcomeView { failure: Some(failure), .. }) => failure_line(failure),
        Some(OutcomeView { value: Some(value), .. }) => plain(&value.to_string()),
        _ => Value::Null.to_string(),
    }
}
