//! Replay divergence: the recorded step, the attempted step, and their differences by field.
//! Written for workflow authors who debug an incident.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    CommandKind, CommandRequest, FieldValue, IssuedCommand, Outcome, Record, RecordBody,
    RequestField, StepResult,
};
use crate::{
    id::CommandIndex,
    value::{Payload, Text},
};

/// The first difference between a journal and the guest's behaviour during replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    seq: u32,
    recorded: ReplayStep,
    asked: ReplayStep,
    differences: Vec<Difference>,
}

/// A step of the guest, or an event delivered to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplayStep {
    /// The guest issues a command.
    Command {
        index: CommandIndex,
        kind: CommandKind,
        /// Name of the function, step or promise.
        name: Text,
        /// Remaining fields of the command.
        request: Vec<RequestField>,
    },
    /// The guest has no more commands to issue and waits.
    Waits,
    /// The guest ends.
    Finishes { outcome: Outcome },
    /// The guest is notified of an event; it had no more commands to issue before.
    IsTold {
        /// Description of the event.
        event: String,
    },
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub field: Text,
    /// The recorded value; `None` if the field was absent.
    pub recorded: Option<String>,
    /// The value in the replay; `None` if the field is absent.
    pub asked: Option<String>,
}

impl Divergence {
    pub(super) fn new(recorded: &Record, asked: ReplayStep) -> Self {
        let seq = recorded.seq;
        let recorded = ReplayStep::recorded(&recorded.body);
        let differences = differences(&recorded, &asked);
        Self { seq, recorded, asked, differences }
    }

    /// Sequence number of the record at which they diverge.
    pub fn seq(&self) -> u32 {
        self.seq
    }

    /// Index of the recorded command, or else of the attempted one, if either is a command.
    pub fn command(&self) -> Option<CommandIndex> {
        [&self.recorded, &self.asked].into_iter().find_map(|step| match step {
            ReplayStep::Command { index, .. } => Some(*index),
            ReplayStep::Waits | ReplayStep::Finishes { .. } | ReplayStep::IsTold { .. } => None,
        })
    }

    /// The recorded step.
    pub fn recorded(&self) -> &ReplayStep {
        &self.recorded
    }

    /// The step that the guest attempted.
    pub fn asked(&self) -> &ReplayStep {
        &self.asked
    }

    /// Differences by field, if both steps are of the same kind.
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }
}

impl ReplayStep {
    pub(super) fn asked(index: CommandIndex, asked: &IssuedCommand) -> Self {
        Self::command(index, asked.kind, &asked.name, &asked.request)
    }

    fn recorded(body: &RecordBody) -> Self {
        match body {
            RecordBody::Command { index, kind, name, request } => {
                Self::command(*index, *kind, name, request)
            }
            RecordBody::Finished { outcome } => Self::Finishes { outcome: outcome.clone() },
            RecordBody::Notified { index, .. } => {
                Self::IsTold { event: format!("the outcome of command {index}") }
            }
            RecordBody::Signal { name, .. } => {
                Self::IsTold { event: format!("the signal `{name}`") }
            }
            RecordBody::Cancelled => Self::IsTold { event: "the request to stop".to_owned() },
            RecordBody::Started { function, .. } => {
                Self::IsTold { event: format!("the request to start `{function}`") }
            }
        }
    }

    fn command(
        index: CommandIndex,
        kind: CommandKind,
        name: &Text,
        request: &CommandRequest,
    ) -> Self {
        let fields = request.fields().unwrap_or_else(|| {
            let value = FieldValue::Inline(request.as_bytes().to_vec().into());
            vec![RequestField { name: Text::from("request"), value }]
        });
        Self::Command { index, kind, name: name.clone(), request: fields }
    }
}

fn differences(recorded: &ReplayStep, asked: &ReplayStep) -> Vec<Difference> {
    match (recorded, asked) {
        (
            ReplayStep::Command { kind, name, request, .. },
            ReplayStep::Command {
                kind: asked_kind, name: asked_name, request: asked_request, ..
            },
        ) => {
            let mut found = Vec::new();
            compare(&mut found, "kind", Some(kind.to_string()), Some(asked_kind.to_string()));
            compare(&mut found, "name", Some(name.to_string()), Some(asked_name.to_string()));
            let value = |fields: &[RequestField], name: &Text| {
                fields.iter().find(|field| field.name == *name).map(|field| shown(&field.value))
            };
            for RequestField { name, .. } in request {
                compare(&mut found, name, value(request, name), value(asked_request, name));
            }
            for RequestField { name, .. } in
                asked_request.iter().filter(|field| value(request, &field.name).is_none())
            {
                compare(&mut found, name, None, value(asked_request, name));
            }
            found
        }
        (ReplayStep::Finishes { outcome }, ReplayStep::Finishes { outcome: asked }) => {
            let mut found = Vec::new();
            compare(&mut found, "outcome", Some(in_words(outcome)), Some(in_words(asked)));
            found
        }
        _ => Vec::new(),
    }
}

