//! Stand-ins for functions and for HTTP servers.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};

use super::{blobs::TestBlobs, files::MemoryFiles};
use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
    http::Response,
    payload::{self, Payload},
};

/// A stand-in for a function, with its types erased.
pub(super) type FunctionDouble = Box<dyn FnMut(&Payload) -> wit::Outcome + Send>;

type HttpDouble = Box<dyn FnMut(&SeenRequest) -> Result<Response> + Send>;

/// A request that was sent in a test.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    request: wit::HttpRequest,
}

impl SeenRequest {
    pub(super) fn new(request: wit::HttpRequest) -> Self {
        Self { request }
    }

    /// The method, as the workflow wrote it.
    pub fn method(&self) -> &str {
        &self.request.method
    }

    /// The whole address.
    pub fn url(&self) -> &str {
        &self.request.url
    }

    /// The first header of this name, case-insensitive. A durable request carries
    /// `Idempotency-Key`, as on a host.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.request.headers.iter();
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body parsed as JSON.
    ///
    /// # Errors
    /// Code 400 if the body is not a `T`, or is missing.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        let none = Payload::Json(String::new());
        payload::decode("the body of the request", self.request.body.as_ref().unwrap_or(&none))
    }
}

/// All stand-ins of a test.
#[derive(Default)]
pub(super) struct Doubles {
    pub(super) functions: BTreeMap<String, FunctionDouble>,
    web: Vec<(String, String, HttpDouble)>,
    pub(super) requests: Vec<SeenRequest>,
    pub(super) heartbeats: Vec<Payload>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) secrets: BTreeMap<String, String>,
    pub(super) files: MemoryFiles,
    pub(super) blobs: TestBlobs,
}

impl Doubles {
    pub(super) fn add_function<In: DeserializeOwned, Out: Serialize>(
        &mut self,
        name: &str,
        mut answer: impl FnMut(In) -> Result<Out> + Send + 'static,
    ) {
        let what = format!("the input of `{name}`");
        let double = move |input: &Payload| {
            let answered = payload::decode(&what, input).and_then(&mut answer);
            match answered.and_then(|value| payload::encode("the output of a stand-in", &value)) {
                Ok(payload) => wit::Outcome::Success(payload),
                Err(error) => wit::Outcome::Failure(error.into_failure()),
            }
        };
        self.functions.insert(name.to_owned(), Box::new(double));
    }

    pub(super) fn add_web(
        &mut self,
        method: &str,
        url: &str,
        answer: impl FnMut(&SeenRequest) -> Result<Response> + Send + 'static,
    ) {
        self.web.push((method.to_owned(), url.to_owned(), Box::new(answer)));
    }

    /// Answers a request by the stand-in with the longest matching address; of equal ones, by the
    /// newest.
    pub(super) fn answer_web(&mut self, request: wit::HttpRequest) -> Result<Response> {
        let seen = SeenRequest::new(request);
        self.requests.push(seen.clone());
        let matching = self.web.iter_mut().filter(|(method, url, _)| {
            method.eq_ignore_ascii_case(seen.method()) && seen.url().starts_with(url.as_str())
        });
        match matching.max_by_key(|(_, url, _)| url.len()) {
            Some((_, _, answer)) => answer(&seen),
            None => Err(Error::terminal(
                Error::REFUSED,
                format!(
                    "this test has no answer to {method} {url}: add `test.on_http(\"{method}\", \"{url}\", |request| …)`",
                    method = seen.method(),
                    url = seen.url()
                ),
            )),
        }
    }
}
