//! `segno schedule`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use segno_api::model::{
    Backfill, CreateSchedule, InvocationState, LastRun, Overlap, ScheduleQuery, ScheduleView,
    SkipsView, Trigger, costs_in_words,
};
use segno_client::Client;
use serde_json::Value;

use super::{
    CliError, Console, Exit, budget,
    console::CYAN,
    input::{read_json, read_label},
    item_table::ItemTable,
    pages::{self, PageOptions},
    show::{self, facts, function, plain},
    table::{TextCell, TextColumn, TextTable},
    time::{as_ms, instant, length, now_ms, read_instant, read_limit, relative},
};

/// Start functions at the occurrences of a cron expression
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno schedule create nightly '0 3 * * *' reports/daily '{\"format\": \"pdf\"}' --zone Europe/Berlin
  segno schedule list
  segno schedule pause nightly
  segno schedule trigger nightly
  segno schedule backfill nightly --from 2031-02-01T00:00:00Z --to 2031-03-01T00:00:00Z")]
pub(super) struct ScheduleArgs {
    #[command(subcommand)]
    what: ScheduleCommand,
}

#[derive(Debug, Subcommand)]
enum ScheduleCommand {
    Create(ScheduleCreateArgs),
    List(ScheduleListArgs),
    /// Show a schedule
    Show(ScheduleIdArgs),
    /// Pause a schedule until it is resumed
    Pause(ScheduleIdArgs),
    /// Resume a paused schedule with its next occurrence
    Resume(ScheduleIdArgs),
    /// Remove a schedule; its invocations remain
    Delete(ScheduleIdArgs),
    Trigger(ScheduleTriggerArgs),
    Backfill(ScheduleBackfillArgs),
}

/// Create a schedule
///
/// Minute, hour, day of month, month, weekday, by the clock of --zone. With six fields the first is the
/// second, with seven the last is the year. Each invocation gets the id SCHEDULE@MILLISECONDS, so
/// that none is started twice. Occurrences that pass while no host runs are started later, in
/// order.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno schedule create nightly '0 3 * * *' reports/daily --zone Europe/Berlin
  segno schedule create poll-mail '*/30 * * * * *' mail/fetch --overlap skip
  segno schedule create invoices '0 8 1 * *' billing/run @input.json --timeout 6h --label team=finance")]
struct ScheduleCreateArgs {
    /// Id of the schedule
    id: String,
    /// Cron expression
    cron: String,
    /// Function, as MODULE/FUNCTION
    #[arg(value_name = "MODULE/FUNCTION")]
    target: String,
    /// Input: JSON, @FILE, or - for standard input (default: null)
    #[arg(value_name = "INPUT")]
    input: Option<String>,
    /// Time zone of the expression, by its IANA name
    ///
    /// A time that the clock leaves out occurs once, right after the leap; one that comes twice occurs the
    /// first time.
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,
    /// Start each invocation up to this much later than its occurrence, at random
    #[arg(long, value_name = "LENGTH", value_parser = read_limit)]
    jitter: Option<Duration>,
    /// Rule for occurrences while the last invocation has not ended
    #[arg(long, value_enum, value_name = "RULE", default_value_t = OverlapRule::Allow)]
    overlap: OverlapRule,
    /// Time limit of each invocation, from its occurrence
    #[arg(long, value_name = "LENGTH", value_parser = read_limit)]
    timeout: Option<Duration>,
    /// Template for the ids of invocations, with {{.id}} and {{.timestamp}}
    #[arg(long, value_name = "TEMPLATE")]
    invocation_id: Option<String>,
    /// Budget of each invocation and everything below it; may be repeated
    #[arg(long = "budget", value_name = "UNIT=AMOUNT")]
    budget: Vec<String>,
    /// Label of the invocations; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = read_label)]
    labels: Vec<(String, String)>,
}

