//! HTTP requests and responses, shared by workflows (durable) and activities (one attempt).

mod body;
mod lines;

use std::{collections::BTreeMap, fmt};

use base64::{Engine, prelude::BASE64_STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
    payload::{self, Payload},
};

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use body::TestBody;
pub use body::{Events, Lines, OpenResponse};
pub use lines::ServerEvent;

/// A request.
///
/// ```
/// # extern crate segno_sdk as segno;
/// # use segno::http::Request;
/// let request = Request::post("http://localhost:9000/charges")
///     .header("x-shop", "north")
///     .json(&serde_json::json!({ "amount_cents": 1200 }));
/// # let _ = request;
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Result<Option<Payload>>,
}

impl Request {
    /// Creates a request with any method.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self { method: method.into(), url: url.into(), headers: Vec::new(), body: Ok(None) }
    }

    /// Creates a request `GET url`.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// Creates a request `POST url`.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// Creates a request `PUT url`.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new("PUT", url)
    }

    /// Creates a request `DELETE url`.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new("DELETE", url)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body to `value` as JSON, with its content type. A value that cannot be encoded
    /// fails the request, not this call.
    #[must_use]
    pub fn json<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        self.body =
            payload::encode(&format!("the body of {} {}", self.method, self.url), value).map(Some);
        self.header("content-type", "application/json")
    }

    /// Sets the body to these bytes.
    #[must_use]
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = Ok(Some(Payload::Bytes(bytes.into())));
        self
    }

    pub(crate) fn into_wit(self) -> Result<wit::HttpRequest> {
        let Self { method, url, headers, body } = self;
        Ok(wit::HttpRequest { method, url, headers, body: body? })
    }
}

/// Formats a request, for example as `POST http://localhost:9000/charges`.
impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.method, self.url)
    }
}

/// A request that was sent, as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sent {
    /// The method.
    pub method: String,
    /// The address.
    pub url: String,
    /// The headers; a secret is still the name of one.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body, if it was JSON.
    #[serde(default)]
    pub body: Option<serde_json::Value>,
}

impl Sent {
    pub(crate) fn of(request: &wit::HttpRequest) -> Self {
        let wit::HttpRequest { method, url, headers, body } = request;
        let body = match body {
            Some(Payload::Json(text)) => serde_json::from_str(text).ok(),
            Some(Payload::Bytes(_)) | None => None,
        };
        Self { method: method.clone(), url: url.clone(), headers: headers.clone(), body }
    }
}

/// A response with any status. As data it is `{"status", "headers", "body"}`; a body that is not
/// UTF-8 is `"body_base64"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "EncodedResponse", into = "EncodedResponse")]
#[schemars(with = "EncodedResponse")]
pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Sizes of the pieces in which the body arrives in a test. Empty if it arrives whole.
    piece_sizes: Vec<usize>,
    /// The error with which the body breaks off in a test.
    broken: Option<Error>,
}

