//! The encoding of values between promises and guests. It is the convention of the released
//! Resonate SDKs, so functions in other languages can call each other without an adapter.
//!
//! ```text
//! param of an invocation   {"func": "ship", "args": [INPUT]}     (no input: "args": [])
//! value, resolved          the output as plain JSON
//! value, rejected          {"__type": "error", "code": 402, "message": "card declined", "details": …}
//! bytes instead of JSON    data as it is, headers content-type: application/octet-stream, segno:func: ship
//! ```

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use segno_core::{
    address,
    budget::SpentBudget,
    json::{self, JsonError},
    promise::{Promise, RetryPolicy, Settlement, Verdict},
    saga::StepTags,
    value::{Bytes, Tags, Value},
};
use segno_guest::{Failure, Outcome, Payload, RetryOptions};
use serde_json::{Value as Json, json, value::RawValue};

/// The header with the name of the function if the data are not JSON.
const FUNCTION: &str = "segno:func";
const CONTENT_TYPE: &str = "content-type";
const BYTES: &str = "application/octet-stream";

/// The failure codes that the host itself uses.
pub mod code {
    /// The input or the request was invalid.
    pub const BAD_REQUEST: u32 = 400;
    /// It may not do that.
    pub const FORBIDDEN: u32 = 403;
    /// The function, promise or module does not exist.
    pub const NOT_FOUND: u32 = 404;
    /// A deadline passed.
    pub const TIMED_OUT: u32 = 408;
    /// The operation was refused, and a retry would not help.
    pub const REFUSED: u32 = 422;
    /// The operation was cancelled.
    pub const CANCELLED: u32 = 499;
    /// Any other failure.
    pub const FAILED: u32 = 500;
}

/// The outcome of a cancelled invocation that did not succeed.
pub fn cancelled() -> Outcome {
    Outcome::Failure(Failure { code: code::CANCELLED, message: "cancelled".into(), details: None })
}

/// The failure of a call that a budget with nothing left refuses.
pub fn budget_spent(spent: &SpentBudget) -> Failure {
    let details = Some(Payload::Json(spent.details()));
    Failure { code: SpentBudget::CODE, message: spent.to_string(), details }
}

/// The parameter of an invocation of `function`.
pub fn param(function: &str, input: &Payload, mut headers: Tags) -> Value {
    let data: Bytes = match input {
        Payload::Json(text) => {
            let mut data = String::with_capacity(function.len() + text.len() + 24);
            data.push_str("{\"func\":");
            data.push_str(&json!(function).to_string());
            data.push_str(",\"args\":[");
            match text.trim_ascii().is_empty() {
                true => data.push_str("null"),
                false => data.push_str(&embedded(text)),
            }
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

/// The parameter for external workers, whose functions take several arguments. A JSON array is the
/// argument list, and `null` is the empty list.
pub fn param_of_arguments(function: &str, input: &Payload, headers: Tags) -> Value {
    let Payload::Json(text) = input else { return param(function, input, headers) };
    let arguments = match text.trim_ascii() {
        "" | "null" => "[]",
        list if list.starts_with('[') => list,
        _ => return param(function, input, headers),
    };
    let (function, arguments) = (json!(function), embedded(arguments));
    let data = format!("{{\"func\":{function},\"args\":{arguments}}}");
    Value { headers, data: data.into_bytes().into() }
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

/// The input in the parameter of an invocation. One argument is returned as it is, in a list or
/// bare as the Rust client writes it. No argument is `null`, or the object of named arguments.
/// Several arguments are an array.
pub fn input(param: &Value) -> Payload {
    #[derive(serde::Deserialize)]
    struct Call<'a> {
        #[serde(borrow, default)]
        func: Option<&'a RawValue>,
        #[serde(borrow, default)]
        args: Option<&'a RawValue>,
        #[serde(borrow, default)]
        kwargs: Option<&'a RawValue>,
    }
    if param.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == BYTES) {
        return Payload::Bytes(param.data.to_vec());
    }
    let Ok(call) = serde_json::from_slice::<Call<'_>>(&param.data) else {
        return foreign_input(param);
    };
    let args = match call.args.map(RawValue::get) {
        None | Some("null") => Vec::new(),
        Some(args) => match serde_json::from_str::<Vec<&RawValue>>(args) {
            Ok(args) => args,
            Err(_) if call.func.is_some() => return Payload::Json(args.to_owned()),
            Err(_) => return foreign_input(param),
        },
    };
    match args.as_slice() {
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
    }
}

/// The input in a parameter of another program. A text that is not JSON counts as bytes.
fn foreign_input(param: &Value) -> Payload {
    match pasted(&param.data) {
        Some(text) => Payload::Json(text.to_owned()),
        None => match payload(param) {
            Payload::Json(text) if json::read(text.as_bytes()).is_err() => {
                Payload::Bytes(text.into_bytes())
            }
            payload => payload,
        },
    }
}

/// The input in a parameter in which an older host embedded a text that is not JSON.
fn pasted(data: &[u8]) -> Option<&str> {
    let rest = std::str::from_utf8(data).ok()?.strip_prefix("{\"func\":")?;
    let mut names = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    names.next()?.ok()?;
    rest[names.byte_offset()..].strip_prefix(",\"args\":[")?.strip_suffix("]}")
}

/// A guest's JSON, embedded in other JSON. A text that is not JSON, which an older host recorded,
/// is marked.
fn embedded(text: &str) -> Cow<'_, str> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(shown(text.as_bytes()).to_string()),
    }
}

