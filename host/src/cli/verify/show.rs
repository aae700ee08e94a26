//! The report of `segno verify` for people.

use std::time::Duration;

use segno_verify::{FindingReport, VerifyReport};

use super::VerifyArgs;
use crate::cli::{
    CliError, Console,
    console::{BOLD, CYAN, DIM, GREEN, RED},
    show::{plain, plain_lines},
};

impl VerifyArgs {
    /// Prints the report.
    pub(super) fn show(
        &self,
        report: &VerifyReport,
        elapsed: Duration,
        console: &mut Console,
    ) -> Result<(), CliError> {
        let name = console.paint(CYAN, &plain(&report.function));
        if let Some(schedule) = &self.schedule {
            let text = format!("{name}  {}", plain_lines(schedule, 0));
            console.paragraph("", &text, 2)?;
            steps(&report.steps, console)?;
            for ended in report.outcomes.keys() {
                labelled("ended", ended, console)?;
            }
            records(&report.journal, console)?;
        } else {
            let found = match report.failures.len() {
                0 => console.paint(GREEN, "nothing found"),
                1 => console.paint(RED, "1 finding"),
                found => console.paint(RED, &format!("{found} findings")),
            };
            let secs = elapsed.as_secs_f64().max(0.001);
            let each = report.runs as f64 / secs;
            let speed = console.paint(DIM, &format!("in {secs:.1} s, {each:.0} runs a second"));
            console.line(format!("{name}  {found} in {} runs  {speed}", report.runs))?;
            labelled("orders", &orders(report), console)?;
            let faults: Vec<String> =
                report.faults.iter().map(|(word, count)| format!("{count} {word}")).collect();
            labelled("faults", &faults.join(", "), console)?;
            for (outcome, runs) in &report.outcomes {
                labelled("outcome", &format!("{runs} × {outcome}"), console)?;
            }
        }
        for (number, failure) in report.failures.iter().enumerate() {
            console.line("")?;
            self.failure(number + 1, failure, console)?;
        }
        Ok(())
    }

    fn failure(
        &self,
        number: usize,
        failure: &FindingReport,
        console: &mut Console,
    ) -> Result<(), CliError> {
        let head = console.paint(RED.bold(), &format!("{number}  {}", failure.kind));
        console.line(head)?;
        for line in plain_lines(&failure.text, 0).lines() {
            console.paragraph("  ", line, 2)?;
        }
        let advice = console.paint(DIM, failure.advice);
        console.paragraph("  → ", &advice, 4)?;
        if self.schedule.is_none() {
            let schedule = match failure.schedule.as_str() {
                "" => "by default",
                schedule => schedule,
            };
            labelled("schedule", schedule, console)?;
            steps(&failure.steps, console)?;
            labelled("ended", &failure.end, console)?;
            for effect in &failure.effects {
                labelled("done", effect, console)?;
            }
            records(&failure.journal, console)?;
            let command = self.command(failure);
            labelled("again", &command, console)?;
        }
        for line in failure.backtrace.iter().flat_map(|text| text.lines()) {
            let line = console.fit(&plain(line), 2);
            let line = console.paint(DIM, &line);
            console.line(format!("  {line}"))?;
        }
        Ok(())
    }
}

fn orders(report: &VerifyReport) -> String {
    let orders = report.orders;
    let explored = match orders.explored {
        1 => "1 order".to_owned(),
        orders => format!("{orders} orders"),
    };
    match (orders.complete, orders.sampled) {
        (true, _) => format!("{explored}, which is all of them"),
        (false, 0) => format!("{explored}, and there are more"),
        (false, sampled) => format!(
            "{explored}, and there are more; {sampled} others drawn from seed {}",
            report.seed
        ),
    }
}

fn labelled(label: &str, text: &str, console: &mut Console) -> Result<(), CliError> {
    let lead = console.paint(BOLD, &format!("  {label:<9}"));
    console.paragraph(&lead, &plain(text), 11)
}

fn steps(steps: &[(String, String)], console: &mut Console) -> Result<(), CliError> {
    for (entry, words) in steps {
        let entry = plain(entry);
        let words = console.fit(&plain(words), 15 + entry.chars().count().max(8));
        let entry = console.paint(CYAN, &format!("{entry:<8}"));
        console.line(format!("             {entry}  {words}"))?;
    }
    Ok(())
}

fn records(lines: &[String], console: &mut Console) -> Result<(), CliError> {
    for (number, line) in lines.iter().enumerate() {
        let label = if number == 0 { "journal" } else { "" };
        let line = console.fit(&plain(line), 11);
        let lead = console.paint(BOLD, &format!("  {label:<9}"));
        console.line(format!("{lead}{line}").trim_end())?;
    }
    Ok(())
}