/// List schedules, by id
#[derive(Debug, Args)]
struct ScheduleListArgs {
    /// Prefix of ids
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Label of the invocations
    #[arg(long, value_name = "NAME=VALUE", value_parser = read_label)]
    label: Option<(String, String)>,
}

#[derive(Debug, Args)]
struct ScheduleIdArgs {
    /// Id of the schedule
    id: String,
}

/// Start the missed occurrences of a schedule in a past interval, in order
///
/// Occurrences started before are not started again, so the command may be repeated. Time limits
/// count from now.
#[derive(Debug, Args)]
struct ScheduleBackfillArgs {
    /// Id of the schedule
    id: String,
    /// Beginning of the interval (inclusive)
    #[arg(long, value_name = "INSTANT", value_parser = read_instant)]
    from: i64,
    /// End of the interval (exclusive; default: now)
    #[arg(long, value_name = "INSTANT", value_parser = read_instant)]
    to: Option<i64>,
}

/// Start an invocation of a schedule now, also while it is paused
///
/// Its time limit counts from now. The next occurrence stays as it is.
#[derive(Debug, Args)]
struct ScheduleTriggerArgs {
    /// Id of the schedule
    id: String,
    /// Instant that the invocation is named after (default: now); repeated with it, the command starts
    /// nothing
    #[arg(long, value_name = "INSTANT", value_parser = read_instant)]
    at: Option<i64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OverlapRule {
    /// Start a further invocation
    Allow,
    /// Skip the occurrence
    Skip,
    /// Delay the next invocation until the last one has ended
    Queue,
}

impl From<OverlapRule> for Overlap {
    fn from(rule: OverlapRule) -> Self {
        match rule {
            OverlapRule::Allow => Self::Allow,
            OverlapRule::Skip => Self::Skip,
            OverlapRule::Queue => Self::Queue,
        }
    }
}

impl ScheduleArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.what {
            ScheduleCommand::Create(create) => create.run(client, console).await?,
            ScheduleCommand::List(list) => list.run(client, console).await?,
            ScheduleCommand::Show(ScheduleIdArgs { id }) => {
                show(&client.schedule(&id).await?, console)?
            }
            ScheduleCommand::Pause(ScheduleIdArgs { id }) => {
                changed(&client.pause_schedule(&id, true).await?, "paused", console)?;
            }
            ScheduleCommand::Resume(ScheduleIdArgs { id }) => {
                let schedule = client.pause_schedule(&id, false).await?;
                let what = format!("resumed, next {}", next_in_words(&schedule));
                changed(&schedule, &what, console)?;
            }
            ScheduleCommand::Delete(ScheduleIdArgs { id }) => {
                let deleted = client.delete_schedule(&id).await?;
                if console.json() {
                    console.document(&deleted)?;
                } else {
                    let id = console.paint(CYAN, &deleted.id);
                    console.line(format!("{id}  removed"))?;
                }
            }
            ScheduleCommand::Trigger(trigger) => trigger.run(client, console).await?,
            ScheduleCommand::Backfill(range) => range.run(client, console).await?,
        }
        Ok(Exit::Done)
    }
}

impl ScheduleCreateArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let request = CreateSchedule {
            id: self.id,
            cron: self.cron,
            zone: Some(self.zone).filter(|zone| zone != "UTC"),
            jitter_ms: self.jitter.map(as_ms).transpose()?,
            target: self.target,
            input: self.input.as_deref().map_or(Ok(Value::Null), read_json)?,
            invocation_id: self.invocation_id,
            timeout_ms: self.timeout.map(as_ms).transpose()?,
            overlap: self.overlap.into(),
            labels: self.labels.into_iter().collect(),
            budget: budget::read(&self.budget)?,
        };
        let made = client.create_schedule(&request).await?;
        if console.json() {
            return console.document(&made);
        }
        let what = match made.created {
            true => format!("made, first {}", next_in_words(&made.schedule)),
            false => {
                console.warn("it existed before and is unchanged; delete it to make it anew");
                format!("exists, next {}", next_in_words(&made.schedule))
            }
        };
        changed(&made.schedule, &what, console)
    }
}

