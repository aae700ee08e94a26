//! Responses to the host's HTTP requests, in the guest's form:
//! `{"status": 200, "headers": {…}, "body": "…"}`. Bytes that are not text are in `body_base64`
//! instead.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use segno_guest::{HttpResponse, Payload};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

/// The guest's form of a response.
pub fn response_value(response: HttpResponse) -> Payload {
    let headers: Map<String, Json> = response
        .headers
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), json!(value)))
        .collect();
    let mut answer = json!({ "status": response.status, "headers": headers });
    match String::from_utf8(response.body) {
        Ok(text) => answer["body"] = json!(text),
        Err(bytes) => answer["body_base64"] = json!(BASE64_STANDARD.encode(bytes.as_bytes())),
    }
    Payload::Json(answer.to_string())
}

/// The response in a guest's value. `None` if the value is not a response.
pub fn response(told: &Payload) -> Option<HttpResponse> {
    #[derive(Deserialize)]
    struct HttpResponseBody {
        status: u16,
        #[serde(default)]
        headers: std::collections::BTreeMap<String, String>,
        body: Option<String>,
        body_base64: Option<String>,
    }
    let Payload::Json(text) = told else { return None };
    let HttpResponseBody { status, headers, body, body_base64 } =
        serde_json::from_str(text).ok()?;
    let body = match (body, body_base64) {
        (Some(text), _) => text.into_bytes(),
        (None, Some(bytes)) => BASE64_STANDARD.decode(bytes).ok()?,
        (None, None) => Vec::new(),
    };
    Some(HttpResponse { status, headers: headers.into_iter().collect(), body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_told() {
        for body in [b"{\"a\": 1}".to_vec(), vec![0xff, 0], Vec::new()] {
            let headers = vec![("x-shop".to_owned(), "north".to_owned())];
            let sent = HttpResponse { status: 201, headers, body };
            let told = response_value(sent.clone());
            let read = response(&told).expect("it is one");
            assert_eq!(
                (read.status, read.headers, read.body),
                (sent.status, sent.headers, sent.body)
            );
        }
        assert!(response(&Payload::Json("7".to_owned())).is_none());
        assert!(response(&Payload::Bytes(vec![1])).is_none());
    }
}
