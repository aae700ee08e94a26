//! A running attempt: the connection to the deployment, and the data of the next commit.

use bytes::{Bytes, BytesMut};
use segno_core::id::CommandIndex;
use segno_env::BoxFuture;
use segno_restate::{ProtocolViolation, immutable::Notification, wire};

use super::{InvocationStop, action::DeploymentAction, machine::AttemptMachine, record::FollowUp};
use crate::deployments::{ConnectError, Exchange};

/// A running attempt.
pub(super) struct LiveAttempt {
    pub(super) channel: AttemptChannel,
    /// The outcome, once the deployment has sent it.
    pub(super) output: Option<wire::OperationOutcome>,
    /// The follow-up actions of commands, executed after their commit.
    pub(super) then: Vec<(CommandIndex, FollowUp)>,
    /// Notifications that are sent to the deployment after the commit.
    pub(super) tell: Vec<Notification>,
    /// Commands that are acknowledged after their commit.
    pub(super) acknowledge: Vec<u32>,
    /// Number of frames with which the attempt began.
    pub(super) opened_with: usize,
    /// Completes when the deployment has been inactive for too long.
    pub(super) quiet: BoxFuture<()>,
}

/// The request to the deployment and its response, as actions and notifications.
pub(super) struct AttemptChannel {
    machine: AttemptMachine,
    exchange: Exchange,
    half_closed: bool,
}

impl LiveAttempt {
    /// Sends all committed notifications to the deployment. Returns true if there were any.
    pub(super) async fn send_all(&mut self) -> Result<bool, InvocationStop> {
        let machine = &mut self.channel.machine;
        let mut bytes = BytesMut::new();
        for index in std::mem::take(&mut self.acknowledge) {
            bytes.extend_from_slice(&machine.acknowledge(index)?);
        }
        for notification in std::mem::take(&mut self.tell) {
            bytes.extend_from_slice(&machine.tell(&notification)?);
        }
        let is_told = !bytes.is_empty();
        self.channel.send(bytes.freeze()).await;
        Ok(is_told)
    }
}

impl AttemptChannel {
    pub(super) fn new(machine: AttemptMachine, exchange: Exchange) -> Self {
        let is_whole = exchange.sender.is_none();
        let mut channel = Self { machine, exchange, half_closed: false };
        if is_whole {
            channel.half_close();
        }
        channel
    }

    /// Receives the next actions of the deployment. `None` if its response has ended.
    pub(super) async fn next(
        &mut self,
    ) -> Result<Option<Result<Vec<DeploymentAction>, ProtocolViolation>>, ConnectError> {
        let bytes = self.exchange.receiver.next().await?;
        Ok(bytes.map(|bytes| self.machine.receive(&bytes)))
    }

    /// Checks the end of the deployment's response.
    pub(super) fn end_of_input(&mut self) -> Result<(), ProtocolViolation> {
        self.machine.end_of_input()
    }

    /// Ends the request: the deployment receives no more notifications.
    pub(super) fn half_close(&mut self) {
        self.half_closed = true;
        self.machine.half_close();
        self.exchange.sender = None;
    }

    /// True if the request has ended.
    pub(super) fn is_half_closed(&self) -> bool {
        self.half_closed
    }

    /// Answers a read of state.
    pub(super) async fn answer(
        &mut self,
        read: u32,
        value: Option<Bytes>,
    ) -> Result<(), ProtocolViolation> {
        let bytes = self.machine.answer(read, value)?;
        self.send(bytes).await;
        Ok(())
    }

    async fn send(&mut self, bytes: Bytes) {
        if let Some(sender) = self.exchange.sender.as_ref().filter(|_| !bytes.is_empty()) {
            // A deployment that stopped reading has sent the reason, or breaks the connection: the
            // next read sees that.
            let _ = sender.send(bytes).await;
        }
    }
}
