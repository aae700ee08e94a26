//! Journal entries in the form in which Restate's server writes them in `entry_json`. Payloads are
//! lists of bytes. The completion id of a command is the index of the command.

use segno_restate::wire::OperationOutcome;
use serde_json::{Value as Json, json};

/// The command with the input.
pub(super) fn of_input(payload: &[u8]) -> Json {
    json!({ "Command": { "Input": { "headers": [], "payload": payload, "name": "" } } })
}

/// The command with the output.
pub(super) fn of_output(outcome: Option<&OperationOutcome>) -> Json {
    json!({ "Command": { "Output": { "result": result(outcome), "name": "" } } })
}

/// A command. `frame` is its frame as shown elsewhere, `callee` the id of the called invocation.
pub(super) fn of_command(
    kind: &str,
    index: u32,
    name: &str,
    frame: &Json,
    callee: Option<&str>,
) -> Json {
    let called = || callee.and_then(|callee| request(frame, callee));
    let mut command = match kind {
        "Sleep" => json!({ "wake_up_time": frame.get("until_ms"), "completion_id": index }),
        "Call" => json!({
            "request": called(), "invocation_id_completion_id": index, "result_completion_id": index,
        }),
        "OneWayCall" => json!({
            "request": called(), "invoke_time": 0, "invocation_id_completion_id": index,
        }),
        "SetState" => json!({ "key": bytes(frame.get("key")), "value": bytes(frame.get("value")) }),
        "ClearState" => json!({ "key": bytes(frame.get("key")) }),
        "ClearAllState" => json!({}),
        "GetLazyState" | "GetEagerState" => {
            json!({ "key": bytes(frame.get("key")), "completion_id": index })
        }
        "CompleteAwakeable" => json!({ "id": frame.get("id") }),
        "SendSignal" => json!({ "target_invocation_id": frame.get("invocation") }),
        "GetPromise" | "PeekPromise" | "CompletePromise" => {
            json!({ "key": frame.get("key"), "completion_id": index })
        }
        _ => json!({ "completion_id": index }),
    };
    command["name"] = name.into();
    json!({ "Command": { kind: command } })
}

/// The completion of a command.
pub(super) fn of_completion(kind: &str, index: u32, outcome: Option<&OperationOutcome>) -> Json {
    let mut completion = json!({ "completion_id": index });
    if kind != "Sleep" {
        completion["result"] = result(outcome);
    }
    json!({ "Notification": { "Completion": { kind: completion } } })
}

/// A signal. Awakeables and cancellations have numeric names.
pub(super) fn of_signal(name: &str, outcome: Option<&OperationOutcome>) -> Json {
    let id = match name.parse::<u32>() {
        Ok(number) => json!({ "Index": number }),
        Err(_) => json!({ "Name": name }),
    };
    json!({ "Notification": { "Signal": { "id": id, "result": result(outcome) } } })
}

fn result(outcome: Option<&OperationOutcome>) -> Json {
    match outcome {
        None => json!("Void"),
        Some(OperationOutcome::Success(value)) => json!({ "Success": value.to_vec() }),
        Some(OperationOutcome::Failure(failure)) => json!({
            "Failure": { "code": failure.code, "message": failure.message, "metadata": [] },
        }),
    }
}

/// A value of a frame as a list of bytes: the bytes of a text, or the JSON of any other value.
fn bytes(value: Option<&Json>) -> Json {
    match value {
        None => json!([]),
        Some(Json::String(text)) => json!(text.as_bytes()),
        Some(other) => json!(other.to_string().as_bytes()),
    }
}

fn request(frame: &Json, callee: &str) -> Option<Json> {
    let (service, handler) = (frame.get("service")?, frame.get("handler")?);
    let target = match frame.get("key") {
        None => json!({ "Service": { "name": service, "handler": handler } }),
        Some(key) => json!({
            "VirtualObject": {
                "name": service, "key": key, "handler": handler, "handler_ty": "Exclusive",
                "scope": null,
            },
        }),
    };
    let input = frame.get("input").map(Json::to_string).unwrap_or_default();
    let (trace, span) = ([0; 16], [0; 8]);
    let no_time = json!({ "secs": 0, "nanos": 0 });
    Some(json!({
        "invocation_id": callee,
        "invocation_target": target,
        "span_context": {
            "span_context": {
                "trace_id": trace, "span_id": span, "trace_flags": 0, "is_remote": false,
                "trace_state": "",
            },
            "cause": null,
        },
        "parameter": input.as_bytes(),
        "headers": [],
        "idempotency_key": null,
        "completion_retention_duration": no_time,
        "journal_retention_duration": no_time,
    }))
}
