//! `segno inspect`.

use clap::Args;
use segno_api::model::{
    CancelProgress, Generation, GraphFact, Invocation, InvocationState, InvocationSummary,
    JournalRecord, SagaPage, StreamView, Unread, Wait, WaitKind, costs_in_words,
};
use segno_client::{Client, ClientError};
use segno_core::{address, id::PromiseId};

use super::{
    CliError, Console, Exit, behind,
    console::{BOLD, CYAN, DIM, RED, YELLOW},
    graph::history,
    item_table::ItemTable,
    pages,
    saga::headline,
    show::{
        self, facts, failure_line, function, plain, plain_lines, short_digest, short_target,
        state_cell, state_name, state_style,
    },
    stream,
    subject::{SubjectArgs, SubjectExecution},
    table::TextColumn,
    time::{length, now_ms, occurrence, relative, when},
    timeline::record_line,
};

/// Show the state of an invocation, what it waits for, and its history
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno inspect order-1001
  segno inspect order-1001 --records 0
  segno inspect order-1001 --json | jq .waits
  segno inspect order-1001.segno-bundle   # as it was when the bundle was made: no host, no network")]
pub(super) struct InspectArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Number of journal records to show, the latest ones; of a graph run, of facts of its history
    #[arg(long, value_name = "N", default_value_t = 50)]
    records: u32,
}

#[derive(serde::Serialize)]
struct InspectOutput<'a> {
    #[serde(flatten)]
    invocation: &'a Invocation,
    journal: &'a [JournalRecord],
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<&'a [GraphFact]>,
    #[serde(skip_serializing_if = "<[StreamView]>::is_empty")]
    streams: &'a [StreamView],
}

impl InspectArgs {
    pub(super) async fn run(
        self,
        host: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let most = self.records;
        let SubjectExecution { client, id, bundled } = self.subject.open(host, console).await?;
        let invocation = client.invocation(&id).await?;
        let records = journal(&client, &id, invocation.journal_len, most).await?;
        // Bundles contain journals, but no histories of graphs.
        let facts = match invocation.target == address::GRAPH_RUN && bundled.is_none() {
            true => Some(history::read(&id, &client).await?.facts),
            false => None,
        };
        let streams = stream::streams_of(&client, &id).await?;
        let latest = facts.as_deref().map(|facts| latest(facts, most));
        if console.json() {
            let document = InspectOutput {
                invocation: &invocation,
                journal: &records,
                history: latest,
                streams: &streams,
            };
            console.document(&document)?;
            return Ok(Exit::Done);
        }
        head(&invocation, console)?;
        why(&invocation, console)?;
        if !invocation.sagas.is_empty() {
            sagas(&client.sagas(&id).await?, console)?;
        }
        children(&invocation, console)?;
        pages::say_missing(&invocation.missing, console);
        if !streams.is_empty() {
            console.line("")?;
            let head = console.paint(BOLD, "streams");
            console.line(head)?;
            stream::table(&streams, console)?;
        }
        timeline(&invocation, &records, console)?;
        if let (Some(facts), Some(latest)) = (&facts, latest.filter(|_| most > 0)) {
            console.line("")?;
            let (head, all) = (console.paint(BOLD, "history"), facts.len());
            let shown = match latest.len() {
                shown if shown == all => format!("{all} facts"),
                shown => format!("the latest {shown} of {all} facts; --records shows more"),
            };
            let shown = console.paint(DIM, &shown);
            console.line(format!("{head}  {shown}"))?;
            history::table(latest, console)?;
        }
        Ok(Exit::Done)
    }
}

/// Reads the last `most` records of a journal with `len` records.
async fn journal(
    client: &Client,
    id: &str,
    len: u32,
    most: u32,
) -> Result<Vec<JournalRecord>, CliError> {
    let mut records: Vec<JournalRecord> = Vec::new();
    let mut next = Some(len.saturating_sub(most)).filter(|_| most > 0);
    while let Some(from) = next {
        let left = most - u32::try_from(records.len()).unwrap_or(most);
        if left == 0 {
            break;
        }
        let page = client.journal(id, from, left.min(1000)).await?;
        records.extend(page.records);
        next = page.next;
    }
    Ok(records)
}

/// The last `most` facts.
fn latest(facts: &[GraphFact], most: u32) -> &[GraphFact] {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    &facts[facts.len().saturating_sub(most)..]
}

fn timeline(
    invocation: &Invocation,
    records: &[JournalRecord],
    console: &mut Console,
) -> Result<(), CliError> {
    let Some(first) = records.first() else { return Ok(()) };
    console.line("")?;
    let head = console.paint(BOLD, "journal");
    let shown = match first.seq {
        0 => format!("{} records", invocation.journal_len),
        from => {
            format!("records from {from} of {}; --records shows more", invocation.journal_len)
        }
    };
    let shown = console.paint(DIM, &shown);
    console.line(format!("{head}  {shown}"))?;
    let began_at_ms = if first.seq == 0 { first.at_ms } else { invocation.created_at_ms };
    for record in records {
        let line = record_line(record, began_at_ms, console);
        console.line(line)?;
    }
    Ok(())
}

