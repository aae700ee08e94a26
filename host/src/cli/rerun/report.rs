//! The report on recorded executions that were run again: rows, sums, and groups of equal
//! differences.

use segno_api::model::{RerunRow, RerunVerdict, UnansweredPolicy};
use segno_client::{RerunGroup, RerunSums};
use serde::Serialize;
use serde_json::Value;

use crate::cli::{
    CliError, Console, Exit,
    console::{BOLD, CYAN, DIM},
    fork::outcome_text,
    show::{plain, plain_lines},
    table::{TextCell, TextColumn, TextTable},
    text,
    time::length,
};

/// Maximum number of ids named with each difference, and of outputs shown with it.
const NAMED: usize = 3;
/// Maximum width of a value in a table.
const VALUE_MAX: usize = 30;
/// Maximum length of the reason for one execution.
const REASON_MAX: usize = 200;

/// The change with which the executions were run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RerunChange {
    /// Number of records that each execution began with.
    pub(super) at: u32,
    /// Commands whose results were replaced.
    pub(super) set: Vec<u32>,
    /// The module, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) module: Option<String>,
    /// The treatment of commands without a recorded answer.
    pub(super) unanswered: UnansweredPolicy,
}

/// The findings of all executions.
#[derive(Debug, Serialize)]
pub(super) struct RerunReport {
    change: RerunChange,
    sums: RerunSums,
    /// Equal differences, the most common ones first.
    groups: Vec<RerunGroup>,
    executions: Vec<RerunRow>,
}

impl RerunReport {
    pub(super) fn new(change: RerunChange, executions: Vec<RerunRow>) -> Self {
        let sums = RerunSums::of(&executions);
        let groups = RerunGroup::all(&executions);
        Self { change, sums, groups, executions }
    }

    /// Returns true if no execution was selected.
    pub(super) fn is_empty(&self) -> bool {
        self.executions.is_empty()
    }

    /// The exit code: [`Exit::Diverged`] if any execution does not end as recorded, and
    /// [`Exit::NotFound`] if none was run.
    pub(super) fn exit(&self) -> Exit {
        match self.sums.executions - self.sums.skipped {
            0 => Exit::NotFound,
            run if run == self.sums.same => Exit::Done,
            _ => Exit::Diverged,
        }
    }

    /// Prints the rows, the sums, and the differences.
    pub(super) fn print(&self, console: &mut Console) -> Result<(), CliError> {
        console.table(&self.table())?;
        console.line("")?;
        let sums = console.paint(BOLD, &self.sums.in_words(&length(self.sums.duration_ms)));
        console.paragraph("", &sums, 2)?;
        for group in &self.groups {
            self.print_group(group, console)?;
        }
        Ok(())
    }

    fn table(&self) -> TextTable {
        let mut table = TextTable::new(&[
            TextColumn::id("ID"),
            TextColumn::whole("RESULT"),
            TextColumn::text("BEFORE").rank(3),
            TextColumn::text("AFTER").rank(1),
            TextColumn::number("ANSWERED").rank(2),
            TextColumn::number("NEW").rank(2),
            TextColumn::number("TOOK").rank(4),
        ]);
        for row in &self.executions {
            let is_skipped = row.verdict == RerunVerdict::Skipped;
            let number = |count: u32| if is_skipped { "-".to_owned() } else { count.to_string() };
            let before = row.before.as_ref().map(|outcome| outcome_text(Some(outcome)));
            let after = match (&row.after, &row.reason) {
                (Some(outcome), _) => outcome_text(Some(outcome)),
                (None, reason) => reason.as_deref().unwrap_or_default().replace('\n', " "),
            };
            let took = row.duration_ms.map(length).unwrap_or_default();
            table.row([
                TextCell::from(plain(&row.id)),
                TextCell::colored(row.verdict.as_str(), color(row.verdict)),
                TextCell::from(text::cut(&before.unwrap_or_else(|| "-".to_owned()), VALUE_MAX)),
                TextCell::from(text::cut(&plain(&after), VALUE_MAX)),
                TextCell::from(number(row.answered)),
                TextCell::from(number(row.unanswered)),
                TextCell::from(took),
            ]);
        }
        table
    }

