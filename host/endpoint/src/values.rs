//! Conversion of payloads and outcomes between guests and frames.
//!
//! A guest's JSON is sent as the bytes of its text. Received bytes become JSON if they are valid
//! JSON, and `null` if they are empty: other SDKs send no bytes for an absent value.

use bytes::Bytes;
use segno_engine::values::{self, code};
use segno_guest::{Failure, Outcome, Payload};
use segno_restate::{
    ProtocolVersion,
    immutable::NotificationResult,
    wire::{self, OperationOutcome as Told},
};
use segno_services::outcome;
use serde_json::Value as Json;

/// The messages with which runtimes report a cancelled or killed invocation.
const ENDED: [&str; 3] = ["Cancelled", "cancelled", "killed"];

/// JSON `null`.
pub(super) fn null() -> Outcome {
    Outcome::Success(Payload::Json("null".to_owned()))
}

pub(super) fn text(text: &str) -> Outcome {
    Outcome::Success(Payload::Json(Json::from(text).to_string()))
}

/// A failure that the host itself reports.
pub(super) fn failed(code: u32, message: impl Into<String>) -> Outcome {
    Outcome::Failure(Failure { code, message: message.into(), details: None })
}

/// A payload from received bytes.
pub(super) fn payload(bytes: &[u8]) -> Payload {
    match outcome::payload(bytes.trim_ascii()) {
        Payload::Bytes(trimmed) if trimmed.is_empty() => Payload::Json("null".to_owned()),
        Payload::Bytes(_) => Payload::Bytes(bytes.to_vec()),
        json => json,
    }
}

/// The bytes of a payload to send.
pub(super) fn bytes(payload: &Payload) -> Bytes {
    match payload {
        Payload::Json(text) => Bytes::copy_from_slice(text.trim().as_bytes()),
        Payload::Bytes(bytes) => Bytes::copy_from_slice(bytes),
    }
}

/// The protocol form of an outcome to send. V5 has no details of failures.
pub(super) fn told(outcome: &Outcome, version: ProtocolVersion) -> Told {
    match outcome {
        Outcome::Success(value) => Told::Success(bytes(value)),
        Outcome::Failure(failure) => {
            let mut failure = outcome::told(failure);
            if version < ProtocolVersion::V6 {
                failure.metadata.clear();
            }
            Told::Failure(failure)
        }
    }
}

/// The outcome of a command, from the notification that completes it.
pub(super) fn outcome(result: NotificationResult) -> Outcome {
    match result {
        NotificationResult::Void => null(),
        NotificationResult::Value(value) => Outcome::Success(payload(&value)),
        NotificationResult::Failure(failure) => Outcome::Failure(kept(&failure)),
        NotificationResult::InvocationId(id) => text(&id),
        NotificationResult::StateKeys(keys) => names(&keys),
    }
}

/// The state of an object's promise, from the result of a peek.
pub(super) fn standing(result: NotificationResult) -> Outcome {
    values::standing(match result {
        NotificationResult::Void => None,
        settled => Some(outcome(settled)),
    })
}

/// The outcome of settling an object's promise, from the notification of its completion. `true` if
/// this command settled it.
pub(super) fn settled(result: NotificationResult) -> Outcome {
    match result {
        NotificationResult::Void => Outcome::Success(Payload::Json("true".to_owned())),
        refused => outcome(refused),
    }
}

/// The keys of state, as a sorted JSON array.
pub(super) fn names(keys: &[Bytes]) -> Outcome {
    let mut names: Vec<_> = keys.iter().map(|key| String::from_utf8_lossy(key)).collect();
    names.sort_unstable();
    let json: Vec<Json> = names.into_iter().map(Json::from).collect();
    Outcome::Success(Payload::Json(Json::Array(json).to_string()))
}

/// A received failure. A cancellation gets Segno's code for it.
fn kept(failure: &wire::Failure) -> Failure {
    let mut kept = outcome::kept(failure);
    if kept.code == 409 && ENDED.contains(&&*kept.message) {
        kept.code = code::CANCELLED;
        kept.message = kept.message.to_lowercase();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_json_where_it_is_json_and_null_where_it_is_nothing() {
        let json = |text: &str| Payload::Json(text.to_owned());
        for (came, expected) in [
            (&b""[..], json("null")),
            (b" \n", json("null")),
            (b"{\"a\": 1}\n", json("{\"a\": 1}")),
            (b"hello", Payload::Bytes(b"hello".to_vec())),
            (b" a ", Payload::Bytes(b" a ".to_vec())),
        ] {
            assert_eq!(payload(came), expected, "{came:?}");
        }
        assert_eq!(&bytes(&json(" 1\n"))[..], b"1");
    }

    #[test]
    fn a_cancellation_comes_back_as_one_and_another_conflict_does_not() {
        let cancelled = failed(code::CANCELLED, "cancelled");
        let Told::Failure(failure) = told(&cancelled, ProtocolVersion::V5) else { panic!() };
        assert_eq!((failure.code, &*failure.message), (409, "Cancelled"));
        assert_eq!(outcome(NotificationResult::Failure(failure)), cancelled);
        let killed = wire::Failure::new(409, "killed");
        let Outcome::Failure(killed) = outcome(NotificationResult::Failure(killed)) else {
            panic!()
        };
        assert_eq!(killed.code, code::CANCELLED);
        let taken = wire::Failure::new(409, "the name is taken");
        let Outcome::Failure(taken) = outcome(NotificationResult::Failure(taken)) else { panic!() };
        assert_eq!(taken.code, 409);
    }

    #[test]
    fn details_of_failures_are_not_sent_to_whoever_cannot_read_them() {
        let details = Some(Payload::Json("{\"a\":1}".to_owned()));
        let failure = Outcome::Failure(Failure { code: 418, message: "no".to_owned(), details });
        for (version, facts) in [(ProtocolVersion::V5, 0), (ProtocolVersion::V6, 1)] {
            let Told::Failure(told) = told(&failure, version) else { panic!() };
            assert_eq!(told.metadata.len(), facts, "{version}");
        }
    }
}