fn head(invocation: &Invocation, console: &mut Console) -> Result<(), CliError> {
    let now = now_ms();
    let id = console.paint(CYAN, &invocation.id);
    let state = state_name(invocation.state, invocation.killed);
    let state = console.paint(state_style(invocation.state), state);
    let name = Some(invocation.function.as_str()).filter(|name| !name.is_empty());
    let head = format!("{id}  {}  {state}", function(&invocation.target, name));
    console.paragraph("", &head, 2)?;
    let mut lines = vec![("created", when(invocation.created_at_ms, now))];
    lines.extend(occurrence(&invocation.id).map(|at| ("due", when(at, now))));
    if let Some(at) = invocation.settled_at_ms {
        lines.push((
            "ended",
            format!(
                "{}, after {}",
                when(at, now),
                length(at.saturating_sub(invocation.created_at_ms))
            ),
        ));
    }
    if let Some(at) = invocation.timeout_at_ms {
        lines.push(("deadline", when(at, now)));
    }
    if let Some(module) = &invocation.module {
        lines.push(("module", short_digest(module).to_owned()));
    }
    if let Some(parent) = &invocation.parent {
        lines.push(("called by", parent.clone()));
    }
    if let Some(from) = &invocation.forked_from {
        lines.push(("forked", show::forked_from(from)));
    }
    lines.extend(invocation.generation.as_ref().map(|it| ("generation", generation(it))));
    lines.extend(
        invocation.unread.as_ref().map(|it| ("unread", console.paint(YELLOW, &unread(it)))),
    );
    if let Some(schedule) = &invocation.schedule {
        lines.push(("schedule", plain(schedule)));
    }
    if !invocation.labels.is_empty() {
        let labels: Vec<String> =
            invocation.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        lines.push(("labels", labels.join(" ")));
    }
    lines.extend(invocation.limit.as_ref().map(|limit| ("limit", behind::name(limit))));
    lines.extend(invocation.budget.iter().map(|account| ("budget", plain(&account.line()))));
    if !invocation.cost.is_empty() {
        lines.push(("cost", costs_in_words(&invocation.cost)));
    }
    lines.push(("input", show::value(&invocation.input, console)));
    if let Some(progress) = &invocation.progress {
        let at = relative(progress.at_ms, now);
        let value = console.fit(&progress.value.to_string(), show::INDENT + at.len() + 2);
        lines.push(("progress", format!("{value}, {at}")));
    }
    if let Some(output) = &invocation.output {
        lines.push(("output", show::value(output, console)));
    }
    if let Some(failure) = &invocation.failure {
        lines.push(("failure", console.paint(RED, &failure_line(failure))));
    }
    facts(lines, console)
}

/// Formats the generation's number and its successor.
fn generation(of: &Generation) -> String {
    let Generation { of, number, generations, next } = of;
    let next = next.as_ref().map(|next| format!("; handed over to {next}")).unwrap_or_default();
    format!("{number} of {generations} of {of}{next}")
}

/// Formats the unread signals and promises.
pub(super) fn unread(unread: &Unread) -> String {
    let signals = match unread.signals {
        0 => None,
        1 => Some("1 signal".to_owned()),
        more => Some(format!("{more} signals")),
    };
    let promises = unread.promises.iter().map(|name| format!("promise `{name}`"));
    signals.into_iter().chain(promises).map(|part| plain(&part)).collect::<Vec<_>>().join(", ")
}

