//! How values cross between promises and guests: the convention of the released Resonate SDKs, so
//! that functions in other languages call each other without an adapter.
//!
//! ```text
//! param of an invocation   {"func": "ship", "args": [INPUT]}     (no input: "args": [])
//! value, resolved          the output as plain JSON
//! value, rejected          {"__type": "error", "code": 402, "message": "card declined", "details": …}
//! bytes instead of JSON    data as it is, headers content-type: application/octet-stream, segno:func: ship
//! ```

use base64::prelude::{BASE64_STANDARD, Engine as _};
use segno_core::{
    promise::{Promise, RetryPolicy, Settlement, Verdict},
    saga::StepTags,
    value::{Bytes, Tags, Value},
};
use segno_guest::{Failure, Outcome, Payload, RetryOptions};
use serde_json::json;

/// The header that names the function when the data are not JSON.
const FUNCTION: &str = "segno:func";
const CONTENT_TYPE: &str = "content-type";
const BYTES: &str = "application/octet-stream";

/// Failure codes that the host itself gives.
pub mod code {
    /// The input or the request was wrong.
    pub const BAD_REQUEST: u32 = 400;
    /// No such function, promise or module.
    pub const NOT_FOUND: u32 = 404;
    /// A deadline passed.
    pub const TIMED_OUT: u32 = 408;
    /// It was refused for good.
    pub const REFUSED: u32 = 422;
    /// Something was cancelled.
    pub const CANCELLED: u32 = 499;
    /// Anything else.
    pub const FAILED: u32 = 500;
}

/// The parameter of an invocation of `function`.
pub fn param(function: &str, input: &Payload, mut headers: Tags) -> Value {
    let data: Bytes = match input {
        Payload::Json(text) => {
            let mut data = String::with_capacity(function.len() + text.len() + 24);
            data.push_str("{\"func\":");
            data.push_str(&json!(function).to_string());
            data.push_str(",\"args\":[");
            data.push_str(if text.trim().is_empty() { "null" } else { text });
            data.push_str("]}");
            data.into_bytes().into()
        }
        Payload::Bytes(bytes) => {
            headers.insert(CONTENT_TYPE.into(), BYTES.into());
            headers.insert(FUNCTION.into(), function.into());
            bytes.as_slice().into()
        }
    };
    Value { headers, data }
}

/// The parameter of an invocation of the same function with another input.
pub fn param_again(before: &Value, input: &Payload) -> Value {
    let function = function(before).unwrap_or_default();
    let mut headers = before.headers.clone();
    headers.remove(CONTENT_TYPE);
    headers.remove(FUNCTION);
    param(&function, input, headers)
}

/// The same for external workers, whose functions take several arguments: a JSON array is the
/// argument list, `null` is the empty one.
pub fn param_of_arguments(function: &str, input: &Payload, headers: Tags) -> Value {
    let arguments = match input {
        Payload::Json(text) => serde_json::from_str::<serde_json::Value>(text).ok(),
        Payload::Bytes(_) => None,
    };
    let arguments = match arguments {
        Some(list @ serde_json::Value::Array(_)) => list,
        Some(serde_json::Value::Null) => json!([]),
        Some(_) | None => return param(function, input, headers),
    };
    let data = json!({ "func": function, "args": arguments });
    Value { headers, data: data.to_string().into_bytes().into() }
}

/// The name of the function in the parameter of an invocation.
pub fn function(param: &Value) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Call {
        func: String,
    }
    if let Some(name) = param.headers.get(FUNCTION) {
        return Some(name.clone());
    }
    let call = serde_json::from_slice::<Call>(&param.data).ok()?;
    Some(call.func).filter(|name| !name.is_empty())
}

/// The input in the parameter of an invocation: one argument as it is, none as `null` or as the
/// object of named arguments, several as an array.
pub fn input(param: &Value) -> Payload {
    use serde_json::value::RawValue;
    #[derive(serde::Deserialize)]
    struct Call<'a> {
        #[serde(borrow, default)]
        args: Vec<&'a RawValue>,
        #[serde(borrow, default)]
        kwargs: Option<&'a RawValue>,
    }
    if param.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == BYTES) {
        return Payload::Bytes(param.data.to_vec());
    }
    match serde_json::from_slice::<Call<'_>>(&param.data) {
        Ok(call) => match call.args.as_slice() {
            [] => match call.kwargs.map(RawValue::get) {
                Some(named) if named.starts_with('{') && named != "{}" => {
                    Payload::Json(named.to_owned())
                }
                Some(_) | None => Payload::Json("null".into()),
            },
            [one] => Payload::Json(one.get().to_owned()),
            many => {
                let args: Vec<&str> = many.iter().map(|arg| arg.get()).collect();
                Payload::Json(format!("[{}]", args.join(",")))
            }
        },
        Err(_) => payload(param),
    }
}

/// A value as a guest sees it.
pub fn payload(value: &Value) -> Payload {
    if value.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == BYTES) {
        return Payload::Bytes(value.data.to_vec());
    }
    match std::str::from_utf8(&value.data) {
        Ok("") => Payload::Json("null".into()),
        Ok(text) => Payload::Json(text.to_owned()),
        Err(_) => Payload::Bytes(value.data.to_vec()),
    }
}