fn compare(
    found: &mut Vec<Difference>,
    field: &str,
    recorded: Option<String>,
    asked: Option<String>,
) {
    if recorded != asked {
        found.push(Difference { field: Text::from(field), recorded, asked });
    }
}

fn shown(value: &FieldValue) -> String {
    match value {
        FieldValue::Inline(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => format!("{} bytes {}", bytes.len(), bytes.escape_ascii()),
        },
        FieldValue::Digest { len, digest } => format!("{len} bytes with digest {digest}"),
    }
}

fn in_words(outcome: &Outcome) -> String {
    let payload =
        |payload: &Payload| shown(&FieldValue::Inline(payload.as_bytes().to_vec().into()));
    match outcome {
        Outcome::Own => "the value of its promise".to_owned(),
        Outcome::Inline(StepResult::Empty) => "nothing".to_owned(),
        Outcome::Inline(StepResult::Value(value)) => payload(value),
        Outcome::Inline(StepResult::Failure { code, message, details }) => {
            let details = details
                .as_ref()
                .map(|details| format!(" ({})", payload(details)))
                .unwrap_or_default();
            format!("failure {code}: {message}{details}")
        }
    }
}

impl fmt::Display for ReplayStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { index, kind, name, .. } if name.is_empty() => {
                write!(f, "command {index}: {kind}")
            }
            Self::Command { index, kind, name, .. } => {
                write!(f, "command {index}: {kind} `{name}`")
            }
            Self::Waits => f.write_str("nothing more before the next event"),
            Self::Finishes { outcome } => write!(f, "the end, with {}", in_words(outcome)),
            Self::IsTold { event } => write!(f, "nothing more before it receives {event}"),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the replay leaves the journal at record {}", self.seq)?;
        writeln!(f, "  recorded: {}", self.recorded)?;
        write!(f, "  asked:    {}", self.asked)?;
        for Difference { field, recorded, asked } in &self.differences {
            let value =
                |value: &Option<String>| value.clone().unwrap_or_else(|| "(absent)".to_owned());
            write!(
                f,
                "\n  {field}:\n    recorded: {}\n    asked:    {}",
                value(recorded),
                value(asked)
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Divergence {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    fn record(fields: &[(&str, &[u8])]) -> Record {
        let body = RecordBody::Command {
            index: CommandIndex(2),
            kind: CommandKind::Call,
            name: Text::from("charge"),
            request: CommandRequest::of(fields),
        };
        Record { seq: 7, at: Timestamp(0), body }
    }

    #[test]
    fn a_report_names_the_record_and_each_field_that_differs() {
        let recorded = record(&[("input", b"{\"amount\":5}"), ("timeout_ms", b"1000")]);
        let request = CommandRequest::of(&[("input", b"{\"amount\":7}"), ("retry", b"{}")]);
        let asked = IssuedCommand { kind: CommandKind::Call, name: Text::from("refund"), request };
        let divergence = Divergence::new(&recorded, ReplayStep::asked(CommandIndex(2), &asked));
        assert_eq!(
            divergence.to_string(),
            "the replay leaves the journal at record 7\n\
             \x20 recorded: command 2: call `charge`\n\
             \x20 asked:    command 2: call `refund`\n\
             \x20 name:\n    recorded: charge\n    asked:    refund\n\
             \x20 input:\n    recorded: {\"amount\":5}\n    asked:    {\"amount\":7}\n\
             \x20 timeout_ms:\n    recorded: 1000\n    asked:    (absent)\n\
             \x20 retry:\n    recorded: (absent)\n    asked:    {}"
        );
        assert_eq!(divergence.command(), Some(CommandIndex(2)));
        assert_eq!(divergence.differences().len(), 4);
    }

    #[test]
    fn a_missing_command_and_an_early_end_read_as_sentences() {
        let missing = Divergence::new(&record(&[]), ReplayStep::Waits).to_string();
        assert!(missing.ends_with("asked:    nothing more before the next event"), "{missing}");
        let outcome = Outcome::Inline(StepResult::Failure {
            code: 500,
            message: Text::from("no"),
            details: None,
        });
        let early = Divergence::new(&record(&[]), ReplayStep::Finishes { outcome }).to_string();
        assert!(early.ends_with("asked:    the end, with failure 500: no"), "{early}");
    }

    #[test]
    fn a_report_is_stored_and_read_again() {
        let divergence = Divergence::new(&record(&[("input", &[0xff; 9])]), ReplayStep::Waits);
        let stored = postcard::to_allocvec(&divergence).expect("a report encodes");
        assert_eq!(postcard::from_bytes::<Divergence>(&stored), Ok(divergence));
    }
}
