//! A deployment of services in virtual time: handlers written as futures, behind the deployment's side of the protocol,
//! and a connection that breaks at one chosen frame.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use bytes::Bytes;
use segno::services::{
    AttemptRequest, ConnectError, Connector, Discovery, Endpoint, Exchange, Incoming,
};
use segno_restate::{
    deployment::{Attempt, AttemptError, StateRead},
    frame::HEADER_LENGTH,
    immutable::{Call, Combinator, Future as Wait, NotificationId, NotificationResult, OneWayCall},
    version::ProtocolVersion,
    wire::{Failure, Outcome},
};
use serde_json::Value as Json;
use tokio::sync::mpsc;

type Running = Pin<Box<dyn Future<Output = Result<Json, Failure>> + Send>>;
type Handler = Arc<dyn Fn(HandlerContext) -> Running + Send + Sync>;

/// The handlers of a deployment, by `SERVICE/HANDLER`.
#[derive(Default)]
pub struct TestDeployment {
    handlers: BTreeMap<&'static str, Handler>,
    /// The frame at which the connection breaks, counted over all attempts and both directions, from 0.
    breaks_at: Option<u64>,
    /// Whether the request ends before the answer begins.
    whole_requests: bool,
    frames: AtomicU64,
    attempts: AtomicU64,
    /// What runs did, by their names.
    done: Mutex<BTreeMap<String, u64>>,
}

impl TestDeployment {
    /// With one handler more.
    #[must_use]
    pub fn with<F, R>(mut self, name: &'static str, handler: F) -> Self
    where
        F: Fn(HandlerContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Json, Failure>> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |context| Box::pin(handler(context)));
        self.handlers.insert(name, handler);
        self
    }

    /// Whether each request ends before its answer begins.
    #[must_use]
    pub fn whole(self, whole_requests: bool) -> Self {
        Self { whole_requests, ..self }
    }

    /// The connection breaks at this frame.
    #[must_use]
    pub fn breaking_at(self, frame: u64) -> Self {
        Self { breaks_at: Some(frame), ..self }
    }

    /// How many frames were sent so far.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// How many attempts there were.
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// How often the run with this name was done.
    pub fn done(&self, name: &str) -> u64 {
        lock(&self.done).get(name).copied().unwrap_or_default()
    }

    fn next_frame(&self) -> Result<(), ConnectError> {
        let frame = self.frames.fetch_add(1, Ordering::Relaxed);
        match self.breaks_at {
            Some(at) if at == frame => Err(ConnectError::Unreachable {
                uri: "test".to_owned(),
                reason: format!("the connection broke at frame {frame}"),
            }),
            _ => Ok(()),
        }
    }
}

/// Reaches a deployment of the test's.
pub struct TestConnector(pub Arc<TestDeployment>);

#[async_trait]
impl Connector for TestConnector {
    async fn discover(&self, endpoint: &Endpoint, _: &str) -> Result<Discovery, ConnectError> {
        let (uri, reason) = (endpoint.uri.clone(), "it is registered already".to_owned());
        Err(ConnectError::Unreachable { uri, reason })
    }

    async fn open(
        &self,
        endpoint: &Endpoint,
        request: AttemptRequest,
    ) -> Result<Exchange, ConnectError> {
        let deployment = self.0.clone();
        deployment.attempts.fetch_add(1, Ordering::Relaxed);
        let refused = |status, body: &str| ConnectError::Status {
            uri: endpoint.uri.clone(),
            path: request.path.clone(),
            status,
            retry_after: None,
            body: body.to_owned(),
        };
        let version: ProtocolVersion =
            request.content_type.parse().map_err(|_| refused(415, "no such version"))?;
        let name = request.path.strip_prefix("/invoke/").unwrap_or_default();
        let handler = deployment.handlers.get(name).ok_or_else(|| refused(404, "no handler"))?;
        let whole = request.is_whole || deployment.whole_requests;
        let (sender, requests) = mpsc::channel(64);
        let mut serving = Serving {
            deployment: deployment.clone(),
            attempt: Arc::new(Mutex::new(Shared::new(version))),
            running: None,
            handler: handler.clone(),
            requests,
            out: Bytes::new(),
        };
        serving.take(&request.first)?;
        if whole {
            drop(sender);
            return Ok(Exchange { sender: None, receiver: Box::new(serving) });
        }
        Ok(Exchange { sender: Some(sender), receiver: Box::new(serving) })
    }
}

/// What a handler and its attempt share.
struct Shared {
    attempt: Attempt,
    results: HashMap<NotificationId, NotificationResult>,
    waits: BTreeSet<NotificationId>,
}

impl Shared {
    fn new(version: ProtocolVersion) -> Self {
        Self { attempt: Attempt::new(version), results: HashMap::new(), waits: BTreeSet::new() }
    }
}

