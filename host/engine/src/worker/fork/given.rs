//! Replacement results for recorded commands. A command accepts only results that its kind can
//! have.

use segno_core::invocation::CommandKind;
use segno_guest::{Failure, Outcome, Payload};
use serde_json::Value as Json;

use crate::values::code;

/// A replacement result of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenOutcome {
    pub command: u32,
    pub outcome: Outcome,
}

/// The reason why a command of this kind cannot have this outcome. `None` if it can.
pub(super) fn misfit(kind: CommandKind, outcome: &Outcome) -> Option<String> {
    let wanted = match (kind, outcome) {
        (
            CommandKind::SetState
            | CommandKind::ClearState
            | CommandKind::ClearAllState
            | CommandKind::Signal
            | CommandKind::Unread
            | CommandKind::ContinueAsNew
            | CommandKind::AppendStream
            | CommandKind::CloseStream,
            _,
        ) => "has no result: it is done with its record",
        (
            CommandKind::Run
            | CommandKind::Call
            | CommandKind::Promise
            | CommandKind::WaitObjectPromise
            | CommandKind::Peek
            | CommandKind::Attach,
            _,
        ) => return None,
        (CommandKind::Sleep, outcome) => match outcome {
            Outcome::Failure(Failure { code: code::CANCELLED, .. }) => return None,
            outcome if is(outcome, Json::is_null) => return None,
            _ => "ends with null, or fails with 499 if it is cancelled",
        },
        (
            CommandKind::Settle
            | CommandKind::Cancel
            | CommandKind::Publish
            | CommandKind::SendSignal,
            outcome,
        ) => match outcome {
            Outcome::Failure(_) => return None,
            outcome if is(outcome, Json::is_null) => return None,
            Outcome::Success(_) => "ends with null, or fails",
        },
        (CommandKind::Send, outcome) => match outcome {
            Outcome::Failure(_) => return None,
            outcome if is(outcome, Json::is_string) => return None,
            Outcome::Success(_) => "ends with the id of what it started, or fails",
        },
        (CommandKind::Http, outcome) => match outcome {
            Outcome::Failure(_) => return None,
            outcome if is(outcome, is_response) => return None,
            Outcome::Success(_) => {
                "ends with {\"status\": NUMBER, \"headers\": {…}, \"body\": TEXT}, or fails"
            }
        },
        (CommandKind::GetState, Outcome::Success(_)) => return None,
        (CommandKind::GetState, Outcome::Failure(_)) => "ends with a value, and never fails",
        (CommandKind::StateKeys, outcome) => match is(outcome, is_names) {
            true => return None,
            false => "ends with a list of names",
        },
        (CommandKind::PeekObjectPromise, outcome) => match is(outcome, is_standing) {
            true => return None,
            false => {
                "ends with null, {\"resolved\": JSON} or {\"rejected\": {\"code\": NUMBER, \"message\": TEXT}}"
            }
        },
        (CommandKind::SettleObjectPromise, outcome) => match outcome {
            Outcome::Failure(_) => return None,
            outcome if is(outcome, |value| *value == Json::Bool(true)) => return None,
            Outcome::Success(_) => "ends with true, or fails",
        },
    };
    Some(wanted.to_owned())
}

fn is(outcome: &Outcome, test: impl Fn(&Json) -> bool) -> bool {
    match outcome {
        Outcome::Success(Payload::Json(text)) => {
            serde_json::from_str(text).is_ok_and(|value| test(&value))
        }
        Outcome::Success(Payload::Bytes(_)) | Outcome::Failure(_) => false,
    }
}

/// True for a response to a request, in the form that the host writes.
fn is_response(value: &Json) -> bool {
    let status = value["status"].as_u64();
    let headers = value["headers"].as_object();
    let body = ["body", "body_base64"].iter().filter(|name| value[**name].is_string()).count();
    status.is_some_and(|status| (100..600).contains(&status))
        && headers.is_some_and(|headers| headers.values().all(Json::is_string))
        && body == 1
}

fn is_names(value: &Json) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Json::is_string))
}

fn is_standing(value: &Json) -> bool {
    let Some(object) = value.as_object() else { return value.is_null() };
    let rejected = || {
        object.get("rejected").is_some_and(|it| it["code"].is_u64() && it["message"].is_string())
    };
    object.len() == 1 && (object.contains_key("resolved") || rejected())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Outcome {
        Outcome::Success(Payload::Json(json.to_owned()))
    }

    fn failure(code: u32) -> Outcome {
        Outcome::Failure(Failure { code, message: "no".to_owned(), details: None })
    }

    #[test]
    fn a_command_ends_as_its_kind_can() {
        let response = r#"{"status":200,"headers":{"a":"b"},"body":"x"}"#;
        for (kind, outcome, fits) in [
            (CommandKind::Call, value("[1]"), true),
            (CommandKind::Run, failure(500), true),
            (CommandKind::Promise, value("null"), true),
            (CommandKind::Sleep, value("null"), true),
            (CommandKind::Sleep, value("1"), false),
            (CommandKind::Sleep, failure(499), true),
            (CommandKind::Sleep, failure(500), false),
            (CommandKind::Send, value(r#""w/1""#), true),
            (CommandKind::Send, value("1"), false),
            (CommandKind::Publish, value("null"), true),
            (CommandKind::Publish, value("true"), false),
            (CommandKind::Settle, failure(404), true),
            (CommandKind::Http, value(response), true),
            (CommandKind::Http, failure(503), true),
            (CommandKind::Http, value(r#"{"status":200}"#), false),
            (CommandKind::Http, value(r#"{"status":42,"headers":{},"body":""}"#), false),
            (CommandKind::GetState, value("7"), true),
            (CommandKind::GetState, failure(500), false),
            (CommandKind::StateKeys, value(r#"["a"]"#), true),
            (CommandKind::StateKeys, value("[1]"), false),
            (CommandKind::PeekObjectPromise, value("null"), true),
            (CommandKind::PeekObjectPromise, value(r#"{"resolved":1}"#), true),
            (CommandKind::PeekObjectPromise, value(r#"{"rejected":1}"#), false),
            (CommandKind::SettleObjectPromise, value("true"), true),
            (CommandKind::SettleObjectPromise, value("false"), false),
            (CommandKind::SetState, value("null"), false),
        ] {
            assert_eq!(misfit(kind, &outcome).is_none(), fits, "{kind} {outcome:?}");
        }
    }
}
