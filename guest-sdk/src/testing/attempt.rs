//! The attempts of one activity, stand-in or request in a test.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use super::{
    doubles::Doubles,
    recorder::{TestState, lock},
    streams,
};
use crate::{
    attempt,
    attempt_operations::AttemptOperations,
    bindings::segno::workflow::{files, http_bodies::ResponseHead, types as wit},
    blob::BlobOperations,
    error::{Error, is_final},
    files::FileSystem,
    function::Entry,
    http::{Response, TestBody},
    payload::Payload,
    retry::RetryPolicy,
};

/// Number of attempts that counts as an endless loop.
const ATTEMPT_LIMIT: u32 = 1_000;

/// Maximum number of responses that an attempt may have open, as on a host.
const OPEN_RESPONSES_MAX: usize = 16;

/// The subject of an attempt.
pub(super) enum AttemptSubject {
    Activity(Entry),
    /// A stand-in for an activity, by its name.
    Double(String),
    /// A stand-in for a workflow, by its name; its failure is final.
    Final(String),
    Http(wit::HttpRequest),
}

pub(super) struct PlannedAttempt {
    body: AttemptSubject,
    input: Payload,
    /// The id of the call, which is also its idempotency key.
    key: String,
    retry: wit::RetryOptions,
    attempt: u32,
    progress: Arc<Mutex<Option<Payload>>>,
}

impl PlannedAttempt {
    /// Creates a call in a test; `default` is the function's own retry policy.
    pub(super) fn new(
        body: AttemptSubject,
        input: Payload,
        key: String,
        options: &wit::CallOptions,
        default: Option<wit::RetryOptions>,
    ) -> Self {
        let retry = options
            .retry
            .clone()
            .or(default)
            .unwrap_or_else(|| RetryPolicy::default().into_options());
        Self { body, input, key, retry, attempt: 0, progress: Arc::default() }
    }

    /// Runs one attempt. Returns the outcome, or the delay in milliseconds before the next attempt.
    pub(super) fn attempt(
        &mut self,
        now_ms: u64,
        doubles: &Arc<Mutex<Doubles>>,
        common: &Arc<Mutex<TestState>>,
    ) -> Result<wit::Outcome, u64> {
        self.attempt += 1;
        if !matches!(self.body, AttemptSubject::Final(_))
            && let Err(spent) = lock(common).budgets.begin(&self.key)
        {
            return Ok(wit::Outcome::Failure(spent));
        }
        let outcome = self.outcome(now_ms, doubles, common);
        let wit::Outcome::Failure(failure) = &outcome else { return Ok(outcome) };
        let last = self.retry.max_attempts.is_some_and(|most| self.attempt >= most);
        let final_ = is_final(failure.code) || self.retry.non_retryable.contains(&failure.code);
        if final_ || last || matches!(self.body, AttemptSubject::Final(_)) {
            return Ok(outcome);
        }
        assert!(
            self.attempt < ATTEMPT_LIMIT,
            "{} failed {ATTEMPT_LIMIT} times and its retry policy has no end; the last time: {}",
            self.key,
            failure.message,
        );
        let exponent = i32::try_from(self.attempt - 1).unwrap_or(i32::MAX);
        let wait = self.retry.initial_ms as f64 * self.retry.factor.powi(exponent);
        Err((wait as u64).min(self.retry.max_ms))
    }

