//! Journals as text, one line per record.

use segno_core::{
    id::PromiseId,
    invocation::{CommandKind, Outcome, Record, RecordBody, StepResult},
    snapshot::Snapshot,
    value::Payload as Stored,
};
use segno_engine::values;
use segno_guest::Payload;

use crate::{
    outside::{ROOT, place_of},
    world::length,
};

/// All journals: the root's first, then those of its children, each under its place.
///
/// ```text
///    0       +0ms  started order {"id":"o-1"}
///    1       +0ms  #0 call reserve ["tea"]
///    2       +0ms  #0 ← "reservation-1"
/// ```
pub(crate) fn lines(rows: &Snapshot) -> Vec<String> {
    let root = PromiseId::from(ROOT);
    let mut lines = Vec::new();
    let ids = rows.journals.keys().filter(|id| **id != root);
    for id in std::iter::once(&root).chain(ids) {
        let Some(journal) = rows.journals.get(id) else { continue };
        if *id != root {
            lines.push(format!("{}:", place_of(id.as_str())));
        }
        let began = journal.records.first().map(|record| record.at).unwrap_or_default();
        for record in &journal.records {
            let at = format!("+{}", length(record.at.since(began)));
            lines.push(format!("{:>4} {at:>8}  {}", record.seq, line(id, record, rows)));
        }
    }
    lines
}

fn line(id: &PromiseId, record: &Record, rows: &Snapshot) -> String {
    match &record.body {
        RecordBody::Started { function, input, .. } => {
            format!("started {function} {}", stored(input))
        }
        RecordBody::Command { index, kind, name, .. } => {
            let word = word(*kind);
            let text = format!("#{} {word} {name}", index.0);
            let asked = match kind {
                CommandKind::Call | CommandKind::Send | CommandKind::Http => {
                    let promise = rows.promises.get(&id.command(*index));
                    promise.map(|promise| payload(&values::input(&promise.spec.param)))
                }
                _ => None,
            };
            match asked {
                Some(asked) => format!("{} {asked}", text.trim_end()),
                None => text.trim_end().to_owned(),
            }
        }
        RecordBody::Notified { index, outcome } => {
            let own = || {
                let promise = rows.promises.get(&id.command(*index))?;
                let value = promise.settlement()?.value.as_ref()?;
                Some(payload(&values::payload(value)))
            };
            format!("#{} ← {}", index.0, told(outcome, own))
        }
        RecordBody::Signal { name, payload } => format!("signal {name} {}", stored(payload)),
        RecordBody::Cancelled => "cancelled".to_owned(),
        RecordBody::Finished { outcome } => {
            let own = || {
                let settlement = rows.promises.get(id)?.settlement()?;
                Some(payload(&values::payload(settlement.value.as_ref()?)))
            };
            format!("finished {}", told(outcome, own))
        }
    }
}

fn word(kind: CommandKind) -> String {
    let name = format!("{kind:?}");
    let mut word = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !word.is_empty() {
            word.push(' ');
        }
        word.extend(character.to_lowercase());
    }
    word
}

fn told(outcome: &Outcome, own: impl FnOnce() -> Option<String>) -> String {
    match outcome {
        Outcome::Own => own().unwrap_or_else(|| "done".to_owned()),
        Outcome::Inline(StepResult::Empty) => "done".to_owned(),
        Outcome::Inline(StepResult::Value(value)) => stored(value),
        Outcome::Inline(StepResult::Failure { code, message, .. }) => {
            format!("failed {code}: {message}")
        }
    }
}

fn stored(value: &Stored) -> String {
    match value {
        Stored::Json(text) => text.to_string(),
        Stored::Bytes(bytes) => format!("{} bytes", bytes.as_slice().len()),
    }
}

fn payload(value: &Payload) -> String {
    match value {
        Payload::Json(text) => text.clone(),
        Payload::Bytes(bytes) => format!("{} bytes", bytes.len()),
    }
}
