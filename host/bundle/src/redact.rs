//! Hides values and keeps shapes: a redacted bundle can be shown to people who must not see the
//! data.
//!
//! | kept | replaced |
//! |---|---|
//! | ids, addresses, names of functions, steps, signals, streams, labels and fields, keys of JSON objects, lengths of lists, `true`, `false`, `null`, times, codes of failures, frames of code | texts: `x`, as many as the next power of two of their characters; whole numbers: `1`, as many as their digits; other numbers: 1.5; bytes: zeros, as many as the next power of two; messages and log lines as texts |

use std::sync::Arc;

use segno_core::{
    invocation::{CommandRequest, FieldValue, Outcome, Record, RecordBody, StepResult},
    promise::{Note, Promise, PromiseSpec, PromiseState, RepeatedTrap, Settlement, Task, TrapKey},
    tags,
    value::{Bytes, Payload, Tags, Text, Value},
};
use serde_json::{Number, Value as Json};

use super::{BundleExecution, BundleItem, BundleStreamItems};

/// Maximum number of digits of a replacement number: larger numbers are not exact in every
/// language.
const DIGITS: usize = 15;
/// The header with the media type; it is not treated as a value.
const CONTENT_TYPE: &str = "content-type";
/// Field with the function's name in a parameter.
const FUNCTION: &str = "func";

/// Type field of a failure as the value of a promise:
/// `{"__type": "error", "code": 409, "message": …}`.
const TYPE: &str = "__type";
const FAILURE: &str = "error";
const CODE: &str = "code";

/// The item with its values hidden. Names and content types of streams are kept. Modules and
/// components are unchanged: they are code.
pub fn redacted(item: BundleItem) -> BundleItem {
    match item {
        BundleItem::Execution(execution) => {
            BundleItem::Execution(Box::new(of_execution(*execution)))
        }
        BundleItem::Record(record) => BundleItem::Record(of_record(record)),
        BundleItem::Line(mut line) => {
            line.message = text(&line.message);
            BundleItem::Line(line)
        }
        BundleItem::StreamItems(items) => BundleItem::StreamItems(of_items(items)),
        // A blob of a redacted bundle has no content, and no reference to it is left.
        BundleItem::Blob(_)
        | BundleItem::BlobPiece(_)
        | BundleItem::Stream(_)
        | BundleItem::Module(_)
        | BundleItem::Component(_) => item,
    }
}

fn of_execution(execution: BundleExecution) -> BundleExecution {
    let BundleExecution { role, promise, task } = execution;
    let spec = &promise.spec;
    let mut param = value(&spec.param);
    keep_function(&spec.param, &mut param);
    let spec = PromiseSpec { param, tags: labels(&spec.tags), ..(**spec).clone() };
    let state = match &promise.state {
        PromiseState::Pending => PromiseState::Pending,
        PromiseState::Settled(settled) => PromiseState::Settled(Arc::new(Settlement {
            value: settled.value.as_ref().map(value),
            ..(**settled).clone()
        })),
    };
    let promise = Promise { spec: Arc::new(spec), state };
    BundleExecution { role, promise, task: task.map(of_task) }
}

fn of_task(mut task: Task) -> Task {
    task.note = task.note.map(|note| Note {
        kind: note.kind,
        message: text(&note.message),
        details: Bytes::default(),
    });
    task.traps = task.traps.map(|traps| RepeatedTrap {
        key: TrapKey { message: text(&traps.key.message), ..traps.key },
        count: traps.count,
    });
    task.progress.payload = task.progress.payload.as_ref().map(data);
    task
}

fn of_record(mut record: Record) -> Record {
    match &mut record.body {
        RecordBody::Started { input, .. } => *input = payload(input),
        RecordBody::Command { request, .. } => *request = of_request(request),
        RecordBody::Notified { outcome, .. } | RecordBody::Finished { outcome } => {
            if let Outcome::Inline(result) = outcome {
                *result = of_result(result);
            }
        }
        RecordBody::Signal { payload: told, .. } => *told = payload(told),
        RecordBody::Cancelled => {}
    }
    record
}