impl Response {
    /// Creates a response for tests.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { status, headers: Vec::new(), body, piece_sizes: Vec::new(), broken: None }
    }

    /// Creates a response for tests whose body arrives in these pieces.
    pub fn in_pieces<P: Into<Vec<u8>>>(status: u16, pieces: impl IntoIterator<Item = P>) -> Self {
        let pieces: Vec<Vec<u8>> = pieces.into_iter().map(Into::into).collect();
        let piece_sizes = pieces.iter().map(Vec::len).collect();
        Self { piece_sizes, ..Self::new(status, pieces.concat()) }
    }

    /// Breaks the body off with `error` after its bytes, for tests.
    #[must_use]
    pub fn with_broken_body(mut self, error: Error) -> Self {
        self.broken = Some(error);
        self
    }

    /// Creates a response with a JSON body for tests.
    ///
    /// # Panics
    /// If `value` cannot be written as JSON.
    pub fn with_json<T: Serialize + ?Sized>(status: u16, value: &T) -> Self {
        Self::new(
            status,
            serde_json::to_vec(value).expect("the value of a test's answer can be written as JSON"),
        )
    }

    /// Adds a header, for tests.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The HTTP status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns true for a status from 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The value of the first header of this name, case-insensitive.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The body as bytes.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body parsed as JSON.
    ///
    /// # Errors
    /// Code 400 if the body is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        payload::decode("the body of the answer", &Payload::Bytes(self.body.clone()))
    }

    /// Returns the response if its status is a success.
    ///
    /// # Errors
    /// Otherwise an error with its status as the code (which decides if it is final) and the
    /// beginning of its body.
    pub fn ok(self) -> Result<Self> {
        if self.is_success() {
            return Ok(self);
        }
        let beginning: String = self.text().chars().take(200).collect();
        Err(Error::with_code(
            u32::from(self.status),
            format!("HTTP status {}: {beginning}", self.status),
        ))
    }

    pub(crate) fn from_wit(response: wit::HttpResponse) -> Self {
        let wit::HttpResponse { status, headers, body } = response;
        Self { headers, ..Self::new(status, body) }
    }

    /// The response as a whole.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn into_wit(self) -> Result<wit::HttpResponse> {
        let Self { status, headers, body, broken, .. } = self;
        broken.map_or(Ok(wit::HttpResponse { status, headers, body }), Err)
    }

    /// Status and headers, and the body in pieces.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn into_parts(self) -> (u16, Vec<(String, String)>, TestBody) {
        let Self { status, headers, mut body, piece_sizes, broken } = self;
        let mut pieces = Vec::new();
        for size in piece_sizes {
            let rest = body.split_off(size);
            pieces.push(std::mem::replace(&mut body, rest));
        }
        pieces.push(body);
        (status, headers, TestBody::new(pieces, broken))
    }

    /// Decodes the completion of a durable request.
    pub(crate) fn decode(payload: Payload) -> Result<Self> {
        payload::decode("the answer of a request", &payload)
    }

    /// Encodes the completion of a durable request, as the host does.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn encode(mut self) -> Result<Payload> {
        if let Some(broken) = self.broken.take() {
            return Err(broken);
        }
        payload::encode("the answer of a request", &self)
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut headers = headers.iter();
    headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

impl TryFrom<EncodedResponse> for Response {
    type Error = base64::DecodeError;

    fn try_from(answer: EncodedResponse) -> std::result::Result<Self, Self::Error> {
        let body = match (answer.body, answer.body_base64) {
            (Some(text), _) => text.into_bytes(),
            (None, Some(text)) => BASE64_STANDARD.decode(text)?,
            (None, None) => Vec::new(),
        };
        let headers = match answer.headers {
            Headers::Map(map) => map.into_iter().collect(),
            Headers::Pairs(pairs) => pairs,
        };
        Ok(Self { headers, ..Self::new(answer.status, body) })
    }
}

impl From<Response> for EncodedResponse {
    fn from(response: Response) -> Self {
        let (body, body_base64) = match String::from_utf8(response.body) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(BASE64_STANDARD.encode(error.into_bytes()))),
        };
        let map: BTreeMap<String, String> = response.headers.iter().cloned().collect();
        let headers = match map.len() == response.headers.len() {
            true => Headers::Map(map),
            false => Headers::Pairs(response.headers),
        };
        Self { status: response.status, headers, body, body_base64 }
    }
}

/// The completion of a durable request, in the host's encoding.
#[derive(Serialize, Deserialize, JsonSchema)]
struct EncodedResponse {
    status: u16,
    #[serde(default)]
    headers: Headers,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

/// Headers as an object, or as pairs, which may repeat a name.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Headers {
    Map(BTreeMap<String, String>),
    Pairs(Vec<(String, String)>),
}

impl Default for Headers {
    fn default() -> Self {
        Self::Pairs(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_the_crossing_as_text_and_as_bytes() {
        for body in [b"hello".to_vec(), vec![0xff, 0x00]] {
            let answer =
                Response { headers: vec![("a".into(), "b".into())], ..Response::new(201, body) };
            assert_eq!(Response::decode(answer.clone().encode().unwrap()).unwrap(), answer);
        }
    }

    #[test]
    fn headers_may_come_as_an_object() {
        let payload = Payload::Json(
            r#"{"status":200,"headers":{"Content-Type":"text/plain"},"body":"x"}"#.into(),
        );
        assert_eq!(Response::decode(payload).unwrap().header("content-type"), Some("text/plain"));
    }

    #[test]
    fn a_status_that_is_no_success_is_an_error_with_that_code() {
        assert!(Response::new(204, "").ok().is_ok());
        let error = Response::new(402, "no money").ok().unwrap_err();
        assert_eq!((error.code(), error.is_final()), (402, true));
        assert!(!Response::new(503, "").ok().unwrap_err().is_final());
    }
}
