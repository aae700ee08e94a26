//! Conversion of outcomes between the guest's types and the journal's.

use segno_core::{
    invocation::{LogLevel, Outcome as Stored, StepResult},
    value::{Bytes, Payload as StoredPayload, Text},
};
use segno_guest::{Failure, Level, Outcome, Payload};

/// Maximum length in bytes of outcomes that are repeated in the journal. Longer outcomes of
/// promises stay in the promise only.
pub const INLINE_LIMIT: usize = 4096;

/// A payload in the form of the journal.
pub fn payload(payload: &Payload) -> StoredPayload {
    match payload {
        Payload::Json(text) => StoredPayload::Json(Text::from(text.as_str())),
        Payload::Bytes(bytes) => StoredPayload::Bytes(Bytes::from(bytes.as_slice())),
    }
}

/// A stored payload in the guest's form.
pub fn guest_payload(payload: &StoredPayload) -> Payload {
    match payload {
        StoredPayload::Json(text) => Payload::Json(text.to_string()),
        StoredPayload::Bytes(bytes) => Payload::Bytes(bytes.to_vec()),
    }
}

/// An outcome in the form of the journal. If `has_promise`, a long outcome can be read from the
/// command's promise and is not stored again.
pub fn stored(outcome: &Outcome, has_promise: bool) -> Stored {
    if has_promise && length(outcome) > INLINE_LIMIT {
        return Stored::Own;
    }
    Stored::Inline(match outcome {
        Outcome::Success(Payload::Json(text)) if text == "null" => StepResult::Empty,
        Outcome::Success(value) => StepResult::Value(payload(value)),
        Outcome::Failure(failure) => StepResult::Failure {
            code: failure.code,
            message: Text::from(failure.message.as_str()),
            details: failure.details.as_ref().map(payload),
        },
    })
}

/// A stored result in the form in which the guest received it.
pub fn recorded(result: &StepResult) -> Outcome {
    match result {
        StepResult::Empty => null(),
        StepResult::Value(value) => Outcome::Success(guest_payload(value)),
        StepResult::Failure { code, message, details } => Outcome::Failure(Failure {
            code: *code,
            message: message.to_string(),
            details: details.as_ref().map(guest_payload),
        }),
    }
}

/// A success with the value `null`.
pub fn null() -> Outcome {
    Outcome::Success(Payload::Json("null".into()))
}

fn length(outcome: &Outcome) -> usize {
    let of = |payload: &Payload| match payload {
        Payload::Json(text) => text.len(),
        Payload::Bytes(bytes) => bytes.len(),
    };
    match outcome {
        Outcome::Success(value) => of(value),
        Outcome::Failure(failure) => failure.message.len() + failure.details.as_ref().map_or(0, of),
    }
}

/// The stored form of a guest's log level.
pub fn level(level: Level) -> LogLevel {
    match level {
        Level::Trace => LogLevel::Trace,
        Level::Debug => LogLevel::Debug,
        Level::Info => LogLevel::Info,
        Level::Warn => LogLevel::Warn,
        Level::Error => LogLevel::Error,
    }
}