/// Messages stay as many as they were. Other data is hidden as one value an append, so that its
/// length, and the positions after it, are those of the hidden data.
fn of_items(items: BundleStreamItems) -> BundleStreamItems {
    if items.count == items.data.len() as u64 {
        let data = data(&items.data);
        return BundleStreamItems { count: data.len() as u64, data, ..items };
    }
    let messages = items.data.split_inclusive(|byte| *byte == b'\n');
    let hidden = messages.flat_map(|message| {
        let message = data_of(message.strip_suffix(b"\n").unwrap_or(message));
        message.into_iter().chain([b'\n'])
    });
    BundleStreamItems { data: Bytes::from(hidden.collect::<Vec<u8>>()), ..items }
}

fn of_result(result: &StepResult) -> StepResult {
    match result {
        StepResult::Empty => StepResult::Empty,
        StepResult::Value(value) => StepResult::Value(payload(value)),
        StepResult::Failure { code, message, details } => StepResult::Failure {
            code: *code,
            message: text(message),
            details: details.as_ref().map(payload),
        },
    }
}

/// The digest of a long value is removed: it would confirm a guess of the value.
fn of_request(request: &CommandRequest) -> CommandRequest {
    let Some(fields) = request.fields() else {
        return CommandRequest::verbatim(&[("hidden", &data_of(request.as_bytes()))]);
    };
    let fields: Vec<(Text, Vec<u8>)> = fields
        .into_iter()
        .map(|field| match &field.value {
            FieldValue::Inline(bytes) => (field.name, data_of(bytes)),
            FieldValue::Digest { len, .. } => {
                let len = usize::try_from(*len).unwrap_or(usize::MAX).min(1 << 20);
                (field.name, vec![0; len.next_power_of_two()])
            }
        })
        .collect();
    let fields: Vec<(&str, &[u8])> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
    CommandRequest::of(&fields)
}

/// Keeps the engine's marks and the names of labels, and hides the values of labels.
fn labels(tags: &Tags) -> Tags {
    let is_mark = |name: &str| tags::RESERVED.contains(&name) || name.starts_with("segno:");
    tags.iter()
        .map(|(name, value)| match is_mark(name) {
            true => (name.clone(), value.clone()),
            false => (name.clone(), masked(value)),
        })
        .collect()
}

fn value(value: &Value) -> Value {
    let headers = value.headers.iter().map(|(name, header)| {
        let is_mark = name == CONTENT_TYPE || name.starts_with("segno:");
        (name.clone(), if is_mark { header.clone() } else { masked(header) })
    });
    Value { headers: headers.collect(), data: data(&value.data) }
}

/// Restores the function's name in a parameter.
fn keep_function(before: &Value, after: &mut Value) {
    let (Ok(Json::Object(before)), Ok(Json::Object(mut hidden))) =
        (serde_json::from_slice(&before.data), serde_json::from_slice(&after.data))
    else {
        return;
    };
    if let Some(name) = before.get(FUNCTION) {
        hidden.insert(FUNCTION.to_owned(), name.clone());
        after.data = Bytes::from(Json::Object(hidden).to_string().into_bytes());
    }
}

fn payload(payload: &Payload) -> Payload {
    match payload {
        Payload::Json(json) => {
            let hidden = data_of(json.as_bytes());
            match String::from_utf8(hidden) {
                Ok(hidden) => Payload::Json(Text::from(hidden)),
                Err(_) => Payload::Json(Text::from("null")),
            }
        }
        Payload::Bytes(bytes) => Payload::Bytes(data(bytes)),
    }
}

fn data(bytes: &Bytes) -> Bytes {
    Bytes::from(data_of(bytes))
}

fn data_of(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    match serde_json::from_slice::<Json>(bytes) {
        Ok(json) => hidden(json).to_string().into_bytes(),
        Err(_) => match std::str::from_utf8(bytes) {
            Ok(text) => masked(text).into_bytes(),
            Err(_) => vec![0; bytes.len().next_power_of_two()],
        },
    }
}

