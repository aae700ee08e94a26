//! A deployment of services in virtual time: handlers written as futures, behind the deployment's side of the protocol,
//! and a connection that breaks at one chosen frame.
//!
//! `serving`: an attempt; `handler_context`: what a handler asks with.

mod handler_context;
mod serving;

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use segno::services::{AttemptRequest, ConnectError, Connector, Discovery, Endpoint, Exchange};
use segno_restate::{version::ProtocolVersion, wire::Failure};
use serde_json::Value as Json;
use tokio::sync::mpsc;

pub use self::handler_context::HandlerContext;
use self::serving::{Serving, Shared};

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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
