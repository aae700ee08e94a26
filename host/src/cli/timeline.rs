//! A journal as text: one line per record, with times relative to the first.

use super::{
    Console,
    console::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    show::{cut, failure_line, one_line, short_digest},
    time::{instant, length},
};
use crate::api::model::{JournalRecord, OutcomeView, RecordKind};

/// Maximum width of values, in characters.
const WIDTH: usize = 72;

/// One record as one line.
pub fn record_line(record: &JournalRecord, began_at_ms: i64, console: &Console) -> String {
    let seq = console.paint(DIM, &format!("{:>4}", record.seq));
    let at =
        console.paint(DIM, &format!("{:>10}", format!("+{}", length(record.at_ms - began_at_ms))));
    format!("{seq} {at}  {}", what(record, console)).trim_end().to_owned()
}

fn what(record: &JournalRecord, console: &Console) -> String {
    let name = record.name.as_deref().unwrap_or_default();
    let request =
        record.request.as_ref().map(|request| one_line(request, WIDTH)).unwrap_or_default();
    let index = record.index.map(|index| format!("#{index}")).unwrap_or_default();
    match record.kind {
        RecordKind::Started => {
            let module = record.module.as_deref().map(short_digest).unwrap_or_default();
            format!(
                "{} {name} {request} {}",
                console.paint(BOLD, "started"),
                console.paint(DIM, module)
            )
        }
        RecordKind::Command => {
            let command = record.command.as_deref().unwrap_or("command");
            let until = record.request.as_ref().and_then(|request| request["until_ms"].as_i64());
            let until = until.map(|at| format!(" {}", console.paint(DIM, &instant(at))));
            format!(
                "{} {} {name} {request}{}",
                console.paint(CYAN, &index),
                console.paint(BOLD, command),
                until.unwrap_or_default()
            )
        }
        RecordKind::Notified => {
            format!("{} {}", console.paint(CYAN, &index), outcome(record.outcome.as_ref(), console))
        }
        RecordKind::Signal => {
            let payload = outcome(record.outcome.as_ref(), console);
            format!("{} {name} {payload}", console.paint(BOLD, "signal"))
        }
        RecordKind::Cancelled => console.paint(YELLOW, "cancelled"),
        RecordKind::Finished => {
            format!(
                "{} {}",
                console.paint(BOLD, "finished"),
                outcome(record.outcome.as_ref(), console)
            )
        }
    }
}

fn outcome(outcome: Option<&OutcomeView>, console: &Console) -> String {
    match outcome {
        Some(OutcomeView { failure: Some(failure), .. }) => {
            console.paint(RED, &format!("← {}", failure_line(failure, WIDTH)))
        }
        Some(OutcomeView { value: Some(value), .. }) => {
            format!("{} {}", console.paint(GREEN, "←"), cut(&value.to_string(), WIDTH))
        }
        _ => console.paint(GREEN, "← done"),
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