    fn outcome(
        &self,
        now_ms: u64,
        doubles: &Arc<Mutex<Doubles>>,
        common: &Arc<Mutex<TestState>>,
    ) -> wit::Outcome {
        match &self.body {
            AttemptSubject::Activity(entry) => {
                let facts = wit::ActivityContext {
                    invocation: self.key.clone(),
                    idempotency_key: self.key.clone(),
                    fence_token: u64::from(self.attempt),
                    attempt: self.attempt,
                    last_progress: lock(&self.progress).clone(),
                    started_at_ms: now_ms,
                    deadline_ms: None,
                };
                let (doubles, common, progress) =
                    (doubles.clone(), common.clone(), self.progress.clone());
                let secrets = lock(&doubles).secrets.clone();
                let (key, refused) = (self.key.clone(), Arc::default());
                let attempt = TestAttempt {
                    key,
                    doubles,
                    common,
                    progress,
                    responses: Mutex::default(),
                    refused: Arc::clone(&refused),
                };
                let outcome = attempt::perform(
                    Some(entry),
                    entry.name,
                    &self.input,
                    facts,
                    Box::new(attempt),
                );
                let outcome = match (outcome, lock(&refused).take()) {
                    (wit::Outcome::Success(_), Some(refused)) => wit::Outcome::Failure(refused),
                    (outcome, _) => outcome,
                };
                without(&secrets, entry.name, outcome)
            }
            AttemptSubject::Double(name) | AttemptSubject::Final(name) => {
                let mut doubles = lock(doubles);
                let double = doubles.functions.get_mut(name).expect("stand-ins are never removed");
                double(&self.input)
            }
            AttemptSubject::Http(request) => {
                let mut request = request.clone();
                let has_key = request
                    .headers
                    .iter()
                    .any(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"));
                if !has_key {
                    request.headers.push(("Idempotency-Key".to_owned(), self.key.clone()));
                }
                let what = format!("{} {}", request.method, request.url);
                let answer = lock(doubles).answer_web(request);
                match answer.and_then(|answer| durable(&what, answer)) {
                    Ok(payload) => wit::Outcome::Success(payload),
                    Err(error) => wit::Outcome::Failure(error.into_failure()),
                }
            }
        }
    }
}

/// Refuses a result that contains a secret, like the host.
fn without(
    secrets: &BTreeMap<String, String>,
    function: &str,
    outcome: wit::Outcome,
) -> wit::Outcome {
    let wit::Outcome::Success(Payload::Json(text)) = &outcome else { return outcome };
    let Some((name, _)) = secrets.iter().find(|(_, value)| text.contains(*value)) else {
        return outcome;
    };
    let message = format!(
        "the result of `{function}` contains the secret `{name}`, and results are stored: return something else"
    );
    wit::Outcome::Failure(Error::terminal(Error::REFUSED, message).into_failure())
}

/// Treats a transient response (408, 425, 429 and 5xx) as a failure and any other as a success,
/// like the host.
fn durable(what: &str, answer: Response) -> crate::Result<Payload> {
    let status = answer.status();
    if status >= 500 || matches!(status, 408 | 425 | 429) {
        return Err(Error::with_code(u32::from(status), format!("{what} answered {status}")));
    }
    answer.encode()
}

/// The open responses of an attempt, by number.
#[derive(Default)]
struct OpenResponses {
    bodies: BTreeMap<u32, TestBody>,
    opened: u32,
}

struct TestAttempt {
    /// The id of the call.
    key: String,
    doubles: Arc<Mutex<Doubles>>,
    common: Arc<Mutex<TestState>>,
    progress: Arc<Mutex<Option<Payload>>>,
    responses: Mutex<OpenResponses>,
    /// The refusal of an item of a stream. Nothing is appended after it, and the attempt cannot
    /// succeed.
    refused: Arc<Mutex<Option<wit::Failure>>>,
}

impl AttemptOperations for TestAttempt {
    fn heartbeat(&self, progress: Option<&Payload>) -> bool {
        if let Some(progress) = progress {
            lock(&self.doubles).heartbeats.push(progress.clone());
            *lock(&self.progress) = Some(progress.clone());
        }
        false
    }

    fn http(&self, request: &wit::HttpRequest) -> Result<wit::HttpResponse, wit::Failure> {
        let answer = lock(&self.doubles).answer_web(request.clone());
        answer.and_then(Response::into_wit).map_err(Error::into_failure)
    }

    fn http_open(&self, request: &wit::HttpRequest) -> Result<ResponseHead, wit::Failure> {
        let mut responses = lock(&self.responses);
        if responses.bodies.len() >= OPEN_RESPONSES_MAX {
            let message = format!(
                "this attempt has {OPEN_RESPONSES_MAX} open responses: read one to its end, or drop it, before it opens another"
            );
            return Err(Error::terminal(Error::BAD_INPUT, message).into_failure());
        }
        let answer = lock(&self.doubles).answer_web(request.clone());
        let (status, headers, body) = answer.map_err(Error::into_failure)?.into_parts();
        let response = responses.opened;
        responses.opened += 1;
        responses.bodies.insert(response, body);
        Ok(ResponseHead { response, status, headers })
    }

