//! Calls the service without a runtime: the same frames over the same connection, and nothing is
//! stored.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use segno_env::{Env, Reach};
use segno_restate::{
    ProtocolVersion, StartMessage,
    immutable::{Input, Message, Notification},
    runtime::immutable::{CommandAction, ImmutableRuntimeAttempt},
    wire::ValueMessage,
};
use segno_services::{AttemptRequest, Connector as _, DeploymentAddress, HttpConnector};

use super::deployment::HANDLER;

/// The newest protocol version supported by both the deployment and hosts.
const VERSION: ProtocolVersion = ProtocolVersion::V7;

/// Calls a deployment like a host.
pub(super) struct DeploymentCaller {
    connector: HttpConnector,
    endpoint: DeploymentAddress,
}

impl DeploymentCaller {
    /// Creates a caller for the deployment at `url`.
    ///
    /// # Errors
    /// Fails if the client cannot be created.
    pub(super) fn new(url: &str, env: &Env) -> anyhow::Result<Self> {
        let connector = HttpConnector::new(Reach { private: true }, None, env.clone())?;
        let endpoint =
            DeploymentAddress { uri: url.to_owned(), headers: BTreeMap::new(), http11: false };
        Ok(Self { connector, endpoint })
    }

    /// Runs one attempt with this many steps, each acknowledged immediately.
    ///
    /// # Errors
    /// Fails if the attempt did not end as expected.
    pub(super) async fn steps(&self, count: u32) -> anyhow::Result<()> {
        let value = Some(ValueMessage { content: count.to_string().into() });
        let input = Input { value, ..Input::default() };
        let input = Message::Command(input.into()).encode(VERSION).to_bytes();
        let start =
            StartMessage { id: vec![1; 24].into(), partial_state: true, ..StartMessage::default() };
        let (mut attempt, first) = ImmutableRuntimeAttempt::open(VERSION, start, [&input[..]])?;
        let request = AttemptRequest {
            path: format!("/invoke/{HANDLER}"),
            content_type: VERSION.media_type(),
            headers: Vec::new(),
            first,
            is_whole: false,
        };
        let mut exchange = self.connector.open(&self.endpoint, request).await?;
        let sender = exchange.sender.take().context("both sides send at once")?;
        while let Some(bytes) = exchange.receiver.next().await? {
            for action in attempt.receive(&bytes)? {
                match action {
                    CommandAction::Append { .. } | CommandAction::AwaitingOn(_) => {}
                    CommandAction::ProposeRun { completion_id, outcome, .. } => {
                        let stored = attempt.notify(&Notification::run(completion_id, outcome))?;
                        sender.send(stored).await?;
                    }
                    CommandAction::Ended => return Ok(()),
                    CommandAction::ReadState { .. }
                    | CommandAction::Suspend(_)
                    | CommandAction::Failed(_) => {
                        bail!("the service did {action:?}")
                    }
                }
            }
        }
        bail!("the service did not end")
    }
}
