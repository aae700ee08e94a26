//! The protocol state machine of an attempt, for both families of the protocol.

use bytes::Bytes;
use segno_restate::{
    ProtocolViolation,
    immutable::{Notification, NotificationId},
    runtime::{immutable, mutable},
    version::{ProtocolFamily, ProtocolVersion},
    wire::StartMessage,
};

use super::{action::DeploymentAction, wish::entry_result};

/// The state machine of an attempt.
pub(super) enum AttemptMachine {
    /// For V5 and later.
    Immutable(immutable::ImmutableRuntimeAttempt),
    /// For V1 to V3.
    Mutable(mutable::MutableRuntimeAttempt),
}

macro_rules! both {
    ($machine:expr, $attempt:ident => $do:expr) => {
        match $machine {
            Self::Immutable($attempt) => $do,
            Self::Mutable($attempt) => $do,
        }
    };
}

impl AttemptMachine {
    /// Begins an attempt. Returns the first bytes to send.
    pub(super) fn open<'a>(
        version: ProtocolVersion,
        start: StartMessage,
        frames: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(Self, Bytes), ProtocolViolation> {
        Ok(match version.family() {
            ProtocolFamily::Immutable => {
                let (attempt, first) =
                    immutable::ImmutableRuntimeAttempt::open(version, start, frames)?;
                (Self::Immutable(attempt), first)
            }
            ProtocolFamily::Mutable => {
                let (attempt, first) =
                    mutable::MutableRuntimeAttempt::open(version, start, frames)?;
                (Self::Mutable(attempt), first)
            }
        })
    }

    /// Decodes bytes from the deployment.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
    ) -> Result<Vec<DeploymentAction>, ProtocolViolation> {
        Ok(match self {
            Self::Immutable(attempt) => attempt
                .receive(bytes)?
                .into_iter()
                .filter_map(DeploymentAction::of_command)
                .collect(),
            Self::Mutable(attempt) => {
                attempt.receive(bytes)?.into_iter().map(DeploymentAction::of_entry).collect()
            }
        })
    }

    /// Encodes a stored notification. Returns the bytes to send.
    pub(super) fn tell(&mut self, told: &Notification) -> Result<Bytes, ProtocolViolation> {
        match self {
            Self::Immutable(attempt) => attempt.notify(told),
            Self::Mutable(attempt) => match told.id {
                NotificationId::Completion(index) | NotificationId::Signal(index) => {
                    attempt.complete(index, &entry_result(&told.result))
                }
                NotificationId::NamedSignal(_) => Ok(Bytes::new()),
            },
        }
    }

    /// Encodes the acknowledgement that a command is stored. Returns the bytes to send.
    pub(super) fn acknowledge(&mut self, index: u32) -> Result<Bytes, ProtocolViolation> {
        both!(self, attempt => attempt.acknowledge(index))
    }

    /// Encodes the answer to a read of state. Returns the bytes to send.
    pub(super) fn answer(
        &mut self,
        read: u32,
        value: Option<Bytes>,
    ) -> Result<Bytes, ProtocolViolation> {
        match self {
            Self::Immutable(attempt) => attempt.answer_state(read, value),
            Self::Mutable(_) => Ok(Bytes::new()),
        }
    }

    /// Closes the sending side.
    pub(super) fn half_close(&mut self) {
        both!(self, attempt => attempt.half_close())
    }

    /// Handles the end of the deployment's response.
    pub(super) fn end_of_input(&mut self) -> Result<(), ProtocolViolation> {
        both!(self, attempt => attempt.end_of_input())
    }
}