fn hidden(json: Json) -> Json {
    match json {
        Json::Null | Json::Bool(_) => json,
        Json::Number(number) => Json::Number(number_like(&number)),
        Json::String(text) => Json::String(masked(&text)),
        Json::Array(items) => Json::Array(items.into_iter().map(hidden).collect()),
        Json::Object(fields) => {
            // The fields that identify a failure and its code: programs branch on them.
            let is_failure = fields.get(TYPE).and_then(Json::as_str) == Some(FAILURE);
            let field = |(name, value): (String, Json)| match name.as_str() {
                TYPE | CODE if is_failure => (name, value),
                _ => (name, hidden(value)),
            };
            Json::Object(fields.into_iter().map(field).collect())
        }
    }
}

fn number_like(number: &Number) -> Number {
    let text = number.to_string();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.as_str()),
    };
    if number.is_f64() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Number::from_f64(1.5 * f64::from(sign)).unwrap_or(number.clone());
    }
    let ones = (0..digits.len().min(DIGITS)).fold(0_i64, |ones, _| ones * 10 + 1);
    Number::from(ones * i64::from(sign))
}

fn text(text: &Text) -> Text {
    Text::from(masked(text))
}

fn masked(text: &str) -> String {
    match text.chars().count() {
        0 => String::new(),
        count => "x".repeat(count.next_power_of_two()),
    }
}

#[cfg(test)]
mod tests {
    use segno_core::id::Digest;
    use serde_json::json;

    use super::*;

    #[test]
    fn shapes_stay_and_values_go() {
        let before = json!({
            "name": "Ada", "age": 36, "debt": -1234, "rate": 0.25, "tags": ["one", "zwölf", ""],
            "member": true, "note": null,
        });
        let after = json!({
            "name": "xxxx", "age": 11, "debt": -1111, "rate": 1.5, "tags": ["xxxx", "xxxxxxxx", ""],
            "member": true, "note": null,
        });
        assert_eq!(hidden(before), after);
        let failure = json!({ "__type": "error", "code": 409, "message": "no" });
        let kept = json!({ "__type": "error", "code": 409, "message": "xx" });
        assert_eq!(hidden(failure), kept);
        assert_eq!(hidden(json!({ "code": 409 })), json!({ "code": 111 }), "of no failure");
        assert_eq!(data_of(&[0xff, 1, 2]), [0; 4]);
        assert_eq!(data_of(b"plain"), b"xxxxxxxx");
        assert!(data_of(b"").is_empty());
    }

    #[test]
    fn a_parameter_keeps_the_name_of_its_function() {
        let param = Value::of(&br#"{"func":"ship","args":["secret"]}"#[..]);
        let mut after = value(&param);
        keep_function(&param, &mut after);
        let after: Json = serde_json::from_slice(&after.data).expect("it is JSON");
        assert_eq!(after, json!({ "func": "ship", "args": ["xxxxxxxx"] }));
    }

    #[test]
    fn requests_keep_their_fields_and_no_digest() {
        let long = vec![b'a'; 300];
        let request = CommandRequest::of(&[("input", br#"{"card":"4111"}"#), ("body", &long)]);
        let fields = of_request(&request).fields().expect("it is a request");
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["input", "body"]);
        assert_eq!(fields[0].value, FieldValue::Inline(Bytes::from(&br#"{"card":"xxxx"}"#[..])));
        let digest = Digest::of(&vec![0; 512]);
        assert_eq!(fields[1].value, FieldValue::Digest { len: 512, digest });
    }

    #[test]
    fn labels_keep_their_names_and_marks_their_values() {
        let tags = Tags::from(
            [("target", "wasm://shop/order"), ("label:customer", "Ada"), ("segno:turn", "t")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let after = labels(&tags);
        assert_eq!(after["target"], "wasm://shop/order");
        assert_eq!(after["label:customer"], "xxxx");
        assert_eq!(after["segno:turn"], "t");
    }
}
