//! Conversion of results of commands and invocations between the protocol's form and that of
//! journals and promises.

use bytes::Bytes;
use segno_core::{
    invocation::StepResult,
    json,
    value::{Payload as Stored, Text},
};
use segno_engine::values::{code, journals};
use segno_guest::{Failure, Outcome as GuestOutcome, Payload};
use segno_restate::{
    failure,
    immutable::{NotificationKind, NotificationResult},
    wire::{self, FailureMetadata, OperationOutcome},
};
use serde_json::{Map, Value as Json};

/// Bytes as a payload: JSON if they are valid JSON, so that tools and other languages can read
/// them.
pub fn payload(bytes: &[u8]) -> Payload {
    let json = std::str::from_utf8(bytes)
        .ok()
        .filter(|text| text.trim_ascii().len() == text.len() && json::check(text).is_ok());
    match json {
        Some(text) => Payload::Json(text.to_owned()),
        None => Payload::Bytes(bytes.to_vec()),
    }
}

/// The bytes of a payload.
pub fn bytes(payload: &Payload) -> Bytes {
    match payload {
        Payload::Json(text) => Bytes::copy_from_slice(text.as_bytes()),
        Payload::Bytes(bytes) => Bytes::copy_from_slice(bytes),
    }
}

/// A failure of a service, in the form of promises and journals.
pub fn kept(failure: &wire::Failure) -> Failure {
    let metadata: Map<String, Json> = failure
        .metadata
        .iter()
        .map(|fact| (fact.key.clone(), Json::String(fact.value.clone())))
        .collect();
    let details = (!metadata.is_empty()).then(|| Payload::Json(Json::Object(metadata).to_string()));
    Failure { code: failure.code, message: failure.message.clone(), details }
}

/// A failure in the protocol's form. The code for cancelled is 409 there.
pub fn told(failure: &Failure) -> wire::Failure {
    let code = match failure.code {
        code::CANCELLED => u32::from(failure::CONFLICT),
        code => code,
    };
    // The protocol cannot carry details of other shapes.
    let details = match &failure.details {
        Some(Payload::Json(text)) => json::read(text.as_bytes()).unwrap_or_default(),
        _ => Json::Null,
    };
    let details = match details {
        Json::Object(facts) => facts,
        _ => Map::new(),
    };
    let metadata = details.into_iter().map(|(key, value)| match value {
        Json::String(value) => FailureMetadata { key, value },
        other => FailureMetadata { key, value: other.to_string() },
    });
    let message = match (failure.code, failure.message.as_str()) {
        (code::CANCELLED, "cancelled") => "Cancelled".to_owned(),
        (_, message) => message.to_owned(),
    };
    wire::Failure { code, message, metadata: metadata.collect() }
}

/// An outcome of a service, in the form of promises.
pub fn guest(outcome: &OperationOutcome) -> GuestOutcome {
    match outcome {
        OperationOutcome::Success(value) => GuestOutcome::Success(payload(value)),
        OperationOutcome::Failure(failure) => GuestOutcome::Failure(kept(failure)),
    }
}

/// The outcome of a promise, in the protocol's form.
pub fn of_guest(outcome: &GuestOutcome) -> OperationOutcome {
    match outcome {
        GuestOutcome::Success(value) => OperationOutcome::Success(bytes(value)),
        GuestOutcome::Failure(failure) => OperationOutcome::Failure(told(failure)),
    }
}

/// The result of a command, in the form of the journal.
pub fn stored(result: &NotificationResult) -> StepResult {
    match result {
        NotificationResult::Void => StepResult::Empty,
        NotificationResult::Value(value) => StepResult::Value(journals::payload(&payload(value))),
        NotificationResult::Failure(failure) => {
            let Failure { code, message, details } = kept(failure);
            let details = details.as_ref().map(journals::payload);
            StepResult::Failure { code, message: message.into(), details }
        }
        NotificationResult::InvocationId(id) => {
            StepResult::Value(Stored::Json(Text::from(Json::from(id.as_str()).to_string())))
        }
        NotificationResult::StateKeys(keys) => {
            let names: Vec<Json> =
                keys.iter().map(|key| Json::from(String::from_utf8_lossy(key))).collect();
            StepResult::Value(Stored::Json(Text::from(Json::Array(names).to_string())))
        }
    }
}

/// A result from the journal, as a notification of this kind. `None` if it does not have that kind.
pub fn recorded(kind: NotificationKind, result: &StepResult) -> Option<NotificationResult> {
    let json = || match result {
        StepResult::Value(Stored::Json(text)) => serde_json::from_str::<Json>(text).ok(),
        _ => None,
    };
    Some(match (kind, result) {
        (NotificationKind::CallInvocationId, _) => {
            NotificationResult::InvocationId(json()?.as_str()?.to_owned())
        }
        (NotificationKind::LazyStateKeys, _) => {
            let names = json()?;
            let names = names
                .as_array()?
                .iter()
                .map(|name| name.as_str().map(|name| Bytes::copy_from_slice(name.as_bytes())));
            NotificationResult::StateKeys(names.collect::<Option<_>>()?)
        }
        (_, StepResult::Empty) => NotificationResult::Void,
        (_, StepResult::Value(value)) => {
            NotificationResult::Value(Bytes::copy_from_slice(value.as_bytes()))
        }
        (_, StepResult::Failure { code, message, details }) => {
            NotificationResult::Failure(told(&Failure {
                code: *code,
                message: message.to_string(),
                details: details.as_ref().map(journals::guest_payload),
            }))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_byte_for_byte() {
        let fact = |key: &str| FailureMetadata { key: key.to_owned(), value: "1".to_owned() };
        let failure = wire::Failure {
            code: 418,
            message: "no".to_owned(),
            metadata: vec![fact("a"), fact("b")],
        };
        let value = |bytes: &'static [u8]| NotificationResult::Value(Bytes::from_static(bytes));
        use NotificationKind as Kind;
        for (kind, result) in [
            (Kind::Sleep, NotificationResult::Void),
            (Kind::LazyState, NotificationResult::Void),
            (Kind::LazyState, value(b"")),
            (Kind::LazyState, value(b"null")),
            (Kind::Call, value(b" {\"a\": 1}\n")),
            (Kind::Call, value(b"{\"a\":1}")),
            (Kind::Call, value(&[0, 255])),
            (Kind::Run, NotificationResult::Failure(failure)),
            (Kind::CallInvocationId, NotificationResult::InvocationId("a\"/3".to_owned())),
            (
                Kind::LazyStateKeys,
                NotificationResult::StateKeys(vec![Bytes::from_static(b"a"), Bytes::new()]),
            ),
        ] {
            assert_eq!(recorded(kind, &stored(&result)), Some(result.clone()), "{result:?}");
        }
        assert!(matches!(payload(b"{\"a\":1}"), Payload::Json(_)));
        assert!(matches!(payload(b""), Payload::Bytes(_)), "nothing is not null");
    }

    #[test]
    fn a_service_is_told_of_a_cancellation_in_its_own_words() {
        let failure =
            Failure { code: code::CANCELLED, message: "cancelled".to_owned(), details: None };
        assert_eq!(told(&failure), wire::Failure::new(409, "Cancelled"));
    }
}
