//! Updates: signals that a workflow answers. An update is told to it as a signal with a name of its
//! own, and the workflow settles the promise that the signal names.

use serde::de::IgnoredAny;

use crate::{
    id::PromiseId,
    value::{Text, Value},
};

/// Names and keys of signals that begin so are the engine's.
pub const RESERVED: &str = "segno:";
/// The name of an update's signal is this and the update's name.
pub const SIGNAL: &str = "segno:update/";

/// The name of the signal.
pub fn signal_name(update: &str) -> Text {
    Text::from(format!("{SIGNAL}{update}"))
}

/// The key of the signal, for a key of the sender: keys of other updates and of signals are others.
pub fn signal_key(update: &str, key: &str) -> Text {
    Text::from(format!("{SIGNAL}{update}/{key}"))
}

/// The payload of the signal: `{"promise": …, "input": …}`; none: `input` is no JSON.
pub fn payload(answer: &PromiseId, input: &str) -> Option<Value> {
    serde_json::from_str::<IgnoredAny>(input).ok()?;
    let answer = serde_json::Value::from(answer.as_str());
    let text = format!(r#"{{"promise":{answer},"input":{input}}}"#);
    Some(Value::of(text.into_bytes()))
}
