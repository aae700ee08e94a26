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
use segno_restate::{id::AwakeableId, immutable::NotificationId, wire::Outcome};

use super::outcome;

/// The text is not the id of an awakeable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no id of an awakeable: it begins with `sign_1`")]
pub struct NotAnAwakeable(String);

/// The kind of content of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    Value,
    Failure,
    /// No content.
    Nothing,
}

/// The name of this signal.
pub fn name(id: &NotificationId, carries: Carries) -> String {
    match id {
        NotificationId::Signal(index) | NotificationId::Completion(index) => match carries {
            Carries::Value => format!("#{index}"),
            Carries::Failure => format!("#{index}!"),
            Carries::Nothing => format!("#{index}~"),
        },
        NotificationId::NamedSignal(name) => match carries {
            Carries::Value if name.starts_with('#') => format!("#={name}"),
            Carries::Value => name.clone(),
            Carries::Failure => format!("#!{name}"),
            Carries::Nothing => format!("#~{name}"),
        },
    }
}

/// The signal with this name, and the kind of its content.
pub fn parse(name: &str) -> (NotificationId, Carries) {
    let named = |name: &str| NotificationId::NamedSignal(name.to_owned());
    let Some(rest) = name.strip_prefix('#') else { return (named(name), Carries::Value) };
    match rest.chars().next() {
        Some('=') => return (named(&rest[1..]), Carries::Value),
        Some('!') => return (named(&rest[1..]), Carries::Failure),
        Some('~') => return (named(&rest[1..]), Carries::Nothing),
        _ => {}
    }
    let (digits, carries) = match (rest.strip_suffix('!'), rest.strip_suffix('~')) {
        (Some(digits), _) => (digits, Carries::Failure),
        (_, Some(digits)) => (digits, Carries::Nothing),
        _ => (rest, Carries::Value),
    };
    match digits.parse() {
        Ok(index) => (NotificationId::Signal(index), carries),
        Err(_) => (named(name), Carries::Value),
    }
}

/// The invocation and the index of an awakeable.
///
/// # Errors
/// The text is not the id of an awakeable.
pub fn awakeable(id: &str) -> Result<(PromiseId, u32), NotAnAwakeable> {
    let parsed: AwakeableId = id.parse().map_err(|_| NotAnAwakeable(id.to_owned()))?;
    let invocation =
        std::str::from_utf8(&parsed.invocation).map_err(|_| NotAnAwakeable(id.to_owned()))?;
    Ok((PromiseId::from(invocation), parsed.index))
}

/// The kind of content of a signal, and its payload.
pub fn carried(outcome: Option<&Outcome>) -> (Carries, Value) {
    match outcome {
        None => (Carries::Nothing, Value::default()),
        Some(Outcome::Success(value)) => (Carries::Value, values::value(&outcome::payload(value))),
        Some(Outcome::Failure(failure)) => {
            (Carries::Failure, values::failure_value(&outcome::kept(failure)))
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
            for carries in [Carries::Value, Carries::Failure, Carries::Nothing] {
                let name = name(&id, carries);
                assert_eq!(parse(&name), (id.clone(), carries), "{name}");
            }
        }
        let go = NotificationId::NamedSignal("go".to_owned());
        assert_eq!(name(&go, Carries::Value), "go", "as everybody sends it");
        // A client's signal with such a name is a signal of that name.
        let odd = NotificationId::NamedSignal("#x".to_owned());
        assert_eq!(parse("#x"), (odd, Carries::Value));
    }
}
