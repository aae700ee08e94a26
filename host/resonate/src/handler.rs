//! Shared state of the operations, and their dispatch.

use std::sync::Arc;

use segno_api::{AccessControl, Api};
use segno_core::{
    command::Command,
    id::{PromiseId, fits},
    reply::Reply,
};
use segno_engine::{host::Host, resend::FOR_CLIENTS};
use tokio_util::sync::CancellationToken;

use super::{
    debug,
    deliver::MessageDeliverer,
    envelope::{ResonateAnswer, ResonateRequest},
    fence, promises,
    protocol_error::ProtocolError,
    push::PushClient,
    schedules, search,
    settings::ResonateSettings,
    streams::WorkerStreams,
    tasks,
};

/// The front end. Cheap to clone.
#[derive(Clone)]
pub struct Resonate(Arc<FrontEndParts>);

/// Shared parts of the front end.
pub struct FrontEndParts {
    pub(super) api: Api,
    pub(super) host: Host,
    pub(super) access: AccessControl,
    pub(super) settings: ResonateSettings,
    pub(super) streams: Arc<WorkerStreams>,
    pub(super) deliverer: MessageDeliverer,
    /// Cancelled when the host stops; ends the streams.
    pub(super) stopping: CancellationToken,
    /// Held by one request at a time if requests may name a time.
    pub(super) debugging: tokio::sync::Mutex<()>,
}

impl std::ops::Deref for Resonate {
    type Target = FrontEndParts;

    fn deref(&self) -> &FrontEndParts {
        &self.0
    }
}

impl Resonate {
    /// Starts a front end next to `api`, which from now on delivers the messages of its host.
    ///
    /// # Errors
    /// The HTTP client for posting messages cannot be set up.
    pub fn start(api: &Api, settings: ResonateSettings) -> Result<Self, reqwest::Error> {
        let (api, host, access) = (api.clone(), api.host.clone(), api.access.clone());
        let stopping = api.stopping.clone();
        let streams = Arc::new(WorkerStreams::new(settings.streams, settings.buffer));
        let push = PushClient::new(host.clone(), api.reach)?;
        let deliverer =
            MessageDeliverer::new(host.clone(), streams.clone(), push, settings.server_url.clone());
        host.channels.add(Arc::new(deliverer.clone()));
        let debugging = tokio::sync::Mutex::default();
        Ok(Self(Arc::new(FrontEndParts {
            api,
            host,
            access,
            settings,
            streams,
            deliverer,
            stopping,
            debugging,
        })))
    }

    /// Answers a request with an authorized sender.
    pub(super) async fn answer(
        &self,
        request: &ResonateRequest,
    ) -> Result<ResonateAnswer, ProtocolError> {
        let _named = debug::at(self, request).await?;
        match request.kind.as_str() {
            "promise.get" => promises::get(self, request).await,
            "promise.create" => promises::create(self, request).await,
            "promise.settle" => promises::settle(self, request).await,
            "promise.register_callback" => promises::register_callback(self, request).await,
            "promise.register_listener" => promises::register_listener(self, request).await,
            "promise.search" => search::promises(self, request).await,
            "task.get" => tasks::get(self, request).await,
            "task.create" => tasks::create(self, request).await,
            "task.acquire" => tasks::acquire(self, request).await,
            "task.release" => tasks::release(self, request).await,
            "task.suspend" => tasks::suspend(self, request).await,
            "task.fulfill" => tasks::fulfill(self, request).await,
            "task.fence" => fence::fence(self, request).await,
            "task.heartbeat" => tasks::heartbeat(self, request).await,
            "task.halt" => tasks::halt(self, request).await,
            "task.continue" => tasks::proceed(self, request).await,
            "task.search" => search::tasks(self, request).await,
            "schedule.create" => schedules::create(self, request).await,
            "schedule.get" => schedules::get(self, request).await,
            "schedule.delete" => schedules::delete(self, request).await,
            "schedule.search" => schedules::search(self, request).await,
            kind if kind.starts_with("debug.") => debug::answer(self, request).await,
            kind => Err(ProtocolError::bad(format!("Unknown operation: {kind}"))),
        }
    }

    /// Sends one command. Converts a refusal of the engine to a refusal of the operation.
    pub(super) async fn decide(&self, command: Command) -> Result<Reply, ProtocolError> {
        self.decide_told(command).await.map(|(reply, _)| reply)
    }

    /// Like [`decide`](Self::decide). Also returns true if the command was sent only once: an
    /// unchanged row was then already in that state before.
    pub(super) async fn decide_told(
        &self,
        command: Command,
    ) -> Result<(Reply, bool), ProtocolError> {
        let _room = self.api.room().await?;
        let mut sent = self.host.send(vec![command], FOR_CLIENTS).await?;
        match sent.replies.pop() {
            Some(Reply::Refused(refusal)) => Err(refusal.into()),
            Some(reply) => Ok((reply, sent.at_first)),
            None => Err(ProtocolError::internal("the store did not answer a command")),
        }
    }
}

/// Builds the error for a reply that the command cannot have.
pub(super) fn unexpected(reply: &Reply) -> ProtocolError {
    ProtocolError::internal(format!("the engine gave an answer of the wrong kind: {reply:?}"))
}

/// Validates an id chosen by a client.
///
/// # Errors
/// 400.
pub(super) fn id(field: &str, id: String) -> Result<PromiseId, ProtocolError> {
    let reason = match id.as_str() {
        "" => "is empty",
        _ if id.contains('\0') => "holds a NUL character",
        _ if fits("the id", &id).is_err() => "is longer than 2,048 bytes",
        _ => return Ok(PromiseId::new(id)),
    };
    Err(ProtocolError::bad(format!("`{field}` {reason}")))
}
