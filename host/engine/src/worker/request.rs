//! What a command asks for, as named fields: so that a replay compares requests as bytes, and a divergence names the
//! field that differs. Options that were not given make no field.

use segno_core::{
    invocation::{CommandKind, FieldValue, Request},
    value::Text,
};
use serde_json::{Map, Value as Json, json};

use segno_guest::{Ask, CallOptions, Outcome, Payload};

/// A command of the guest as it is compared and stored; `None` for asks that make no command.
pub fn command(ask: &Ask) -> Option<(CommandKind, Text, Request)> {
    let mut fields = Fields::default();
    let (kind, name) = match ask {
        Ask::Call { function, input, options } => {
            fields.payload("input", input).options(options);
            (CommandKind::Call, Text::from(function.as_str()))
        }
        Ask::Send { function, input, options } => {
            fields.payload("input", input).options(options);
            (CommandKind::Send, Text::from(function.as_str()))
        }
        Ask::SleepUntil { time_ms } => {
            fields.number("until_ms", *time_ms);
            (CommandKind::Sleep, Text::default())
        }
        Ask::Promise { name, options } => {
            if let Some(timeout) = options.timeout_ms {
                fields.number("timeout_ms", timeout);
            }
            (CommandKind::Promise, name.as_deref().map(Text::from).unwrap_or_default())
        }
        Ask::Settle { promise_id, outcome } => {
            fields.outcome(outcome);
            (CommandKind::Settle, Text::from(promise_id.as_str()))
        }
        Ask::Http { request, options } => {
            if !request.headers.is_empty() {
                fields.json("headers", &json!(request.headers));
            }
            if let Some(body) = &request.body {
                fields.payload("body", body);
            }
            fields.options(options);
            (CommandKind::Http, Text::from(format!("{} {}", request.method, request.url)))
        }
        Ask::Cancel { command } => {
            fields.number("command", u64::from(*command));
            (CommandKind::Cancel, Text::default())
        }
        Ask::Publish { topic, payload } => {
            fields.payload("payload", payload);
            (CommandKind::Publish, Text::from(topic.as_str()))
        }
        Ask::Run { name } => (CommandKind::Run, Text::from(name.as_str())),
        Ask::Forget { .. }
        | Ask::RunDone { .. }
        | Ask::Now
        | Ask::Log { .. }
        | Ask::Finish { .. } => {
            return None;
        }
    };
    Some((kind, name, fields.into_request()))
}

/// Fields as they are collected. Values of fields whose names end in `_bytes` are bytes, all others are text.
#[derive(Default)]
struct Fields(Vec<(&'static str, Vec<u8>)>);

impl Fields {
    fn text(&mut self, name: &'static str, text: impl Into<Vec<u8>>) -> &mut Self {
        self.0.push((name, text.into()));
        self
    }

    fn number(&mut self, name: &'static str, number: u64) -> &mut Self {
        self.text(name, number.to_string())
    }

    fn json(&mut self, name: &'static str, value: &Json) -> &mut Self {
        self.text(name, value.to_string())
    }

    fn payload(&mut self, name: &'static str, payload: &Payload) -> &mut Self {
        match payload {
            Payload::Json(text) => self.text(name, text.as_bytes()),
            Payload::Bytes(bytes) => {
                let name = match name {
                    "input" => "input_bytes",
                    "body" => "body_bytes",
                    "success" => "success_bytes",
                    "details" => "details_bytes",
                    _ => "payload_bytes",
                };
                self.text(name, bytes.as_slice())
            }
        }
    }

    fn options(&mut self, options: &CallOptions) -> &mut Self {
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

    fn outcome(&mut self, outcome: &Outcome) -> &mut Self {
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

    fn into_request(self) -> Request {
        let fields: Vec<(&str, &[u8])> =
            self.0.iter().map(|(name, value)| (*name, value.as_slice())).collect();
        Request::of(&fields)
    }
}

/// A stored request in words, for the journal's readers: JSON where a field is JSON.
pub fn display(request: &Request) -> Json {
    let Some(fields) = request.fields() else {
        return json!({ "unreadable_bytes": request.as_bytes().len() });
    };
    let shown = fields.into_iter().map(|field| {
        let value = match &field.value {
            FieldValue::Digest { len, digest } => {
                json!({ "bytes": len, "sha256": digest.to_string() })
            }
            FieldValue::Inline(bytes) if field.name.ends_with("_bytes") => json!(bytes.as_slice()),
            FieldValue::Inline(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                serde_json::from_str(&text).unwrap_or_else(|_| json!(text))
            }
        };
        (field.name.to_string(), value)
    });
    Json::Object(shown.collect::<Map<_, _>>())
}
