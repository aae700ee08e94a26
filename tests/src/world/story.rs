//! A journal as lines that a test can compare.

use segno_core::{
    invocation::{Outcome, Record, RecordBody, StepResult},
    value::Payload,
};

/// One line per record, without its time:
///
/// ```text
/// started            0 call work         0: "done"         1: failed 404      2: own
/// signal name "hi"   cancelled           finished "ok"     finished failed 500
/// ```
pub fn story(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| line(&record.body)).collect()
}

fn line(body: &RecordBody) -> String {
    match body {
        RecordBody::Started { .. } => "started".into(),
        RecordBody::Command { index, kind, name, .. } => {
            let kind = format!("{kind:?}").to_lowercase();
            format!("{} {kind} {name}", index.0).trim_end().to_owned()
        }
        RecordBody::Notified { index, outcome } => format!("{}: {}", index.0, told(outcome)),
        RecordBody::Signal { name, payload } => format!("signal {name} {}", shown(payload)),
        RecordBody::Cancelled => "cancelled".into(),
        RecordBody::Finished { outcome } => format!("finished {}", told(outcome)),
    }
}

fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Own => "own".into(),
        Outcome::Inline(StepResult::Empty) => "null".into(),
        Outcome::Inline(StepResult::Value(payload)) => shown(payload),
        Outcome::Inline(StepResult::Failure { code, .. }) => format!("failed {code}"),
    }
}

fn shown(payload: &Payload) -> String {
    match payload {
        Payload::Json(text) => text.to_string(),
        Payload::Bytes(bytes) => format!("{} bytes", bytes.as_slice().len()),
    }
}
