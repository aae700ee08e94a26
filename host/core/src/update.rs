//! Updates: signals that a workflow answers. An update is delivered to the workflow as a signal
//! with a reserved name, and the workflow settles the promise that the signal contains.

use serde::Deserialize;

use crate::{
    id::PromiseId,
    json::{self, JsonError},
    value::{Text, Value},
};

/// Prefix of the names and keys of signals that are reserved for the engine.
pub const RESERVED: &str = "segno:";
/// Prefix of the name of an update's signal, before the update's name.
pub const SIGNAL: &str = "segno:update/";

/// Name of the signal for this update.
pub fn signal_name(update: &str) -> Text {
    Text::from(format!("{SIGNAL}{update}"))
}

/// Key of the signal for a sender's key. It differs from the keys of other updates and of signals.
pub fn signal_key(update: &str, key: &str) -> Text {
    Text::from(format!("{SIGNAL}{update}/{key}"))
}

/// The same signal with another answer promise. `None` if the signal is not an update.
pub fn readdressed(told: &Value, answer: &PromiseId) -> Option<Value> {
    let rest = std::str::from_utf8(told.data.as_slice()).ok()?.strip_prefix(r#"{"promise":"#)?;
    let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    texts.next()?.ok()?;
    let rest = &rest[texts.byte_offset()..];
    let answer = serde_json::Value::from(answer.as_str());
    let data = format!(r#"{{"promise":{answer}{rest}"#).into_bytes();
    Some(Value { headers: told.headers.clone(), ..Value::of(data) })
}

/// Payload of the signal: `{"promise": …, "input": …}`.
///
/// # Errors
/// [`JsonError`]: `input` is not JSON.
pub fn payload(answer: &PromiseId, input: &str) -> Result<Value, JsonError> {
    json::check(input)?;
    let answer = serde_json::Value::from(answer.as_str());
    let text = format!(r#"{{"promise":{answer},"input":{input}}}"#);
    Ok(Value::of(text.into_bytes()))
}

/// The input in the payload of the signal.
pub fn input_in(payload: &[u8]) -> Option<serde_json::Value> {
    #[derive(Deserialize)]
    struct UpdatePayload {
        input: serde_json::Value,
    }
    serde_json::from_slice::<UpdatePayload>(payload).ok().map(|told| told.input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_readdressed_and_keeps_its_input_as_it_is() {
        let input = r#"{"promise":"x", "n": 1.0}"#;
        let told = payload(&PromiseId::from("a \"b\"/a/0"), input).expect("it is JSON");
        let again = readdressed(&told, &PromiseId::from("c/a/1"));
        assert_eq!(again, payload(&PromiseId::from("c/a/1"), input).ok());
        assert_eq!(readdressed(&Value::of(&b"1"[..]), &PromiseId::from("c")), None);
    }
}
