//! Journals of a test in the form in which a host shows them: `GET /v1/invocations/{id}/journal`.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

use super::{recorder::TestRecord, replay::WorkflowHistory};
use crate::{
    bindings::segno::workflow::{sagas, types as wit},
    journal::WorkflowCommand,
    payload::Payload,
};

/// Maximum size of a field that is shown, in bytes. Of a longer one the size is shown.
const INLINE_BYTES_MAX: usize = 256;

/// The records of an execution, oldest first.
pub(super) fn records(history: &WorkflowHistory) -> Vec<Value> {
    let mut shown = vec![json!({
        "kind": "started", "name": history.name, "request": value(&history.input),
    })];
    let mut instants = vec![history.facts.started_at_ms];
    let mut now_ms = history.facts.started_at_ms;
    let mut index = 0;
    for record in &history.records {
        if let TestRecord::Told { at_ms, .. } = record {
            now_ms = now_ms.max(*at_ms);
        }
        let mut one = show(record, now_ms);
        if one["kind"] == "command" {
            one["index"] = json!(index);
            index += 1;
        }
        shown.push(one);
        instants.push(now_ms);
    }
    for (seq, (record, at_ms)) in shown.iter_mut().zip(instants).enumerate() {
        record["seq"] = json!(seq);
        record["at_ms"] = json!(at_ms);
    }
    shown
}

fn show(record: &TestRecord, now_ms: u64) -> Value {
    match record {
        TestRecord::Asked(request) => {
            let (kind, name, fields) = command(request, now_ms);
            named(kind, &name, fields)
        }
        TestRecord::Ran(name) => named("run", name, Map::new()),
        TestRecord::Unread(signals) => {
            named("unread", &signals.len().to_string(), fields([("signals", json!(signals))]))
        }
        TestRecord::Continued(next) => {
            let mut shown = fields([("input", field(&next.input))]);
            if next.same_code {
                shown.insert("same_code".to_owned(), json!(true));
            }
            named("continue-as-new", "", shown)
        }
        TestRecord::Told { event, .. } => match event {
            wit::Event::Completed(completion) => json!({
                "kind": "notified", "index": completion.command,
                "outcome": outcome(&completion.outcome),
            }),
            wit::Event::Signal(signal) => json!({
                "kind": "signal", "name": signal.name,
                "outcome": { "value": value(&signal.payload) },
            }),
            wit::Event::Cancelled => json!({ "kind": "cancelled" }),
        },
        TestRecord::Finished(ended) => {
            json!({ "kind": "finished", "outcome": outcome(ended) })
        }
        TestRecord::HandedOver => json!({ "kind": "finished", "outcome": {} }),
    }
}

fn named(kind: &str, name: &str, request: Map<String, Value>) -> Value {
    let mut shown = json!({ "kind": "command", "command": kind, "request": request });
    if !name.is_empty() {
        shown["name"] = json!(name);
    }
    shown
}

/// The kind, the name and the other fields of a command.
fn command(request: &WorkflowCommand, now_ms: u64) -> (&'static str, String, Map<String, Value>) {
    let none = String::new;
    match request {
        WorkflowCommand::Call { function, input, options, step } => {
            let declared = step.as_ref().map(|step| &step.declared);
            let shown = called(input, options, None).into_iter().chain(saga_step(declared));
            ("call", function.clone(), shown.collect())
        }
        WorkflowCommand::Send { function, input, options, when } => {
            let start = when.map(|when| when.resolve(now_ms));
            ("send", function.clone(), called(input, options, start))
        }
        WorkflowCommand::Sleep { when } => {
            ("sleep", none(), fields([("until_ms", json!(when.resolve(now_ms)))]))
        }
        WorkflowCommand::Promise { name, options } => {
            let limit = options.timeout_ms.map(|limit| ("timeout_ms", json!(limit)));
            ("promise", name.clone().unwrap_or_default(), fields(limit))
        }
        WorkflowCommand::Settle { promise, outcome } => {
            ("settle", promise.clone(), settlement(outcome))
        }
        WorkflowCommand::Http { request, options, step } => {
            let declared = step.as_ref().map(|step| &step.declared);
            let mut shown = Map::new();
            if !request.headers.is_empty() {
                shown.insert("headers".to_owned(), short(json!(request.headers)));
            }
            if let Some(body) = &request.body {
                shown.insert(payload_name("body", body), field(body));
            }
            shown.extend(options_of(options, None));
            shown.extend(saga_step(declared));
            ("http", format!("{} {}", request.method, request.url), shown)
        }
        WorkflowCommand::Cancel { command } => {
            ("cancel", none(), fields([("command", json!(command))]))
        }
        WorkflowCommand::Publish { topic, payload } => {
            ("publish", topic.clone(), payload_fields("payload", payload))
        }
        WorkflowCommand::Undo { step, input, options } => {
            let mut shown = called(input, options, None);
            shown.insert("undoes".to_owned(), json!(step.saga));
            shown.insert("seq".to_owned(), json!(step.seq));
            ("call", step.compensate.clone(), shown)
        }
        WorkflowCommand::Ask { step } => ("promise", none(), saga_step(Some(step))),
        WorkflowCommand::GetState { name } => ("get-state", name.clone(), Map::new()),
        WorkflowCommand::StateNames => ("state-keys", none(), Map::new()),
        WorkflowCommand::SetState { name, value } => {
            ("set-state", name.clone(), payload_fields("value", value))
        }
        WorkflowCommand::ClearState { name } => ("clear-state", name.clone(), Map::new()),
        WorkflowCommand::ClearAllState => ("clear-all-state", none(), Map::new()),
        WorkflowCommand::WaitObjectPromise { name } => {
            ("wait-object-promise", name.clone(), Map::new())
        }
        WorkflowCommand::PeekObjectPromise { name } => {
            ("peek-object-promise", name.clone(), Map::new())
        }
        WorkflowCommand::SettleObjectPromise { name, outcome } => {
            ("settle-object-promise", name.clone(), settlement(outcome))
        }
        WorkflowCommand::SendSignal { invocation, name, payload } => {
            let mut shown = payload_fields("payload", payload);
            shown.insert("signal".to_owned(), json!(name));
            ("send-signal", invocation.clone(), shown)
        }
        WorkflowCommand::AppendStream { name, content_type, item } => {
            let mut shown = fields([("content-type", json!(content_type))]);
            shown.extend(payload_fields("item", item));
            ("append-stream", name.clone(), shown)
        }
        WorkflowCommand::CloseStream { name, content_type } => {
            ("close-stream", name.clone(), fields([("content-type", json!(content_type))]))
        }
    }
}

