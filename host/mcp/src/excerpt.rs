//! A JSON value of bounded size.

use schemars::JsonSchema;
use segno_model::{FailureView, OutcomeView};
use serde::Serialize;
use serde_json::Value;

/// Default size of a value that is shown whole, in bytes of JSON.
pub(crate) const VALUE_BYTES: u32 = 1_000;
/// Maximum size of a value that is shown whole, in bytes of JSON.
const VALUE_BYTES_MAX: u32 = 64 * 1024;

/// A JSON value, or the beginning of a long one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Excerpt {
    /// The value, if it is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// Beginning of the JSON text of a long value; a higher `max_value_bytes` shows the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    beginning: Option<String>,
    /// Size of the JSON text of a long value, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
}

impl Excerpt {
    /// The value if its JSON text has at most `max_bytes` bytes, otherwise its beginning.
    pub(crate) fn new(value: Value, max_bytes: Option<u32>) -> Self {
        let max_bytes = max_bytes.unwrap_or(VALUE_BYTES).min(VALUE_BYTES_MAX) as usize;
        let text = value.to_string();
        if text.len() <= max_bytes {
            return Self { value: Some(value), beginning: None, bytes: None };
        }
        let beginning = text[..text.floor_char_boundary(max_bytes)].to_owned();
        Self { value: None, beginning: Some(beginning), bytes: Some(text.len()) }
    }

    /// The value in one line.
    pub(crate) fn line(&self) -> String {
        match (&self.value, &self.beginning, self.bytes) {
            (Some(value), ..) => value.to_string(),
            (None, Some(beginning), bytes) => {
                format!("{beginning}… ({} bytes)", bytes.unwrap_or_default())
            }
            (None, None, _) => "null".to_owned(),
        }
    }
}

/// A value or a failure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct OutcomeExcerpt {
    /// The value, if successful.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Excerpt>,
    /// The failure, if not successful.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FailureText>,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FailureText {
    /// The code; 400 to 599 have the same meaning as in HTTP.
    code: u32,
    /// The message: its first 2,000 bytes.
    message: String,
}

impl OutcomeExcerpt {
    pub(crate) fn new(outcome: OutcomeView, max_bytes: Option<u32>) -> Self {
        Self {
            value: outcome.value.map(|value| Excerpt::new(value, max_bytes)),
            failure: outcome.failure.map(FailureText::from),
        }
    }

    /// The outcome in one line.
    pub(crate) fn line(&self) -> String {
        match (&self.failure, &self.value) {
            (Some(failure), _) => failure.line(),
            (None, Some(value)) => value.line(),
            (None, None) => "null".to_owned(),
        }
    }
}

impl FailureText {
    /// The failure in one line.
    pub(crate) fn line(&self) -> String {
        format!("failed with code {}: {}", self.code, self.message)
    }
}

impl From<FailureView> for FailureText {
    fn from(failure: FailureView) -> Self {
        Self { code: failure.code, message: cut(failure.message, 2_000) }
    }
}

/// The text, without the part beyond `max_bytes` bytes.
pub(crate) fn cut(text: String, max_bytes: usize) -> String {
    match text.len() <= max_bytes {
        true => text,
        false => format!("{}…", &text[..text.floor_char_boundary(max_bytes)]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let short = Excerpt::new(json!({"a": 1}), None);
        assert_eq!(short.line(), "{\"a\":1}");
        let long = Excerpt::new(json!("é".repeat(50)), Some(10));
        assert_eq!(long.line(), "\"éééé… (102 bytes)");
        assert_eq!(Excerpt::new(json!("é".repeat(50)), Some(200)).bytes, None);
    }
}