/// One attempt.
struct Serving {
    deployment: Arc<TestDeployment>,
    attempt: Arc<Mutex<Shared>>,
    running: Option<Running>,
    handler: Handler,
    requests: mpsc::Receiver<Bytes>,
    out: Bytes,
}

impl Serving {
    fn take(&mut self, mut bytes: &[u8]) -> Result<(), ConnectError> {
        while !bytes.is_empty() {
            self.deployment.next_frame()?;
            let (frame, rest) = bytes.split_at(frame_length(bytes));
            let _ = lock(&self.attempt).attempt.receive(frame);
            bytes = rest;
        }
        Ok(())
    }

    /// Goes on until there is something to send, or more has to come.
    fn go_on(&mut self) {
        loop {
            {
                let mut shared = lock(&self.attempt);
                self.out = shared.attempt.take_output();
                if !self.out.is_empty() || !shared.attempt.is_ready() {
                    return;
                }
            }
            let running = self.running.get_or_insert_with(|| {
                (self.handler)(HandlerContext {
                    shared: self.attempt.clone(),
                    deployment: self.deployment.clone(),
                })
            });
            let polled = running.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let mut shared = lock(&self.attempt);
            if !shared.attempt.is_ready() {
                continue;
            }
            if let Poll::Ready(ended) = polled {
                let outcome = match ended {
                    Ok(value) => Outcome::Success(value.to_string().into_bytes().into()),
                    Err(failure) => Outcome::Failure(failure),
                };
                let finished = shared.attempt.finish(outcome);
                report(&mut shared.attempt, finished);
                continue;
            }
            match shared.attempt.next_notification() {
                Ok(Some(told)) => {
                    shared.results.insert(told.id, told.result);
                }
                Ok(None) if shared.attempt.input_ended() => {
                    let mut wait = Wait::of(Combinator::FirstCompleted);
                    shared.waits.clone().into_iter().for_each(|id| wait.push(id));
                    wait.push(NotificationId::Signal(1));
                    let suspended = shared.attempt.suspend(wait);
                    report(&mut shared.attempt, suspended);
                }
                Ok(None) => {
                    self.out = shared.attempt.take_output();
                    return;
                }
                Err(error) => shared.attempt.fail(error.to_message()),
            }
        }
    }
}

fn report(attempt: &mut Attempt, done: Result<(), AttemptError>) {
    if let Err(error) = done {
        attempt.fail(error.to_message());
    }
}

#[async_trait]
impl Incoming for Serving {
    async fn next(&mut self) -> Result<Option<Bytes>, ConnectError> {
        loop {
            if self.out.is_empty() {
                self.go_on();
            }
            if !self.out.is_empty() {
                let length = frame_length(&self.out);
                let frame = self.out.split_to(length);
                self.deployment.next_frame()?;
                return Ok(Some(frame));
            }
            if lock(&self.attempt).attempt.is_over() {
                return Ok(None);
            }
            match self.requests.recv().await {
                Some(bytes) => self.take(&bytes)?,
                None => drop(lock(&self.attempt).attempt.end_of_input()),
            }
        }
    }
}

/// The length of the first frame.
fn frame_length(bytes: &[u8]) -> usize {
    let length = bytes.get(4..HEADER_LENGTH).and_then(|length| length.try_into().ok());
    let length = length.map_or(0, u32::from_be_bytes) as usize;
    (HEADER_LENGTH + length).min(bytes.len())
}

/// What a handler asks with.
#[derive(Clone)]
pub struct HandlerContext {
    shared: Arc<Mutex<Shared>>,
    deployment: Arc<TestDeployment>,
}

impl HandlerContext {
    /// The input.
    pub fn input(&self) -> Json {
        let shared = lock(&self.shared);
        let value = shared.attempt.input().value.clone().unwrap_or_default();
        serde_json::from_slice(&value.content).unwrap_or_default()
    }

    /// Does something whose outcome is kept.
    pub async fn run(&self, name: &str, outcome: Result<Json, Failure>) -> Result<Json, Failure> {
        let id = self
            .issue(|attempt| {
                let handle = attempt.run(name)?;
                if handle.execute {
                    *lock(&self.deployment.done).entry(name.to_owned()).or_default() += 1;
                    let outcome = match outcome {
                        Ok(value) => Outcome::Success(value.to_string().into_bytes().into()),
                        Err(failure) => Outcome::Failure(failure),
                    };
                    attempt.propose_run(handle.completion_id, outcome)?;
                }
                Ok(handle.completion_id)
            })
            .await;
        self.value(NotificationId::Completion(id)).await
    }

    /// Waits until an instant.
    pub async fn sleep_until(&self, at_ms: u64) {
        let id = self.issue(|attempt| attempt.sleep(at_ms, "")).await;
        self.told(NotificationId::Completion(id)).await;
    }

