//! Signals of services: their names in journals and promises, their contents, and awakeables, which
//! are signals.
//!
//! ```text
//! go            the signal `go`, with a value; from any sender
//! #17           the signal with index 17, with a value: the awakeable is completed
//! #17!  #17~    the same with a failure, with nothing
//! #=n  #!n  #~n the signal `n` with a value (where `n` begins with `#`), with a failure, with nothing
//! ```

use segno_core::{id::PromiseId, value::Value};
use segno_engine::values;
use segno_restate::{id::AwakeableId, immutable::NotificationId, wire::OperationOutcome};

use super::outcome;

/// The text is not the id of an awakeable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no id of an awakeable: it begins with `sign_1`")]
pub struct AwakeableIdError(String);

/// The kind of content of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalContent {
    Value,
    Failure,
    /// No content.
    Nothing,
}

/// The name of this signal.
pub fn name(id: &NotificationId, carries: SignalContent) -> String {
    match id {
        NotificationId::Signal(index) | NotificationId::Completion(index) => match carries {
            SignalContent::Value => format!("#{index}"),
            SignalContent::Failure => format!("#{index}!"),
            SignalContent::Nothing => format!("#{index}~"),
        },
        NotificationId::NamedSignal(name) => match carries {
            SignalContent::Value if name.starts_with('#') => format!("#={name}"),
            SignalContent::Value => name.clone(),
            SignalContent::Failure => format!("#!{name}"),
            SignalContent::Nothing => format!("#~{name}"),
        },
    }
}

/// The signal with this name, and the kind of its content.
pub fn parse(name: &str) -> (NotificationId, SignalContent) {
    let named = |name: &str| NotificationId::NamedSignal(name.to_owned());
    let Some(rest) = name.strip_prefix('#') else { return (named(name), SignalContent::Value) };
    match rest.chars().next() {
        Some('=') => return (named(&rest[1..]), SignalContent::Value),
        Some('!') => return (named(&rest[1..]), SignalContent::Failure),
        Some('~') => return (named(&rest[1..]), SignalContent::Nothing),
        _ => {}
    }
    let (digits, carries) = match (rest.strip_suffix('!'), rest.strip_suffix('~')) {
        (Some(digits), _) => (digits, SignalContent::Failure),
        (_, Some(digits)) => (digits, SignalContent::Nothing),
        _ => (rest, SignalContent::Value),
    };
    match digits.parse() {
        Ok(index) => (NotificationId::Signal(index), carries),
        Err(_) => (named(name), SignalContent::Value),
    }
}

/// The invocation and the index of an awakeable.
///
/// # Errors
/// The text is not the id of an awakeable.
pub fn awakeable(id: &str) -> Result<(PromiseId, u32), AwakeableIdError> {
    let parsed: AwakeableId = id.parse().map_err(|_| AwakeableIdError(id.to_owned()))?;
    let invocation =
        std::str::from_utf8(&parsed.invocation).map_err(|_| AwakeableIdError(id.to_owned()))?;
    Ok((PromiseId::from(invocation), parsed.index))
}

/// The kind of content of a signal, and its payload.
pub fn carried(outcome: Option<&OperationOutcome>) -> (SignalContent, Value) {
    match outcome {
        None => (SignalContent::Nothing, Value::default()),
        Some(OperationOutcome::Success(value)) => {
            (SignalContent::Value, values::value(&outcome::payload(value)))
        }
        Some(OperationOutcome::Failure(failure)) => {
            (SignalContent::Failure, values::failure_value(&outcome::kept(failure)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_what_they_name() {
        let ids = ["go", "#go", "", "#", "#17", "!x", "#!x"]
            .map(|name| NotificationId::NamedSignal(name.to_owned()));
        for id in ids.into_iter().chain([NotificationId::Signal(1), NotificationId::Signal(17)]) {
            for carries in [SignalContent::Value, SignalContent::Failure, SignalContent::Nothing] {
                let name = name(&id, carries);
                assert_eq!(parse(&name), (id.clone(), carries), "{name}");
            }
        }
        let go = NotificationId::NamedSignal("go".to_owned());
        assert_eq!(name(&go, SignalContent::Value), "go", "as everybody sends it");
        // A client's signal with such a name is a signal of that name.
        let odd = NotificationId::NamedSignal("#x".to_owned());
        assert_eq!(parse("#x"), (odd, SignalContent::Value));
    }
}
