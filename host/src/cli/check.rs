//! Checks new code against the journals of executions in flight (`segno deploy --check`), and
//! migrates those whose journals it repeats.

use std::{collections::BTreeMap, time::Duration};

use segno_api::model::{CheckRequest, CheckVerdict, CheckedExecution, ReplayVerdict};
use segno_client::{Client, ClientError};
use serde::Serialize;

use super::{
    CliError, Console, Exit,
    console::{BOLD, CYAN, DIM, YELLOW},
    costs::CostSummary,
    difference,
    polling::PollDeadline,
    show::{plain, plain_lines, short_digest},
    table::{TextCell, TextColumn, TextTable},
};

/// Maximum number of ids named with each difference.
const NAMED: usize = 3;
/// Maximum time for retries if an execution is running or its journal grows during the check.
const PATIENCE: Duration = Duration::from_secs(2);

/// The verdicts with their texts.
const VERDICTS: [(CheckVerdict, &str, &str); 7] = [
    (CheckVerdict::Same, "same so far", "every record is repeated"),
    (CheckVerdict::NotStarted, "not started", "nothing is recorded yet"),
    (CheckVerdict::There, "on it already", "this code wrote the journal"),
    (CheckVerdict::Incomparable, "not compared", "activities have no journal"),
    (CheckVerdict::Diverges, "diverges", "it asks for something else than was recorded"),
    (CheckVerdict::Fails, "fails", "the code ends in the replay"),
    (CheckVerdict::Damaged, "damaged", "the journal cannot be read: see `segno doctor`"),
];

/// The findings of a check.
#[derive(Debug, Serialize)]
pub(super) struct CheckReport {
    /// The alias that the executions were called by.
    alias: String,
    /// The digest of the checked module.
    candidate: String,
    /// Number of executions in flight by verdict.
    in_flight: BTreeMap<CheckVerdict, usize>,
    /// Number of ended executions by verdict.
    ended: BTreeMap<CheckVerdict, usize>,
    /// Costs of replays, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<CostSummary>,
    /// The result for each execution.
    executions: Vec<CheckedExecution>,
    /// The migrated executions, and the reasons for others, by id.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<MigrationResult>,
}

/// Selects the executions whose differences are printed; all are counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum ShownDifferences {
    /// Executions in flight and ended ones.
    All,
    /// Executions in flight only: a difference of an ended one has no consequences.
    InFlight,
}

/// The results of a migration.
#[derive(Debug, Default, Serialize)]
pub(super) struct MigrationResult {
    /// Executions that now run on the candidate.
    done: Vec<String>,
    /// Executions that were not moved, with the reasons.
    left: BTreeMap<String, String>,
}

impl CheckReport {
    /// Checks `candidate` against all executions of `alias` in flight and the latest `ended` ones,
    /// and counts the costs of some.
    ///
    /// # Errors
    /// The host did not answer.
    pub(super) async fn new(
        client: &Client,
        alias: &str,
        candidate: &str,
        ended: u32,
        costs: u32,
        console: &Console,
    ) -> Result<Self, CliError> {
        let progress = console.progress("replaying what is in flight");
        let mut request =
            CheckRequest { candidate: candidate.to_owned(), ended, costs, ..Default::default() };
        let mut executions = Vec::new();
        loop {
            let page = client.check(alias, &request).await?;
            let counted = page.items.iter().filter(|it| it.cost.is_some()).count();
            request.costs =
                request.costs.saturating_sub(u32::try_from(counted).unwrap_or(u32::MAX));
            executions.extend(page.items);
            progress.say(format!("replaying what is in flight: {} executions", executions.len()));
            request.ended = page.ended;
            match page.next {
                Some(next) => request.after = Some(next),
                None => break,
            }
        }
        let (mut in_flight, mut over) = (BTreeMap::new(), BTreeMap::new());
        for execution in &executions {
            let counts = if execution.state.is_settled() { &mut over } else { &mut in_flight };
            *counts.entry(execution.verdict).or_default() += 1;
        }
        let (alias, candidate) = (alias.to_owned(), candidate.to_owned());
        let costs = CostSummary::of(&executions);
        Ok(Self { alias, candidate, in_flight, ended: over, costs, executions, moved: None })
    }

    /// The report for a new alias, which has no executions.
    pub(super) fn empty(alias: &str, candidate: &str) -> Self {
        let (alias, candidate) = (alias.to_owned(), candidate.to_owned());
        Self {
            alias,
            candidate,
            in_flight: BTreeMap::new(),
            ended: BTreeMap::new(),
            costs: None,
            executions: Vec::new(),
            moved: None,
        }
    }