    fn http_read(&self, response: u32, limit: u32) -> Result<Vec<u8>, wit::Failure> {
        let mut responses = lock(&self.responses);
        let body = responses.bodies.get_mut(&response).expect("the SDK reads open responses");
        let read = body.read(limit as usize);
        if !matches!(&read, Ok(piece) if !piece.is_empty()) {
            responses.bodies.remove(&response);
        }
        read.map_err(Error::into_failure)
    }

    fn http_close(&self, response: u32) {
        lock(&self.responses).bodies.remove(&response);
    }

    fn log(&self, level: wit::Level, message: &str) {
        lock(&self.common).logs.push((level.into(), message.to_owned()));
    }

    fn env(&self, name: &str) -> Result<String, wit::Failure> {
        let value = lock(&self.doubles).env.get(name).cloned();
        value.ok_or_else(|| not_set("env", name))
    }

    fn secret(&self, name: &str) -> Result<String, wit::Failure> {
        let value = lock(&self.doubles).secrets.get(name).cloned();
        value.ok_or_else(|| not_set("secret", name))
    }

    fn cost(&self, unit: &str, millionths: u64) -> Result<(), wit::Failure> {
        lock(&self.common).budgets.report(&self.key, unit, millionths)
    }

    fn stream_kept(&self, name: &str) -> Result<u64, wit::Failure> {
        Ok(lock(&self.common).streams.kept(streams::owner(&self.key), name, &self.key))
    }

    fn stream_append(
        &self,
        name: &str,
        content_type: &str,
        item: &Payload,
    ) -> Result<(), wit::Failure> {
        if let Some(refused) = &*lock(&self.refused) {
            return Err(refused.clone());
        }
        let owner = streams::owner(&self.key);
        let (of, item) = ((name, content_type), item.clone());
        let appended = lock(&self.common).streams.append(owner, of, &self.key, item);
        appended.inspect_err(|refused| *lock(&self.refused) = Some(refused.clone()))
    }

    fn files(&self) -> &dyn FileSystem {
        self
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn blobs(&self) -> &dyn BlobOperations {
        self
    }
}

impl BlobOperations for TestAttempt {
    fn create(&self, content_type: &str) -> Result<u32, wit::Failure> {
        lock(&self.doubles).blobs.create(content_type)
    }

    fn write(&self, writer: u32, piece: &[u8]) -> Result<(), wit::Failure> {
        lock(&self.doubles).blobs.write(writer, piece)
    }

    fn finish(&self, writer: u32) -> Result<String, wit::Failure> {
        // The root of the tree: ids of a test have no slash.
        let root = self.key.split('/').next().unwrap_or(&self.key);
        lock(&self.doubles).blobs.finish(root, writer)
    }

    fn abandon(&self, writer: u32) {
        lock(&self.doubles).blobs.abandon(writer);
    }

    fn read(&self, reference: &str, offset: u64, length: u64) -> Result<Vec<u8>, wit::Failure> {
        lock(&self.doubles).blobs.read(reference, offset, length)
    }
}

impl FileSystem for TestAttempt {
    fn read(&self, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, wit::Failure> {
        lock(&self.doubles).files.read(path, offset, length)
    }

    fn write(&self, path: &str, content: &[u8]) -> Result<(), wit::Failure> {
        lock(&self.doubles).files.0.insert(path.to_owned(), content.to_vec());
        Ok(())
    }

    fn append(&self, path: &str, content: &[u8]) -> Result<(), wit::Failure> {
        lock(&self.doubles).files.0.entry(path.to_owned()).or_default().extend(content);
        Ok(())
    }

    fn list(&self, path: &str) -> Result<Vec<files::Entry>, wit::Failure> {
        lock(&self.doubles).files.list(path)
    }

    fn remove(&self, path: &str) -> Result<(), wit::Failure> {
        lock(&self.doubles).files.0.remove(path);
        Ok(())
    }
}

/// The host's failure for a name that is not set in the policy.
fn not_set(what: &str, name: &str) -> wit::Failure {
    let message = format!(
        "`{name}` is not set: a test sets it by `test.{what}({name:?}, …)`, an operator in policy.toml"
    );
    Error::terminal(Error::FORBIDDEN, message).into_failure()
}