/// A guest's payload as a promise keeps it.
pub fn value(payload: &Payload) -> Value {
    match payload {
        Payload::Json(text) => Value { headers: Tags::new(), data: text.as_bytes().into() },
        Payload::Bytes(bytes) => Value {
            headers: Tags::from([(CONTENT_TYPE.into(), BYTES.into())]),
            data: bytes.as_slice().into(),
        },
    }
}

/// A failure as the value of a rejected promise.
pub fn failure_value(failure: &Failure) -> Value {
    let details = failure.details.as_ref().map(|details| match details {
        Payload::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        Payload::Bytes(bytes) => json!({ "bytes": bytes }),
    });
    // SDKs in other languages recognise the first field and raise an error with the message.
    let mut body = json!({ "__type": "error", "code": failure.code, "message": failure.message });
    if let Some(details) = details {
        body["details"] = details;
    }
    Value { headers: Tags::new(), data: body.to_string().into_bytes().into() }
}

/// The failure in the value of a rejected promise. Values that other SDKs wrote are kept whole in
/// `details`.
pub fn failure(value: Option<&Value>) -> Failure {
    #[derive(serde::Deserialize)]
    struct Body {
        code: Option<u32>,
        message: Option<String>,
        details: Option<serde_json::Value>,
    }
    let Some(value) = value else {
        return Failure {
            code: code::FAILED,
            message: "rejected without a reason".into(),
            details: None,
        };
    };
    match serde_json::from_slice::<Body>(&value.data) {
        Ok(Body { code: Some(code), message, details }) => Failure {
            code,
            message: message.unwrap_or_default(),
            details: details.map(|details| Payload::Json(details.to_string())),
        },
        Ok(Body { code: None, message: Some(message), .. }) => {
            Failure { code: code::FAILED, message, details: Some(payload(value)) }
        }
        _ => Failure {
            code: code::FAILED,
            message: "rejected".into(),
            details: Some(payload(value)),
        },
    }
}

/// The outcome that a guest is told of a promise; none if it is pending.
///
/// Of a step of a saga, codes 408 and 499 say that nobody knows whether it acted. So a step that
/// says them itself, and knows, is told as refused.
pub fn told(promise: &Promise) -> Option<Outcome> {
    let settlement = promise.settlement()?;
    let mut told = outcome(settlement);
    if let Outcome::Failure(failure) = &mut told
        && settlement.verdict == Verdict::Rejected
        && matches!(failure.code, code::TIMED_OUT | code::CANCELLED)
        && StepTags::of(&promise.spec.tags).is_some()
    {
        failure.code = code::REFUSED;
    }
    Some(told)
}

/// The outcome of a settlement.
pub fn outcome(settlement: &Settlement) -> Outcome {
    match settlement.verdict {
        Verdict::Resolved => Outcome::Success(
            settlement.value.as_ref().map_or_else(|| Payload::Json("null".into()), payload),
        ),
        Verdict::Rejected => Outcome::Failure(failure(settlement.value.as_ref())),
        Verdict::Canceled => Outcome::Failure(match &settlement.value {
            Some(value) if !value.data.is_empty() => {
                Failure { code: code::CANCELLED, ..failure(Some(value)) }
            }
            _ => Failure { code: code::CANCELLED, message: "cancelled".into(), details: None },
        }),
        Verdict::TimedOut => Outcome::Failure(Failure {
            code: code::TIMED_OUT,
            message: "timed out".into(),
            details: None,
        }),
    }
}

/// The verdict and value that an invocation's outcome gives its promise.
pub fn verdict(outcome: &Outcome) -> (Verdict, Value) {
    match outcome {
        Outcome::Success(payload) => (Verdict::Resolved, value(payload)),
        Outcome::Failure(failure) if failure.code == code::CANCELLED => {
            (Verdict::Canceled, failure_value(failure))
        }
        Outcome::Failure(failure) => (Verdict::Rejected, failure_value(failure)),
    }
}

/// How a promise of an object with this outcome stands, as the contract says it. None: nobody has
/// settled it.
pub fn standing(outcome: Option<Outcome>) -> Outcome {
    let text = match outcome {
        None => "null".to_owned(),
        // A text of JSON is repeated as it is: it may hold numbers that a parser would change.
        Some(Outcome::Success(Payload::Json(text)))
            if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() =>
        {
            format!("{{\"resolved\":{text}}}")
        }
        Some(Outcome::Success(Payload::Json(text))) => json!({ "resolved": text }).to_string(),
        Some(Outcome::Success(Payload::Bytes(bytes))) => {
            json!({ "resolved_base64": BASE64_STANDARD.encode(bytes) }).to_string()
        }
        Some(Outcome::Failure(Failure { code, message, details })) => {
            let details = details.as_ref().map(payload_json);
            let rejected = json!({ "code": code, "message": message, "details": details });
            json!({ "rejected": rejected }).to_string()
        }
    };
    Outcome::Success(Payload::Json(text))
}

/// A payload as JSON: bytes become an object that marks them.
pub fn payload_json(payload: &Payload) -> serde_json::Value {
    match payload {
        Payload::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        Payload::Bytes(bytes) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
    }
}

/// The retry options of a guest as the core's policy.
pub fn policy(options: &RetryOptions) -> RetryPolicy {
    RetryPolicy {
        initial_ms: options.initial_ms,
        factor: options.factor,
        max_ms: options.max_ms,
        jitter: options.jitter,
        max_attempts: options.max_attempts,
        non_retryable: options.non_retryable.clone(),
    }
}