    /// The exit code: [`Exit::Diverged`] if an execution in flight could not continue on the
    /// candidate. A difference of an ended one is harmless.
    pub(super) fn exit(&self) -> Exit {
        let bad = [CheckVerdict::Diverges, CheckVerdict::Fails, CheckVerdict::Damaged];
        match bad.iter().any(|verdict| self.in_flight.contains_key(verdict)) {
            true => Exit::Diverged,
            false => Exit::Done,
        }
    }

    /// Moves the executions in flight that repeat their journal, or have none yet. Each is replayed
    /// again first, with its journal at that time.
    ///
    /// # Errors
    /// The host did not answer.
    pub(super) async fn move_same(
        &mut self,
        client: &Client,
        console: &Console,
    ) -> Result<(), CliError> {
        let may_move = |execution: &&CheckedExecution| {
            matches!(execution.verdict, CheckVerdict::Same | CheckVerdict::NotStarted)
                && !execution.state.is_settled()
        };
        let ids: Vec<&str> = self
            .executions
            .iter()
            .filter(may_move)
            .map(|execution| execution.id.as_str())
            .collect();
        let progress = console.progress("moving");
        let mut moves = MigrationResult::default();
        for (number, id) in ids.iter().enumerate() {
            progress.say(format!("moving {} of {}", number + 1, ids.len()));
            match relocated(client, id, &self.candidate).await {
                Ok(()) => moves.done.push((*id).to_owned()),
                Err(CliError::Client(error @ ClientError::Refused(_))) => {
                    moves.left.insert((*id).to_owned(), error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        self.moved = Some(moves);
        Ok(())
    }

    /// Prints the report with advice on the next step.
    pub(super) fn print(&self, console: &mut Console) -> Result<(), CliError> {
        self.print_findings(ShownDifferences::All, console)?;
        match &self.moved {
            None if !self.executions.is_empty() => self.advice(console),
            _ => Ok(()),
        }
    }

    /// Prints the findings, with the most common differences first, and the migrated executions.
    pub(super) fn print_findings(
        &self,
        differences: ShownDifferences,
        console: &mut Console,
    ) -> Result<(), CliError> {
        let alias = console.paint(CYAN, &self.alias);
        let digest = console.paint(DIM, short_digest(&self.candidate));
        if self.executions.is_empty() {
            return console.line(format!("{alias}  {digest}  nothing is in flight"));
        }
        console.line(format!("{alias}  {digest}  {}", executions(self.executions.len())))?;
        self.summary(console)?;
        match differences {
            ShownDifferences::All => print_differences(&self.executions, console)?,
            ShownDifferences::InFlight => {
                let in_flight = self.executions.iter().filter(|it| !it.state.is_settled());
                print_groups(groups(in_flight), console)?;
            }
        }
        self.costs.as_ref().map_or(Ok(()), |costs| costs.print(console))?;
        self.moved.as_ref().map_or(Ok(()), |moves| moves.print(console))
    }

    /// Prints the conclusion and the next step.
    fn advice(&self, console: &mut Console) -> Result<(), CliError> {
        let stays = match self.exit() {
            Exit::Done => "",
            _ => " What diverges or fails finishes on the code that it began with.",
        };
        let advice = format!(
            "This proves the past only: no journal says what the code does after the last record. Nothing was activated; the same command without --check puts the code under `{}`, and with --migrate same it moves executions that repeat their journal.{stays}",
            self.alias
        );
        console.line("")?;
        let advice = console.paint(DIM, &advice);
        console.paragraph("", &advice, 0)
    }

    fn summary(&self, console: &mut Console) -> Result<(), CliError> {
        let mut table = TextTable::new(&[
            TextColumn::whole(""),
            TextColumn::number("IN FLIGHT"),
            TextColumn::number("ENDED"),
            TextColumn::prose(""),
        ]);
        for (verdict, name, says) in VERDICTS {
            let count = |counts: &BTreeMap<CheckVerdict, usize>| counts.get(&verdict).copied();
            let (in_flight, ended) = (count(&self.in_flight), count(&self.ended));
            if in_flight.is_some() || ended.is_some() {
                let number = |count: Option<usize>| TextCell::from(count.unwrap_or(0).to_string());
                table.row([
                    TextCell::from(name),
                    number(in_flight),
                    number(ended),
                    TextCell::from(says),
                ]);
            }
        }
        console.table(&table)
    }
}

impl MigrationResult {
    fn print(&self, console: &mut Console) -> Result<(), CliError> {
        console.line("")?;
        let head = console.paint(BOLD, "moved");
        console.line(format!("{head}  {}", executions(self.done.len())))?;
        for (id, why) in &self.left {
            let id = console.paint(CYAN, &plain(id));
            let lead = console.paint(YELLOW, "left");
            console.paragraph(&format!("{lead}   {id}  "), &plain_lines(why, 0), 7)?;
        }
        Ok(())
    }
}

/// Prints differences, grouped by equal ones.
pub(super) fn print_differences(
    executions: &[CheckedExecution],
    console: &mut Console,
) -> Result<(), CliError> {
    print_groups(groups(executions), console)
}

fn print_groups(groups: Vec<DifferenceGroup<'_>>, console: &mut Console) -> Result<(), CliError> {
    groups.iter().try_for_each(|group| group.print(console))
}

/// Groups the executions that cannot continue by equal differences.
fn groups<'a>(
    executions: impl IntoIterator<Item = &'a CheckedExecution>,
) -> Vec<DifferenceGroup<'a>> {
    let mut groups: BTreeMap<String, Vec<&CheckedExecution>> = BTreeMap::new();
    for execution in executions {
        if let Some(key) = key(execution) {
            groups.entry(key).or_default().push(execution);
        }
    }
    let mut groups: Vec<DifferenceGroup<'_>> = groups.into_values().map(DifferenceGroup).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.0.len()));
    groups
}

/// Executions with the same difference.
struct DifferenceGroup<'a>(Vec<&'a CheckedExecution>);

impl DifferenceGroup<'_> {
    fn print(&self, console: &mut Console) -> Result<(), CliError> {
        let Some(first) = self.0.first() else { return Ok(()) };
        console.line("")?;
        let count = executions(self.0.len());
        let function = console.paint(BOLD, &plain(&first.function));
        console.line(format!("{function}  {count}"))?;
        let ids = self.0.iter().take(NAMED).map(|execution| plain(&execution.id));
        let ids = ids.collect::<Vec<_>>().join(", ");
        let more = match self.0.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more; --json names all"),
        };
        console.paragraph("  ", &format!("{}{more}", console.paint(CYAN, &ids)), 2)?;
        if self.0.len() > 1 {
            let whose = format!("as in {}:", console.paint(CYAN, &plain(&first.id)));
            console.paragraph("  ", &whose, 2)?;
        }
        match (&first.replay, &first.reason) {
            (Some(replay), _) => difference::print(replay, console),
            (None, Some(reason)) => console.paragraph("  ", &plain_lines(reason, 2), 2),
            (None, None) => Ok(()),
        }
    }
}