/// A value in the guest's form.
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

/// A guest's payload in the form of promises.
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
        Payload::Json(text) => shown(text.as_bytes()),
        Payload::Bytes(bytes) => json!({ "bytes": bytes }),
    });
    // SDKs in other languages recognise the first field and raise an error with the message.
    let mut body = json!({ "__type": "error", "code": failure.code, "message": failure.message });
    if let Some(details) = details {
        body["details"] = details;
    }
    Value { headers: Tags::new(), data: body.to_string().into_bytes().into() }
}

/// The failure in the value of a rejected promise. Values written by other SDKs are kept completely
/// in `details`.
pub fn failure(value: Option<&Value>) -> Failure {
    #[derive(serde::Deserialize)]
    struct FailureBody {
        code: Option<u32>,
        message: Option<String>,
        details: Option<Json>,
    }
    let Some(value) = value else {
        return Failure {
            code: code::FAILED,
            message: "rejected without a reason".into(),
            details: None,
        };
    };
    match serde_json::from_slice::<FailureBody>(&value.data) {
        Ok(FailureBody { code: Some(code), message, details }) => Failure {
            code,
            message: message.unwrap_or_default(),
            details: details.map(|details| Payload::Json(details.to_string())),
        },
        Ok(FailureBody { code: None, message: Some(message), .. }) => {
            Failure { code: code::FAILED, message, details: Some(payload(value)) }
        }
        _ => Failure {
            code: code::FAILED,
            message: "rejected".into(),
            details: Some(payload(value)),
        },
    }
}

/// The outcome of a promise in the guest's form. `None` if it is pending.
///
/// For a step of a saga, the codes 408 and 499 mean that its effect is unknown. A step that reports
/// one of these codes itself knows its effect, so the code becomes `REFUSED`.
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

/// The outcome that a guest receives the first time. An external value is refused if it is not
/// JSON, since its protocol does not check that. A replay repeats the recorded outcome instead.
pub fn first_told(promise: &Promise) -> Option<Outcome> {
    let told = told(promise)?;
    let is_ours = promise.target().is_some_and(address::is_internal);
    if !is_ours
        && let Outcome::Success(Payload::Json(text)) = &told
        && let Err(reason) = json::check(text)
    {
        return Some(Outcome::Failure(Failure {
            code: code::REFUSED,
            message: format!("the value of promise `{}` is not JSON: {reason}", promise.id()),
            details: None,
        }));
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
        Verdict::Canceled => match &settlement.value {
            Some(value) if !value.data.is_empty() => {
                Outcome::Failure(Failure { code: code::CANCELLED, ..failure(Some(value)) })
            }
            _ => cancelled(),
        },
        Verdict::TimedOut => Outcome::Failure(Failure {
            code: code::TIMED_OUT,
            message: "timed out".into(),
            details: None,
        }),
    }
}

/// The verdict and the value of a promise whose invocation has this outcome.
pub fn verdict(outcome: &Outcome) -> (Verdict, Value) {
    match outcome {
        Outcome::Success(payload) => (Verdict::Resolved, value(payload)),
        Outcome::Failure(failure) if failure.code == code::CANCELLED => {
            (Verdict::Canceled, failure_value(failure))
        }
        Outcome::Failure(failure) => (Verdict::Rejected, failure_value(failure)),
    }
}