fn why(invocation: &Invocation, console: &mut Console) -> Result<(), CliError> {
    let now = now_ms();
    let mut reasons = Vec::new();
    match invocation.state {
        InvocationState::Pending => reasons.push(match invocation.start_at_ms {
            Some(at) if at > now => format!("waits for its start {}", relative(at, now)),
            _ => match invocation.retry_at_ms {
                Some(at) if invocation.attempt > 0 && at > now => format!(
                    "waits for attempt {}, {}",
                    invocation.attempt.saturating_add(1),
                    relative(at, now)
                ),
                _ => "waits for a worker".to_owned(),
            },
        }),
        InvocationState::Acquired => reasons.extend(invocation.lease.as_ref().map(|lease| {
            format!(
                "runs on {}; its claim ends {} unless it is extended",
                lease.node,
                relative(lease.until_at_ms, now)
            )
        })),
        InvocationState::Halted => {
            reasons.push(format!("halted; `segno continue {}` sets it going again", invocation.id));
        }
        InvocationState::Suspended
        | InvocationState::Resolved
        | InvocationState::Rejected
        | InvocationState::Cancelled
        | InvocationState::TimedOut => {}
    }
    for wait in &invocation.waits {
        let until =
            wait.until_at_ms.map(|at| format!(", {}", relative(at, now))).unwrap_or_default();
        let id = &wait.id;
        reasons.push(match wait.kind {
            WaitKind::Call => {
                let target = wait.target.as_deref().map(short_target).unwrap_or_default();
                format!("waits for call {id} of {target}{until}{}", attempts(wait, now))
            }
            WaitKind::Turn => {
                let object = wait.target.as_deref().map(object_of).unwrap_or_default();
                format!("waits for its turn with {object}, behind {id}")
            }
            WaitKind::Timer => format!("waits for timer {id}{until}"),
            WaitKind::Signal => "waits for a signal".to_owned(),
            WaitKind::Promise => match PromiseId::from(invocation.id.as_str()).asked_about(id) {
                Some((saga, seq)) => format!(
                    "step {seq} of the saga `{saga}` is unclear: check whether it acted, then answer with `segno saga settle {} {saga} {seq} --acted` or `--not-acted`",
                    invocation.id
                ),
                None => format!("waits for promise {id}{until}; settle it with `segno resolve {id} JSON`"),
            },
        });
    }
    reasons.extend(invocation.limit.as_ref().and_then(|limit| behind::why(limit, now)));
    if let Some(first) = invocation.deadlock.first() {
        reasons.push(format!(
            "deadlock: {} → {first}; each waits for the next, until one of them is ended: `segno cancel ID`, or `segno kill ID`",
            invocation.deadlock.join(" → ")
        ));
    }
    match invocation.cancel {
        CancelProgress::None => {}
        CancelProgress::Requested => reasons.push("cancellation requested".to_owned()),
        CancelProgress::Delivered => reasons.push("cancellation delivered".to_owned()),
        CancelProgress::Missed => {
            reasons.push("ended before the cancellation reached it".to_owned());
        }
    }
    for reason in reasons {
        let bullet = format!("  {} ", console.paint(YELLOW, "•"));
        console.paragraph(&bullet, &plain_lines(&reason, 0), 4)?;
    }
    if let Some(note) = &invocation.note {
        show::note(note, console)?;
    }
    Ok(())
}

/// The object of a target, in the notation of its name.
fn object_of(target: &str) -> &str {
    let target = short_target(target);
    target.rsplit_once('/').map_or(target, |(object, _)| object)
}

/// Formats the progress of a call that an invocation waits for.
fn attempts(wait: &Wait, now: i64) -> String {
    let mut facts = Vec::new();
    match wait.state {
        Some(InvocationState::Halted) => {
            facts.push(format!("halted; `segno continue {}` sets it going again", wait.id));
        }
        Some(state) if wait.attempt > 0 => {
            facts.extend(show::failed_attempts(wait.attempt, None));
            let next = wait.retry_at_ms.filter(|_| state == InvocationState::Pending);
            facts.push(match next {
                Some(at) if at > now => format!("the next {}", relative(at, now)),
                Some(_) => "the next waits for a worker".to_owned(),
                None => "the next is running".to_owned(),
            });
        }
        Some(_) | None => {}
    }
    if let Some(note) = &wait.note {
        facts.push(format!("{}: {}", note.kind, note.message));
    }
    let facts = facts.join("; ");
    if facts.is_empty() { facts } else { format!(": {facts}") }
}

fn sagas(page: &SagaPage, console: &mut Console) -> Result<(), CliError> {
    console.line("")?;
    let hint = console.paint(DIM, &format!("`segno saga show {}` shows the steps", page.id));
    let head = console.paint(BOLD, "sagas");
    console.line(format!("{head}  {hint}"))?;
    for saga in &page.items {
        let line = headline(page, saga, console);
        console.line(format!("  {line}"))?;
    }
    Ok(())
}

fn children(invocation: &Invocation, console: &mut Console) -> Result<(), CliError> {
    if invocation.children.is_empty() {
        return Ok(());
    }
    console.line("")?;
    let shown = match invocation.children.len() {
        100 => "the latest 100; `segno list --parent` shows all",
        _ => "",
    };
    let (head, shown) = (console.paint(BOLD, "calls"), console.paint(DIM, shown));
    console.line(format!("{head}  {shown}").trim_end())?;
    let table = ItemTable::new()
        .column(TextColumn::id(""), |child: &InvocationSummary| format!("  {}", plain(&child.id)))
        .column(TextColumn::text(""), |child| function(&child.target, child.function.as_deref()))
        .column(TextColumn::whole(""), |child| state_cell(child.state, child.killed))
        .column(TextColumn::number(""), |child| {
            length(child.settled_at_ms.unwrap_or_else(now_ms) - child.created_at_ms)
        })
        .column(TextColumn::whole(""), |child| {
            show::failed_attempts(child.attempt, None).unwrap_or_default()
        });
    // Oldest first, as in the journal below.
    console.table(&table.rows(invocation.children.iter().rev()))
}