impl ScheduleListArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let query = ScheduleQuery {
            prefix: self.prefix,
            label: self.label.map(|(name, value)| format!("{name}={value}")),
            ..ScheduleQuery::default()
        };
        let ask = async |after, limit, partial| {
            let query = ScheduleQuery { after, limit: Some(limit), partial, ..query.clone() };
            client.schedules(&query).await
        };
        let all = PageOptions::every().read_present(ask).await?;
        let table = ItemTable::new()
            .column(TextColumn::id("ID"), |schedule: &ScheduleView| plain(&schedule.id))
            .column(TextColumn::text("WHEN"), when)
            .column(TextColumn::text("FUNCTION"), |schedule| {
                function(&schedule.target, schedule.function.as_deref())
            })
            .column(TextColumn::whole("NEXT"), |schedule| next(schedule).0)
            .column(TextColumn::whole("AT (UTC)").rank(3), |schedule| {
                next(schedule).1.unwrap_or_else(|| "-".to_owned())
            })
            .column(TextColumn::whole("LAST").rank(1), |schedule| {
                schedule.last_at_ms.map_or("-".to_owned(), |at| relative(at, now_ms()))
            })
            .column(TextColumn::number("SKIPPED").rank(2), |schedule| schedule.skipped);
        // An unreadable schedule starts nothing.
        let none = "no schedules; make one with `segno schedule create`";
        if table.print_rows(none, &all, console)? {
            for schedule in &all.items {
                let Some(problem) = problem(schedule) else { continue };
                console.warn(&plain(&format!("{}: {problem}", schedule.id)));
            }
            pages::say_unreadable(&all.unreadable, console);
        }
        Ok(())
    }
}

impl ScheduleBackfillArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let to_at_ms = self.to.unwrap_or_else(|| now_ms().saturating_add(1));
        let (mut started, mut existing, mut skipped) = (0_u64, 0_u64, 0_u64);
        let mut because = None;
        let mut from = Some(self.from);
        {
            let _progress = console.progress("starting what was missed");
            while let Some(from_at_ms) = from {
                let done = client.backfill(&self.id, &Backfill { from_at_ms, to_at_ms }).await?;
                started += u64::from(done.started);
                existing += u64::from(done.existing);
                skipped += u64::from(done.skipped);
                because = done.because.or(because);
                from = done.next_at_ms;
            }
        }
        if console.json() {
            let done = serde_json::json!({
                "id": self.id, "started": started, "existing": existing, "skipped": skipped
            });
            return console.document(&done);
        }
        let id = console.paint(CYAN, &self.id);
        console.line(format!(
            "{id}  {started} started, {existing} existed before, {skipped} left out"
        ))?;
        if let Some(because) = because {
            console.warn(&format!("the last one was left out: {}", plain(&because)));
        }
        Ok(())
    }
}

impl ScheduleTriggerArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let triggered = client.trigger(&self.id, &Trigger { at_ms: self.at }).await?;
        if console.json() {
            return console.document(&triggered);
        }
        let id = console.paint(CYAN, &plain(&triggered.id));
        let how = if triggered.created { "started" } else { "exists" };
        console.line(format!("{id}  {how}"))
    }
}

