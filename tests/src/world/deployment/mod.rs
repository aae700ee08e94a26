//! A deployment of services in virtual time: handlers written as futures, behind the deployment's
//! side of the protocol, and a connection with planned faults.
//!
//! `line`: the connection; `serving`: an attempt; `side`, `entry_attempt`: its state machine, of
//! either family of the protocol; `handler_context`: the context of a handler.

mod entry_attempt;
mod handler_context;
mod line;
mod serving;
mod side;

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
use segno_core::{command::Command, id::Digest, time::Timestamp};
use segno_restate::{version::ProtocolVersion, wire::Failure};
use segno_services::{
    AttemptRequest, ConnectError, Connector, Deployment, DeploymentAddress, DeploymentAnswer,
    Exchange,
};
use segno_sim::sleep;
use segno_store::NewModule;
use serde_json::Value as Json;
use tokio::sync::mpsc;

use self::serving::Serving;
pub use self::{
    handler_context::HandlerContext,
    line::{BreaksAt, Fate, Line},
};

type Running = Pin<Box<dyn Future<Output = Result<Json, Failure>> + Send>>;
type Handler = Arc<dyn Fn(HandlerContext) -> Running + Send + Sync>;

/// Handlers of a deployment, by `SERVICE/HANDLER`.
pub struct TestDeployment {
    handlers: BTreeMap<&'static str, Handler>,
    line: Arc<dyn Line>,
    /// True if the request ends before the answer begins.
    whole_requests: bool,
    frames: AtomicU64,
    attempts: AtomicU64,
    /// Number of executions of each run, by name.
    done: Mutex<BTreeMap<String, u64>>,
}

impl Default for TestDeployment {
    fn default() -> Self {
        Self {
            handlers: BTreeMap::new(),
            line: Arc::new(BreaksAt::default()),
            whole_requests: false,
            frames: AtomicU64::new(0),
            attempts: AtomicU64::new(0),
            done: Mutex::default(),
        }
    }
}

impl TestDeployment {
    /// Adds a handler.
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

    /// Sets whether each request ends before its answer begins.
    #[must_use]
    pub fn whole(self, whole_requests: bool) -> Self {
        Self { whole_requests, ..self }
    }

    /// Breaks the connection at this frame.
    #[must_use]
    pub fn breaking_at(self, frame: u64) -> Self {
        self.behind(Arc::new(BreaksAt(Some(frame))))
    }

    /// Sets the connection to the deployment.
    #[must_use]
    pub fn behind(self, line: Arc<dyn Line>) -> Self {
        Self { line, ..self }
    }

    /// Number of frames sent so far.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// Number of attempts so far.
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Number of executions of the run with this name.
    pub fn done(&self, name: &str) -> u64 {
        lock(&self.done).get(name).copied().unwrap_or_default()
    }

    /// Counts an execution of the run with this name. Returns the number of its executions.
    fn does(&self, name: &str) -> u64 {
        let mut done = lock(&self.done);
        let times = done.entry(name.to_owned()).or_default();
        *times += 1;
        *times
    }

    /// Takes the number of the next frame, with its fate.
    fn next_frame(&self, is_single: bool) -> Result<(u64, Fate), ConnectError> {
        let number = self.frames.fetch_add(1, Ordering::Relaxed);
        match self.line.frame(number, is_single) {
            Fate::Breaks => Err(unreachable(format!("the connection broke at frame {number}"))),
            fate => Ok((number, fate)),
        }
    }
}

fn unreachable(reason: String) -> ConnectError {
    ConnectError::Unreachable { uri: "test".to_owned(), reason }
}

/// Registration of a deployment at this address with a manifest: the module to store, and the
/// commands that deploy it.
///
/// # Panics
/// If `manifest` is not a manifest.
pub fn registration(uri: &str, manifest: &Json, at: Timestamp) -> (NewModule, Vec<Command>) {
    let manifest = serde_json::from_value(manifest.clone()).expect("a manifest");
    let endpoint =
        DeploymentAddress { uri: uri.to_owned(), headers: BTreeMap::new(), http11: false };
    let deployment = Deployment::new(&endpoint, None, manifest);
    let kept: Arc<[u8]> = deployment.to_bytes().into();
    let module = Digest::of(&kept);
    let aliases = deployment.aliases();
    let deploys = aliases.map(|alias| Command::Deploy { alias, module }).collect();
    (NewModule { facts: deployment.facts(), ..NewModule::plain(module, kept, at) }, deploys)
}

/// Connects to a deployment of the test.
pub struct TestConnector(pub Arc<TestDeployment>);

#[async_trait]
impl Connector for TestConnector {
    async fn discover(
        &self,
        endpoint: &DeploymentAddress,
        _: &str,
    ) -> Result<DeploymentAnswer, ConnectError> {
        Err(unreachable(format!("`{}` is registered already", endpoint.uri)))
    }

    async fn open(
        &self,
        endpoint: &DeploymentAddress,
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
        match deployment.line.request() {
            Fate::Breaks => return Err(unreachable("it is down".to_owned())),
            Fate::Late(length) => sleep(length).await,
            Fate::Vanishes => std::future::pending().await,
            Fate::Passes | Fate::Twice => {}
        }
        let whole = request.is_whole || deployment.whole_requests;
        let (sender, requests) = mpsc::channel(64);
        let (handler, first) = (handler.clone(), &request.first);
        let serving = Serving::new(deployment.clone(), version, handler, first, requests);
        Ok(Exchange { sender: (!whole).then_some(sender), receiver: serving.start() })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
