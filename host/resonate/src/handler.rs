//! Shared state of the operations.

use std::sync::Arc;

use segno_api::{AccessControl, Api};
use segno_core::{command::Command, reply::Reply};
use segno_engine::{host::Host, resend::FOR_CLIENTS};
use tokio_util::sync::CancellationToken;

use super::{
    deliver::MessageDeliverer, protocol_error::ProtocolError, push::PushClient,
    settings::ResonateSettings, streams::WorkerStreams,
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
