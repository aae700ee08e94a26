//! Commands of journals in the form in which the command of Restate reads them: of calls and sleeps it takes whom they
//! call, and until when, from there. Of what it does not look at there is a value of its kind.

use serde_json::{Value as Json, json};

/// A command in that form; none: it reads nothing in it. `frame` is the command as it is shown elsewhere.
pub fn of_command(kind: &str, frame: &Json, callee: Option<&str>) -> Option<Json> {
    let command = match kind {
        "Sleep" => {
            json!({ "wake_up_time": frame.get("until_ms")?, "completion_id": 0, "name": "" })
        }
        "Call" => json!({
            "request": request(frame, callee?)?,
            "invocation_id_completion_id": 0, "result_completion_id": 0, "name": "",
        }),
        "OneWayCall" => json!({
            "request": request(frame, callee?)?,
            "invoke_time": 0, "invocation_id_completion_id": 0, "name": "",
        }),
        _ => return None,
    };
    Some(json!({ "Command": { kind: command } }))
}

fn request(frame: &Json, callee: &str) -> Option<Json> {
    let (service, handler) = (frame.get("service")?, frame.get("handler")?);
    let target = match frame.get("key") {
        None => json!({ "Service": { "name": service, "handler": handler } }),
        Some(key) => json!({
            "VirtualObject": {
                "name": service, "key": key, "handler": handler, "handler_ty": "Exclusive",
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