/// The state of an object's promise, in the form of the guest contract. `None`: the promise is
/// pending. A value that cannot be read is a failure.
pub fn standing(outcome: Option<Outcome>) -> Outcome {
    let text = match outcome {
        None => "null".to_owned(),
        Some(Outcome::Success(Payload::Json(text))) => match json::check(&text) {
            Ok(()) => format!("{{\"resolved\":{text}}}"),
            Err(reason) => {
                return Outcome::Failure(Failure {
                    code: code::FAILED,
                    message: format!("the value of the promise is not JSON: {reason}"),
                    details: None,
                });
            }
        },
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

/// A payload as JSON. Bytes become an object that marks them.
///
/// # Errors
/// An older host stored the payload unchecked, and it is not JSON.
pub fn read_json(payload: &Payload) -> Result<Json, JsonError> {
    match payload {
        Payload::Json(text) if text.trim_ascii().is_empty() => Ok(Json::Null),
        Payload::Json(text) => json::read(text.as_bytes()),
        Payload::Bytes(bytes) => Ok(json!({ "base64": BASE64_STANDARD.encode(bytes) })),
    }
}

/// A payload as readable JSON, see [`shown`].
pub fn payload_json(payload: &Payload) -> Json {
    match payload {
        Payload::Json(text) => shown(text.as_bytes()),
        Payload::Bytes(bytes) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
    }
}

/// Stored bytes as readable JSON. JSON is unchanged, and empty bytes are `null`. Anything else is
/// marked so that it cannot be mistaken for a value: a text as `{"not_json": TEXT, "reason": …}`,
/// bytes as `{"base64": …}`.
pub fn shown(bytes: &[u8]) -> Json {
    if bytes.trim_ascii().is_empty() {
        return Json::Null;
    }
    json::read(bytes).unwrap_or_else(|reason| match std::str::from_utf8(bytes) {
        Ok(text) => json!({ "not_json": text, "reason": reason.to_string() }),
        Err(_) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
    })
}

/// Parses the retry policy of a call, from the header
/// [`tags::RETRY_HEADER`](segno_core::tags::RETRY_HEADER).
///
/// # Errors
/// A message, if the policy cannot be parsed.
pub fn read_policy(header: &str) -> Result<RetryPolicy, String> {
    serde_json::from_str(header)
        .map_err(|error| format!("the retry policy of the call cannot be read: {error}"))
}

/// The retry options of a guest, as a policy of the core.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Payload {
        Payload::Json(text.to_owned())
    }

    #[test]
    fn an_input_comes_back_from_its_parameter_digit_by_digit() {
        for text in ["123456789012345678901234567890", "{\"a\": [1.50, 1e400]}", "[1, 2]", "\"é\""]
        {
            let stored = param("ship", &json(text), Tags::new());
            assert_eq!(input(&stored), json(text));
        }
        let listed = param_of_arguments("f", &json("[10000000000000000000001, 1.0]"), Tags::new());
        assert_eq!(&*listed.data, br#"{"func":"f","args":[10000000000000000000001, 1.0]}"#);
        for nothing in ["", " ", "null"] {
            let stored = param_of_arguments("f", &json(nothing), Tags::new());
            assert_eq!(&*stored.data, br#"{"func":"f","args":[]}"#);
        }
    }

    #[test]
    fn one_argument_may_be_written_without_a_list() {
        for (param, found) in [
            (r#"{"func":"f","args":21}"#, "21"),
            (r#"{"func":"f","args":{"n":1.50}}"#, r#"{"n":1.50}"#),
            (r#"{"func":"f","args":"ž"}"#, "\"ž\""),
            (r#"{"func":"f","args":null}"#, "null"),
            (r#"{"func":"f","args":[[1, 2]]}"#, "[1, 2]"),
            // A parameter of another program that is not a call.
            (r#"{"args":21}"#, r#"{"args":21}"#),
        ] {
            assert_eq!(input(&Value::of(param.as_bytes())), json(found), "{param}");
        }
    }

    #[test]
    fn what_an_older_host_stored_is_read_as_what_it_is() {
        // An older host embedded the text without a check.
        let old = Value::of(&br#"{"func":"a\"b","args":[NaN]}"#[..]);
        assert_eq!(input(&old), json("NaN"));
        assert!(read_json(&input(&old)).is_err());
        let marked = json!({ "not_json": "NaN", "reason": "NaN at column 1" });
        assert_eq!(payload_json(&input(&old)), marked);
        assert_eq!(input(&Value::of(&b"plain"[..])), Payload::Bytes(b"plain".to_vec()));
        assert_eq!(input(&Value::default()), json("null"));
        // The text is never embedded again.
        let again = param("f", &json("NaN"), Tags::new());
        assert_eq!(input(&again), json(&marked.to_string()));
        let details = Some(json("NaN"));
        let failed = Failure { code: 1, message: "no".to_owned(), details };
        assert_eq!(failure(Some(&failure_value(&failed))).details, Some(json(&marked.to_string())));
        let half = r#"{"name":"Ann \ud83d"}"#;
        assert_eq!(payload_json(&json(half))["not_json"], half);
        let standing = standing(Some(Outcome::Success(json(half))));
        assert!(
            matches!(standing, Outcome::Failure(failure) if failure.message.contains("half of"))
        );
        assert_eq!(shown(b""), Json::Null);
        assert_eq!(shown(&[0xff]), json!({ "base64": "/w==" }));
    }
}
