//! A journal as text: one line per record, with times relative to the first.

use segno_api::model::{JournalRecord, OutcomeView, RecordKind};
use segno_core::update;

use super::{
    Console,
    console::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    show::{failure_line, plain, short_digest},
    text,
    time::{instant, length},
};

/// One record as one line, cut to the width of a terminal.
pub(super) fn record_line(record: &JournalRecord, began_at_ms: i64, console: &Console) -> String {
    let seq = console.paint(DIM, &format!("{:>4}", record.seq));
    let at = console.paint(
        DIM,
        &format!("{:>10}", format!("+{}", length(record.at_ms.saturating_sub(began_at_ms)))),
    );
    let line = what(record, console, &format!("{seq} {at}  "));
    line.trim_end().to_owned()
}

/// The line, beginning with `lead`.
fn what(record: &JournalRecord, console: &Console, lead: &str) -> String {
    let name = plain(record.name.as_deref().unwrap_or_default());
    let index = record.index.map(|index| format!("#{index} ")).unwrap_or_default();
    let index = console.paint(CYAN, &index);
    let request = record.request.as_ref().map(ToString::to_string).unwrap_or_default();
    match record.kind {
        RecordKind::Started => {
            let module = record.module.as_deref().map(short_digest).unwrap_or_default();
            let lead = format!("{lead}{} {name} ", console.paint(BOLD, "started"));
            let request = console.fit(&request, text::width(&lead) + module.len() + 1);
            format!("{lead}{request} {}", console.paint(DIM, module))
        }
        RecordKind::Command => {
            let command = record.command.as_deref().unwrap_or("command");
            let until = record.request.as_ref().and_then(|request| request["until_ms"].as_i64());
            let until = until.map(|at| format!(" {}", instant(at))).unwrap_or_default();
            let lead = format!("{lead}{index}{} {name} ", console.paint(BOLD, command));
            let request = console.fit(&request, text::width(&lead) + until.len());
            format!("{lead}{request}{}", console.paint(DIM, &until))
        }
        RecordKind::Notified => outcome(record, console, &format!("{lead}{index}")),
        RecordKind::Signal if name.starts_with(update::SIGNAL) => {
            let name = name.trim_start_matches(update::SIGNAL);
            let lead = format!("{lead}{} {name} ", console.paint(BOLD, "update"));
            let told = record.outcome.as_ref().and_then(|outcome| outcome.value.as_ref());
            let input = told.map(|told| told["input"].to_string()).unwrap_or_default();
            let input = console.fit(&input, text::width(&lead) + 2);
            format!("{lead}{} {input}", console.paint(GREEN, "←"))
        }
        RecordKind::Signal => {
            let lead = format!("{lead}{} {name} ", console.paint(BOLD, "signal"));
            outcome(record, console, &lead)
        }
        RecordKind::Cancelled => format!("{lead}{}", console.paint(YELLOW, "cancelled")),
        RecordKind::Finished => {
            outcome(record, console, &format!("{lead}{} ", console.paint(BOLD, "finished")))
        }
    }
}

fn outcome(record: &JournalRecord, console: &Console, lead: &str) -> String {
    let fit = |text: &str| console.fit(text, text::width(lead) + 2);
    match &record.outcome {
        Some(OutcomeView { failure: Some(failure), .. }) => {
            let failure = fit(&failure_line(failure));
            format!("{lead}{}", console.paint(RED, &format!("← {failure}")))
        }
        Some(OutcomeView { value: Some(value), .. }) => {
            format!("{lead}{} {}", console.paint(GREEN, "←"), fit(&value.to_string()))
        }
        _ => format!("{lead}{}", console.paint(GREEN, "← done")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_shows_until_when() {
        let record: JournalRecord = serde_json::from_value(serde_json::json!({
            "seq": 3, "at_ms": 1_794_711_540_000_i64, "kind": "command", "index": 1,
            "command": "sleep", "request": { "until_ms": 1_794_711_600_000_i64 }
        }))
        .expect("a record");
        let console = Console::plain(Vec::new(), Vec::new(), false);
        let line = record_line(&record, 1_794_711_540_000, &console);
        assert!(line.ends_with("{\"until_ms\":1794711600000} 2026-11-15T03:00:00.000Z"), "{line}");
    }
}