fn show(schedule: &ScheduleView, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        return console.document(schedule);
    }
    let id = console.paint(CYAN, &schedule.id);
    let target = function(&schedule.target, schedule.function.as_deref());
    console.paragraph("", &format!("{id}  {target}  {} ({})", schedule.cron, schedule.zone), 2)?;
    if let Some(problem) = problem(schedule) {
        console.warn(&plain(&problem));
    }
    let mut lines = vec![("next", next_in_words(schedule))];
    if let Some(id) = &schedule.last_id {
        let at = schedule.last_at_ms.map(|at| format!("{}  ", instant(at))).unwrap_or_default();
        let state = schedule.last.as_ref().map(|last| format!("  {}", last_run(last)));
        lines.push(("last", format!("{at}{}{}", plain(id), state.unwrap_or_default())));
    }
    let jitter = schedule.jitter_ms.map(|ms| length(i64::try_from(ms).unwrap_or(i64::MAX)));
    lines.extend(jitter.map(|jitter| ("jitter", format!("up to {jitter} later"))));
    lines.push(("input", show::value(&schedule.input, console)));
    lines.push(("starts", schedule.invocation_id.clone()));
    let timeout = schedule.timeout_ms.map(|ms| length(i64::try_from(ms).unwrap_or(i64::MAX)));
    lines.extend(timeout.map(|timeout| ("timeout", timeout)));
    if !schedule.budget.is_empty() {
        lines.push(("budget", costs_in_words(&schedule.budget)));
    }
    let overlap = match schedule.overlap {
        Overlap::Allow => "allow: another is started although the last has not ended",
        Overlap::Skip => "skip: left out while the last has not ended",
        Overlap::Queue => "queue: begins when the last has ended",
    };
    lines.push(("overlap", overlap.to_owned()));
    if schedule.skipped > 0 {
        lines.push(("skipped", schedule.skipped.to_string()));
    }
    for SkipsView { reason, count, last_at_ms, detail } in &schedule.skips {
        let at = instant(*last_at_ms);
        lines.push(("", format!("{count} {reason}, last {at}: {}", plain(detail))));
    }
    for (name, value) in &schedule.labels {
        lines.push(("label", format!("{name}={value}")));
    }
    facts(lines, console)?;
    if schedule.upcoming.is_empty() || schedule.paused {
        return Ok(());
    }
    console.line("")?;
    let starts = schedule.jitter_ms.is_some();
    let mut columns = vec![TextColumn::whole("NEXT, THERE"), TextColumn::whole("UTC")];
    columns.extend(starts.then_some(TextColumn::whole("STARTS (UTC)")));
    let mut table = TextTable::new(&columns);
    for occurrence in &schedule.upcoming {
        let mut row =
            vec![TextCell::from(&occurrence.local), TextCell::from(instant(occurrence.at_ms))];
        row.extend(occurrence.starts_at_ms.map(|at| TextCell::from(instant(at))));
        table.row(row);
    }
    console.table(&table)
}

/// The expression, with its time zone.
fn when(schedule: &ScheduleView) -> String {
    format!("{} ({})", schedule.cron, schedule.zone)
}

/// The problem that a person should look at. `None` if there is none.
fn problem(schedule: &ScheduleView) -> Option<String> {
    if let Some(problem) = &schedule.problem {
        return Some(problem.clone());
    }
    let (last, id) = (schedule.last.as_ref()?, schedule.last_id.as_deref()?);
    match last.state {
        InvocationState::Halted => Some(format!("{id} is halted; `segno why {id}` says why")),
        InvocationState::Rejected | InvocationState::TimedOut => {
            Some(format!("{id} {}", last_run(last)))
        }
        _ => None,
    }
}

fn last_run(last: &LastRun) -> String {
    match &last.error {
        Some(error) => format!("{}: {}", last.state, plain(error)),
        None => last.state.to_string(),
    }
}

fn changed(schedule: &ScheduleView, what: &str, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        return console.document(schedule);
    }
    let id = console.paint(CYAN, &schedule.id);
    console.line(format!("{id}  {what}"))
}

/// The next occurrence relative to now, and its instant.
fn next(schedule: &ScheduleView) -> (String, Option<String>) {
    match schedule.next_at_ms {
        _ if schedule.paused => ("paused".to_owned(), None),
        Some(at) => (relative(at, now_ms()), Some(instant(at))),
        None => ("never".to_owned(), None),
    }
}

fn next_in_words(schedule: &ScheduleView) -> String {
    match next(schedule) {
        (next, Some(at)) => format!("{next} ({at})"),
        (next, None) => next,
    }
}