    /// Calls a handler: `SERVICE[/KEY]/HANDLER`.
    pub async fn call(&self, target: &str, input: &Json) -> Result<Json, Failure> {
        let (service_name, key, handler_name) = parts(target);
        let call = Call {
            service_name,
            handler_name,
            key,
            parameter: input.to_string().into_bytes().into(),
            ..Call::default()
        };
        let handle = self.issue(|attempt| attempt.call(call)).await;
        self.value(NotificationId::Completion(handle.result)).await
    }

    /// Calls a handler, and lets it go.
    pub async fn send(&self, target: &str, input: &Json) -> String {
        let (service_name, key, handler_name) = parts(target);
        let call = OneWayCall {
            service_name,
            handler_name,
            key,
            parameter: input.to_string().into_bytes().into(),
            ..OneWayCall::default()
        };
        let id = self.issue(|attempt| attempt.send(call)).await;
        match self.told(NotificationId::Completion(id)).await {
            NotificationResult::InvocationId(id) => id,
            other => format!("{other:?}"),
        }
    }

    /// Reads a key of state.
    pub async fn state(&self, key: &'static str) -> Json {
        let content = match self.issue(|attempt| attempt.state(key, "")).await {
            StateRead::Known(content) => content,
            StateRead::Asked(id) => match self.told(NotificationId::Completion(id)).await {
                NotificationResult::Value(content) => Some(content),
                _ => None,
            },
        };
        content.and_then(|content| serde_json::from_slice(&content).ok()).unwrap_or_default()
    }

    /// Writes a key of state.
    pub async fn set_state(&self, key: &'static str, value: &Json) {
        let content = value.to_string().into_bytes();
        self.issue(|attempt| attempt.set_state(key, content, "")).await;
    }

    /// Waits for a promise of the workflow.
    pub async fn promise(&self, key: &str) -> Result<Json, Failure> {
        let id = self.issue(|attempt| attempt.promise(key, "")).await;
        self.value(NotificationId::Completion(id)).await
    }

    /// Completes a promise of the workflow.
    pub async fn complete_promise(&self, key: &str, value: &Json) -> Result<Json, Failure> {
        let outcome = Outcome::Success(value.to_string().into_bytes().into());
        let id = self.issue(|attempt| attempt.complete_promise(key, outcome, "")).await;
        self.value(NotificationId::Completion(id)).await
    }

    /// A new awakeable: its id, and its signal.
    pub async fn awakeable(&self) -> (String, NotificationId) {
        let made = self.issue(Attempt::awakeable).await;
        (made.id, NotificationId::Signal(made.signal))
    }

    /// Completes an awakeable.
    pub async fn complete_awakeable(&self, id: &str, value: &Json) {
        let outcome = Outcome::Success(value.to_string().into_bytes().into());
        self.issue(|attempt| attempt.complete_awakeable(id, outcome, "")).await;
    }

    /// Waits for something, and reads its value.
    pub async fn value(&self, id: NotificationId) -> Result<Json, Failure> {
        match self.told(id).await {
            NotificationResult::Value(value) => {
                Ok(serde_json::from_slice(&value).unwrap_or_default())
            }
            NotificationResult::Failure(failure) => Err(failure),
            NotificationResult::Void
            | NotificationResult::InvocationId(_)
            | NotificationResult::StateKeys(_) => Ok(Json::Null),
        }
    }

    /// Waits for something. Being asked to stop ends one wait.
    pub async fn told(&self, id: NotificationId) -> NotificationResult {
        std::future::poll_fn(|_| {
            let mut shared = lock(&self.shared);
            if let Some(result) = shared.results.get(&id).cloned() {
                shared.waits.remove(&id);
                return Poll::Ready(result);
            }
            if shared.results.remove(&NotificationId::Signal(1)).is_some() {
                shared.waits.remove(&id);
                return Poll::Ready(NotificationResult::Failure(Failure::new(409, "Cancelled")));
            }
            shared.waits.insert(id.clone());
            Poll::Pending
        })
        .await
    }

    async fn issue<T>(&self, ask: impl FnOnce(&mut Attempt) -> Result<T, AttemptError>) -> T {
        let asked = {
            let mut shared = lock(&self.shared);
            ask(&mut shared.attempt).map_err(|error| shared.attempt.fail(error.to_message()))
        };
        match asked {
            Ok(asked) => asked,
            Err(()) => pending().await,
        }
    }
}

/// The attempt is over: the handler goes no further.
async fn pending<T>() -> T {
    std::future::pending().await
}

fn parts(target: &str) -> (String, String, String) {
    let (service, rest) = target.split_once('/').expect("a handler");
    let (key, handler) = rest.rsplit_once('/').unwrap_or(("", rest));
    (service.to_owned(), key.to_owned(), handler.to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