/// The key of equal differences. `None` if the execution can continue.
fn key(execution: &CheckedExecution) -> Option<String> {
    let CheckedExecution { function, replay, reason, verdict, .. } = execution;
    let what = match verdict {
        CheckVerdict::Diverges | CheckVerdict::Fails => {
            let replay = replay.as_ref()?;
            let fields = replay.divergence.iter().flat_map(|divergence| &divergence.fields);
            let fields: Vec<&str> = fields.map(|field| field.field.as_str()).collect();
            let error = match replay.verdict {
                ReplayVerdict::Failed => replay.error.as_deref().unwrap_or_default(),
                _ => "",
            };
            format!("{:08} {} {error}", replay.matched, fields.join(","))
        }
        CheckVerdict::Damaged => reason.clone().unwrap_or_default(),
        CheckVerdict::Same
        | CheckVerdict::NotStarted
        | CheckVerdict::Incomparable
        | CheckVerdict::There => return None,
    };
    Some(format!("{function} {what}"))
}

/// Moves an execution, waiting for one that is currently running.
async fn relocated(client: &Client, id: &str, module: &str) -> Result<(), CliError> {
    let passes = |error: &ClientError| matches!(error.code(), "wrong-state" | "journal-grew");
    let relocate = async || client.relocate(id, module).await;
    PollDeadline::of(Some(PATIENCE))?.ask(relocate, passes).await?;
    Ok(())
}

fn executions(count: usize) -> String {
    match count {
        1 => "1 execution".to_owned(),
        _ => format!("{count} executions"),
    }
}
