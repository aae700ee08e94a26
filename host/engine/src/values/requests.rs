//! HTTP requests that hosts send, as the parameter of `segno:http`:
//! `{"method": "POST", "url": "…", "headers": [["name", "value"], …], "body": …}`. A body of bytes
//! is `{"base64": "…"}`, and a missing body is null. A JSON body that looks like one of these has
//! `"body_is_json": true` beside it.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use segno_core::value::{Tags, Value};
use segno_guest::{HttpRequest, Payload};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value as Json, json};

use super::{input, param, payload_json};
use crate::target::HTTP;

/// The parameter of a step that sends this request.
pub fn request_param(request: &HttpRequest, headers: Tags) -> Value {
    let mut step = json!({
        "method": request.method,
        "url": request.url,
        "headers": request.headers,
        "body": request.body.as_ref().map(payload_json),
    });
    let body = &step["body"];
    if matches!(request.body, Some(Payload::Json(_)))
        && (body.is_null() || marks_bytes(body).is_some())
    {
        step["body_is_json"] = json!(true);
    }
    param(HTTP, &Payload::Json(step.to_string()), headers)
}

/// The request in the parameter of a step.
///
/// # Errors
/// A message, if the parameter is not a request.
pub fn request(param: &Value) -> Result<HttpRequest, String> {
    let Payload::Json(step) = input(param) else {
        return Err("the parameter of an HTTP step is JSON".to_owned());
    };
    let step: HttpStepParameter = serde_json::from_str(&step)
        .map_err(|error| format!("the parameter of an HTTP step is wrong: {error}"))?;
    let HttpStepParameter { method, url, headers, body, body_is_json } = step;
    let body = match body {
        body if body_is_json => Some(Payload::Json(body.unwrap_or_default().to_string())),
        body => body.map(body_of),
    };
    Ok(HttpRequest { method, url, headers, body })
}

#[derive(Deserialize)]
struct HttpStepParameter {
    method: String,
    url: String,
    #[serde(default, deserialize_with = "headers")]
    headers: Vec<(String, String)>,
    body: Option<Json>,
    #[serde(default)]
    body_is_json: bool,
}

/// Accepts a list of pairs, or an object of texts by name, which plans use.
fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    let value = Json::deserialize(deserializer)?;
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let pair = |pair: &Json| match pair.as_array().map(Vec::as_slice) {
        Some([name, value]) => Some((text(name)?, text(value)?)),
        _ => None,
    };
    let read: Option<Vec<_>> = match &value {
        Json::Null => Some(Vec::new()),
        Json::Array(list) => list.iter().map(pair).collect(),
        Json::Object(by_name) => {
            by_name.iter().map(|(name, value)| Some((name.clone(), text(value)?))).collect()
        }
        Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    };
    read.ok_or_else(|| {
        de::Error::custom(format!(
            "the headers are {value}: write a list of pairs of texts, or an object of texts"
        ))
    })
}

/// Decodes a body. An object with the single field `base64` marks bytes.
fn body_of(body: Json) -> Payload {
    match marks_bytes(&body).map(|text| BASE64_STANDARD.decode(text)) {
        Some(Ok(bytes)) => Payload::Bytes(bytes),
        Some(Err(_)) | None => Payload::Json(body.to_string()),
    }
}

fn marks_bytes(body: &Json) -> Option<&str> {
    body.as_object().filter(|object| object.len() == 1)?.get("base64")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let bodies = [
            None,
            Some(Payload::Bytes(vec![0xff, 0])),
            Some(Payload::Json(r#"{"base64":"AA==","name":"a.bin"}"#.to_owned())),
            Some(Payload::Json(r#"{"base64":"AA=="}"#.to_owned())),
            Some(Payload::Json("null".to_owned())),
            Some(Payload::Json("[123456789012345678901234567890,1.50]".to_owned())),
        ];
        for body in bodies {
            let headers = vec![("x-shop".to_owned(), "north".to_owned())];
            let (method, url) = ("POST".to_owned(), "http://pay/".to_owned());
            let sent = HttpRequest { method, url, headers, body };
            let read = request(&request_param(&sent, Tags::new())).expect("it is one");
            assert_eq!(format!("{read:?}"), format!("{sent:?}"));
        }
    }

    #[test]
    fn headers_are_pairs_or_an_object_and_anything_else_is_named() {
        let read = |headers: Json| {
            let step = json!({ "method": "GET", "url": "http://a", "headers": headers });
            let param = param(HTTP, &Payload::Json(step.to_string()), Tags::new());
            request(&param).map(|request| request.headers)
        };
        let pair = vec![("a".to_owned(), "b".to_owned())];
        assert_eq!(read(json!({ "a": "b" })), Ok(pair.clone()));
        assert_eq!(read(json!([["a", "b"]])), Ok(pair));
        let refused = read(json!({ "a": 7 })).expect_err("no text");
        assert!(refused.contains(r#"the headers are {"a":7}"#), "{refused}");
    }
}