fn fields(given: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn called(
    input: &Payload,
    options: &wit::CallOptions,
    start_ms: Option<u64>,
) -> Map<String, Value> {
    payload_fields("input", input).into_iter().chain(options_of(options, start_ms)).collect()
}

fn options_of(options: &wit::CallOptions, start_ms: Option<u64>) -> Map<String, Value> {
    let mut shown = Map::new();
    if let Some(limit) = options.timeout_ms {
        shown.insert("timeout_ms".to_owned(), json!(limit));
    }
    if let Some(start) = start_ms.or(options.start_at_ms) {
        shown.insert("start_at_ms".to_owned(), json!(start));
    }
    if let Some(retry) = &options.retry {
        let policy = json!({
            "initial_ms": retry.initial_ms, "factor": retry.factor, "max_ms": retry.max_ms,
            "jitter": retry.jitter, "max_attempts": retry.max_attempts,
            "non_retryable": retry.non_retryable,
        });
        shown.insert("retry".to_owned(), short(policy));
    }
    if !options.labels.is_empty() {
        shown.insert("labels".to_owned(), short(json!(options.labels)));
    }
    shown
}

fn saga_step(step: Option<&sagas::Step>) -> Map<String, Value> {
    let Some(sagas::Step { saga, seq, compensate, compensate_unknown }) = step else {
        return Map::new();
    };
    let mut shown =
        fields([("saga", json!(saga)), ("seq", json!(seq)), ("compensate", json!(compensate))]);
    if *compensate_unknown {
        shown.insert("unknown".to_owned(), json!("compensate"));
    }
    shown
}

/// The fields of the outcome with which a command settles a promise.
fn settlement(outcome: &wit::Outcome) -> Map<String, Value> {
    match outcome {
        wit::Outcome::Success(payload) => payload_fields("success", payload),
        wit::Outcome::Failure(failure) => {
            let mut shown =
                fields([("code", json!(failure.code)), ("message", short(json!(failure.message)))]);
            if let Some(details) = &failure.details {
                shown.extend(payload_fields("details", details));
            }
            shown
        }
    }
}

fn payload_fields(name: &str, payload: &Payload) -> Map<String, Value> {
    [(payload_name(name, payload), field(payload))].into_iter().collect()
}

fn payload_name(name: &str, payload: &Payload) -> String {
    match payload {
        Payload::Json(_) => name.to_owned(),
        Payload::Bytes(_) => format!("{name}_bytes"),
    }
}

/// A payload in a command: its value, or its size if it is long.
fn field(payload: &Payload) -> Value {
    let length = match payload {
        Payload::Json(json) => json.len(),
        Payload::Bytes(bytes) => bytes.len(),
    };
    if length > INLINE_BYTES_MAX { json!({ "bytes": length }) } else { value(payload) }
}

/// A field that is no payload of the author's.
fn short(value: Value) -> Value {
    let length = value.as_str().map_or_else(|| value.to_string().len(), str::len);
    if length > INLINE_BYTES_MAX { json!({ "bytes": length }) } else { value }
}

/// A value, as the host shows it.
fn value(payload: &Payload) -> Value {
    match payload {
        Payload::Json(json) => serde_json::from_str(json).unwrap_or(Value::Null),
        Payload::Bytes(bytes) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
    }
}

/// An outcome, as the host shows it. A null is left out.
fn outcome(outcome: &wit::Outcome) -> Value {
    match outcome {
        wit::Outcome::Success(payload) => match value(payload) {
            Value::Null => json!({}),
            value => json!({ "value": value }),
        },
        wit::Outcome::Failure(failure) => {
            let mut shown = json!({ "code": failure.code, "message": failure.message });
            if let Some(details) = &failure.details {
                shown["details"] = value(details);
            }
            json!({ "failure": shown })
        }
    }
}
