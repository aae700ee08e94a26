//! The fields of a command, in the form of a record and in readable form.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use segno_core::invocation::{CommandRequest, FieldValue, RequestField};
use segno_guest::{CallOptions, Outcome, Payload};
use serde_json::{Map, Value as Json, json};

use crate::values;

/// The names of fields whose values are texts that are not JSON.
const TEXTS: [&str; 8] =
    ["message", "undoes", "saga", "compensate", "unknown", "promise", "signal", "content-type"];

/// A list of fields. Values of fields whose names end in `_bytes` are bytes, all others are text.
#[derive(Default)]
pub struct CommandFields(Vec<(&'static str, Vec<u8>)>);

impl CommandFields {
    /// Adds a text.
    pub fn text(&mut self, name: &'static str, text: impl Into<Vec<u8>>) -> &mut Self {
        self.0.push((name, text.into()));
        self
    }

    /// Adds a number.
    pub fn number(&mut self, name: &'static str, number: u64) -> &mut Self {
        self.text(name, number.to_string())
    }

    /// Adds JSON.
    pub fn json(&mut self, name: &'static str, value: &Json) -> &mut Self {
        self.text(name, value.to_string())
    }

    /// Adds a payload. For bytes, the name of the field ends in `_bytes`.
    pub fn payload(&mut self, name: &'static str, payload: &Payload) -> &mut Self {
        match payload {
            Payload::Json(text) => self.text(name, text.as_bytes()),
            Payload::Bytes(bytes) => {
                let name = match name {
                    "input" => "input_bytes",
                    "body" => "body_bytes",
                    "success" => "success_bytes",
                    "details" => "details_bytes",
                    "value" => "value_bytes",
                    _ => "payload_bytes",
                };
                self.text(name, bytes.as_slice())
            }
        }
    }

    /// Adds the options of a call.
    pub fn options(&mut self, options: &CallOptions) -> &mut Self {
        if let Some(timeout) = options.timeout_ms {
            self.number("timeout_ms", timeout);
        }
        if let Some(start) = options.start_at_ms {
            self.number("start_at_ms", start);
        }
        if let Some(retry) = &options.retry {
            self.json("retry", &json!(retry));
        }
        if !options.labels.is_empty() {
            self.json("labels", &json!(options.labels));
        }
        self
    }

    /// Adds an outcome.
    pub fn outcome(&mut self, outcome: &Outcome) -> &mut Self {
        match outcome {
            Outcome::Success(value) => self.payload("success", value),
            Outcome::Failure(failure) => {
                self.number("code", u64::from(failure.code))
                    .text("message", failure.message.as_bytes());
                if let Some(details) = &failure.details {
                    self.payload("details", details);
                }
                self
            }
        }
    }

    /// The same fields with the id `from` replaced by `to` in all texts.
    pub fn renamed(self, from: &str, to: &str) -> Self {
        let renamed = |(name, value)| match String::from_utf8(value) {
            Ok(text) => (name, text.replace(from, to).into_bytes()),
            Err(bytes) => (name, bytes.into_bytes()),
        };
        Self(self.0.into_iter().map(renamed).collect())
    }

    /// The fields in the form of a record.
    pub fn into_request(self) -> CommandRequest {
        let fields: Vec<(&str, &[u8])> =
            self.0.iter().map(|(name, value)| (*name, value.as_slice())).collect();
        CommandRequest::of(&fields)
    }
}

/// A stored request as JSON for readers of the journal. Fields that are JSON stay JSON.
pub fn display(request: &CommandRequest) -> Json {
    let Some(fields) = request.fields() else {
        return json!({ "unreadable_bytes": request.as_bytes().len() });
    };
    let shown = fields.iter().map(|field| (field.name.to_string(), shown_field(field)));
    Json::Object(shown.collect::<Map<_, _>>())
}

/// A field as JSON for readers of the journal.
pub fn shown_field(RequestField { name, value }: &RequestField) -> Json {
    match value {
        FieldValue::Digest { len, digest } => json!({ "bytes": len, "sha256": digest.to_string() }),
        FieldValue::Inline(bytes) if TEXTS.contains(&name.as_str()) => {
            json!(String::from_utf8_lossy(bytes))
        }
        FieldValue::Inline(bytes) if name.ends_with("_bytes") => {
            json!({ "base64": BASE64_STANDARD.encode(bytes.as_slice()) })
        }
        FieldValue::Inline(bytes) => values::shown(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_texts_and_payloads_as_json() {
        for name in ["approved", "7", "null"] {
            let mut fields = CommandFields::default();
            fields.text("signal", name).payload("payload", &Payload::Json("7".to_owned()));
            let shown = display(&fields.into_request());
            assert_eq!(shown, json!({ "signal": name, "payload": 7 }), "{name}");
        }
    }
}