    fn print_group(&self, group: &RerunGroup, console: &mut Console) -> Result<(), CliError> {
        console.line("")?;
        let verdict = console.paint(BOLD, group.verdict.as_str());
        let difference = plain_lines(&group.difference, 2);
        let count = RerunGroup::count_in_words(group.executions.len());
        console.paragraph("", &format!("{verdict}  {count}: {difference}"), 2)?;
        let ids = group.executions.iter().take(NAMED).map(|id| plain(id));
        let ids = ids.collect::<Vec<_>>().join(", ");
        let more = match group.executions.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more; --json names all"),
        };
        console.paragraph("  ", &format!("{}{more}", console.paint(CYAN, &ids)), 2)?;
        let is_shown =
            |row: &&RerunRow| group.executions.iter().take(NAMED).any(|id| *id == row.id);
        let rows = self.executions.iter().filter(is_shown);
        let mut table = TextTable::new(&[
            TextColumn::id("  ID"),
            TextColumn::text("PATH"),
            TextColumn::text("BEFORE"),
            TextColumn::text("AFTER"),
        ]);
        for row in rows {
            match (&row.output, &row.before, &row.after) {
                (Some(output), Some(before), Some(after)) => {
                    let mut line = |path: &str, before: Option<&Value>, after: Option<&Value>| {
                        let id = format!("  {}", plain(&row.id));
                        let cells = [id, plain(path), short(before), short(after)];
                        table.row(cells.map(TextCell::from));
                    };
                    let value = RerunRow::outcome_value;
                    if output.path != "$" {
                        line("$", Some(&value(before)), Some(&value(after)));
                    }
                    line(&output.path, output.before.as_ref(), output.after.as_ref());
                }
                _ => {
                    let reason = row.reason.as_deref().filter(|it| *it != group.difference);
                    let Some(reason) = reason else { continue };
                    let lead = format!("  {}  ", console.paint(CYAN, &plain(&row.id)));
                    let reason = text::cut(&plain_lines(reason, 4), REASON_MAX);
                    let reason = console.paint(DIM, &reason);
                    console.paragraph(&lead, &reason, 4)?;
                }
            }
        }
        if table.is_empty() {
            return Ok(());
        }
        console.table(&table)
    }
}

fn color(verdict: RerunVerdict) -> Option<comfy_table::Color> {
    match verdict {
        RerunVerdict::Same => Some(comfy_table::Color::Green),
        RerunVerdict::Differs | RerunVerdict::Unanswered => Some(comfy_table::Color::Yellow),
        RerunVerdict::Failed | RerunVerdict::Diverged => Some(comfy_table::Color::Red),
        RerunVerdict::Skipped => None,
    }
}

fn short(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "(absent)".to_owned(), Value::to_string);
    text::cut(&plain(&text), VALUE_MAX)
}

#[cfg(test)]
mod tests {
    use segno_api::model::{OutcomeView, ValueDifference};
    use serde_json::json;

    use super::*;
    use crate::cli::tests::WrittenBytes;

    fn report(rows: &[(&str, RerunVerdict)]) -> RerunReport {
        let change =
            RerunChange { at: 1, set: Vec::new(), module: None, unanswered: Default::default() };
        let rows = rows.iter().map(|(id, verdict)| RerunRow::new(*id, "m/f", *verdict));
        RerunReport::new(change, rows.collect())
    }

    #[test]
    fn outputs_that_differ_stand_side_by_side_in_80_columns() {
        let outcome = |value| OutcomeView { value: Some(value), failure: None };
        let before = json!({ "items": ["x".repeat(90), "tea"], "total": 120 });
        let after = json!({ "items": ["x".repeat(90), "cup"], "total": 80 });
        let differs = RerunRow {
            output: Some(ValueDifference {
                path: "$.items[1]".to_owned(),
                before: Some(json!("tea")),
                after: Some(json!("cup")),
            }),
            before: Some(outcome(before)),
            after: Some(outcome(after)),
            difference: Some("another outcome at $.items[1]".to_owned()),
            ..RerunRow::new("order-1", "m/f", RerunVerdict::Differs)
        };
        let change =
            RerunChange { at: 1, set: Vec::new(), module: None, unanswered: Default::default() };
        let report = RerunReport::new(change, vec![differs]);
        let out = WrittenBytes::default();
        let mut console = Console::plain(out.clone(), std::io::sink(), false).of_width(80);
        report.print(&mut console).expect("it is printed");
        let text = out.text();
        assert!(text.lines().all(|line| text::width(line) <= 80), "{text}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let last = text.lines().last().map(words);
        let expected = ["order-1", "$.items[1]", "\"tea\"", "\"cup\""].map(str::to_owned);
        assert_eq!(last, Some(expected.to_vec()), "{text}");
    }

    #[test]
    fn only_recorded_outcomes_give_success() {
        let exit = |rows: &[(&str, RerunVerdict)]| report(rows).exit();
        let (same, skipped) = (RerunVerdict::Same, RerunVerdict::Skipped);
        assert_eq!(exit(&[("a", same), ("b", skipped)]), Exit::Done);
        assert_eq!(exit(&[("b", skipped)]), Exit::NotFound);
        assert_eq!(exit(&[]), Exit::NotFound);
        for verdict in [
            RerunVerdict::Differs,
            RerunVerdict::Failed,
            RerunVerdict::Diverged,
            RerunVerdict::Unanswered,
        ] {
            assert_eq!(exit(&[("a", same), ("b", verdict)]), Exit::Diverged);
        }
    }
}
