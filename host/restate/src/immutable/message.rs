//! All frames of the family as one type, decoded and encoded by version.

use prost::Message as _;

use super::{
    control::*,
    kind::{Command, CommandKind},
    notification::{Notification, NotificationKind, NotificationResult},
};
use crate::{
    custom::{self, Custom},
    frame::{Flags, Frame},
    version::ProtocolVersion,
    violation::{FrameType, ProtocolViolation},
    wire::StartMessage,
};

/// A message of V5 to V8.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Begins the attempt.
    Start(StartMessage),
    /// Ends the attempt with a wait.
    Suspension(Suspension),
    /// Reports that the attempt failed.
    Error(ErrorMessage),
    /// Reports that the invocation ended.
    End,
    /// Acknowledges a stored command.
    CommandAck(CommandAck),
    /// Proposes the outcome of a run.
    ProposeRunCompletion(ProposeRunCompletion),
    /// Reports the current wait.
    AwaitingOn(AwaitingOn),
    /// Acknowledges the stored outcome of a run.
    ProposeRunCompletionAck(ProposeRunCompletionAck),
    /// Reads a state key without journaling.
    GetStateEphemeral(GetStateEphemeral),
    /// Answers a [`GetStateEphemeral`].
    EphemeralState(EphemeralState),
    /// An operation of the invocation.
    Command(Command),
    /// A result or signal for the invocation.
    Notification(Notification),
}

/// Frames outside the journal: type number, name, and first version.
const CONTROLS: [(u16, &str, ProtocolVersion); 10] = [
    (START, "Start", ProtocolVersion::V5),
    (SUSPENSION, "Suspension", ProtocolVersion::V5),
    (ERROR, "Error", ProtocolVersion::V5),
    (END, "End", ProtocolVersion::V5),
    (COMMAND_ACK, "CommandAck", ProtocolVersion::V5),
    (PROPOSE_RUN, "ProposeRunCompletion", ProtocolVersion::V5),
    (AWAITING_ON, "AwaitingOn", ProtocolVersion::V7),
    (PROPOSE_RUN_ACK, "ProposeRunCompletionAck", ProtocolVersion::V7),
    (GET_STATE_EPHEMERAL, "GetStateEphemeral", ProtocolVersion::V8),
    (EPHEMERAL_STATE, "GetStateEphemeral notification", ProtocolVersion::V8),
];

const START: u16 = 0x0000;
const SUSPENSION: u16 = 0x0001;
const ERROR: u16 = 0x0002;
const END: u16 = 0x0003;
const COMMAND_ACK: u16 = 0x0004;
const PROPOSE_RUN: u16 = 0x0005;
const AWAITING_ON: u16 = 0x0006;
const PROPOSE_RUN_ACK: u16 = 0x0007;
const GET_STATE_EPHEMERAL: u16 = 0x0200;
const EPHEMERAL_STATE: u16 = 0x0300;

/// Returns the type of a frame of this family by number; named `unknown` if no version has it.
pub fn frame_type(number: u16) -> FrameType {
    let control = CONTROLS.iter().find(|(known, ..)| *known == number).map(|(_, name, _)| *name);
    let name = control
        .or_else(|| CommandKind::from_number(number).map(CommandKind::name))
        .or_else(|| NotificationKind::from_number(number).map(NotificationKind::name))
        .unwrap_or(if number >= custom::FIRST { "custom command" } else { "unknown" });
    FrameType { number, name }
}

impl Message {
    /// Decodes a frame of `version`. Ignores unknown fields and fields of later versions. Checks
    /// the flags and the required fields. Nested messages, such as trees of waits, are decoded to a
    /// depth of about 100.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] that names the frame.
    pub fn decode(frame: &Frame, version: ProtocolVersion) -> Result<Self, ProtocolViolation> {
        let Frame { number, flags, .. } = *frame;
        let payload = frame.payload.clone();
        let violation = |what: String| ProtocolViolation::of(frame_type(number), what);
        let broken = |error: prost::DecodeError| violation(format!("cannot be decoded: {error}"));
        if let Some((_, _, since)) = CONTROLS.iter().find(|(known, ..)| *known == number)
            && version < *since
        {
            return Err(violation(format!("is not part of {version}, but of {since}")));
        }
        let allowed = allowed_flags(number, version);
        if flags.without(allowed) != Flags::NONE {
            return Err(violation(format!("must not have the flags {flags} in {version}")));
        }
        let message = match number {
            START => Self::Start(StartMessage::decode(payload).map_err(broken)?),
            SUSPENSION => {
                Self::Suspension(Suspension::decode(payload, version).map_err(violation)?)
            }
            ERROR => Self::Error(ErrorMessage::decode(payload).map_err(broken)?),
            END => {
                crate::wire::Void::decode(payload).map_err(broken)?;
                Self::End
            }
            COMMAND_ACK => Self::CommandAck(CommandAck::decode(payload).map_err(broken)?),
            PROPOSE_RUN => {
                let proposal = ProposeRunCompletion::decode(payload).map_err(broken)?;
                if proposal.result.is_none() {
                    return Err(violation("has no result".into()));
                }
                Self::ProposeRunCompletion(proposal)
            }
            AWAITING_ON => Self::AwaitingOn(AwaitingOn::decode(payload).map_err(broken)?),
            PROPOSE_RUN_ACK => Self::ProposeRunCompletionAck(
                ProposeRunCompletionAck::decode(payload).map_err(broken)?,
            ),
            GET_STATE_EPHEMERAL => {
                Self::GetStateEphemeral(GetStateEphemeral::decode(payload).map_err(broken)?)
            }
            EPHEMERAL_STATE => {
                let state = EphemeralState::decode(payload).map_err(broken)?;
                if state.result.is_none() {
                    return Err(violation("has no result".into()));
                }
                Self::EphemeralState(state)
            }
            _ if number >= custom::FIRST => {
                let custom = Custom::decode(number, &payload).map_err(violation)?;
                Self::Command(Command::Custom(custom))
            }
            _ => {
                if let Some(kind) = CommandKind::from_number(number) {
                    Self::Command(Command::decode(kind, payload).map_err(violation)?)
                } else if let Some(kind) = NotificationKind::from_number(number) {
                    Self::Notification(Notification::decode(kind, payload).map_err(violation)?)
                } else {
                    return Err(violation(format!("is not part of {version}")));
                }
            }
        };
        Ok(message.in_version(version))
    }

    /// Encodes the message for `version`, without the fields that the version lacks, and without
    /// flags.
    pub fn encode(&self, version: ProtocolVersion) -> Frame {
        let message = self.clone().in_version(version);
        let payload = match &message {
            Self::Start(start) => start.encode_to_vec().into(),
            Self::Suspension(suspension) => suspension.payload(version),
            Self::Error(error) => error.encode_to_vec().into(),
            Self::End => bytes::Bytes::new(),
            Self::CommandAck(ack) => ack.encode_to_vec().into(),
            Self::ProposeRunCompletion(proposal) => proposal.encode_to_vec().into(),
            Self::AwaitingOn(awaiting) => awaiting.encode_to_vec().into(),
            Self::ProposeRunCompletionAck(ack) => ack.encode_to_vec().into(),
            Self::GetStateEphemeral(read) => read.encode_to_vec().into(),
            Self::EphemeralState(state) => state.encode_to_vec().into(),
            Self::Command(command) => command.payload(),
            Self::Notification(notification) => notification.payload(),
        };
        Frame { number: self.number(), flags: Flags::NONE, payload }
    }

    /// Removes the fields that `version` does not have.
    fn in_version(mut self, version: ProtocolVersion) -> Self {
        match &mut self {
            Self::Start(start) => return Self::Start(std::mem::take(start).in_version(version)),
            Self::Error(error) => error.trim(version),
            Self::ProposeRunCompletion(proposal) => {
                if let Some(Proposal::Failure(failure)) = &mut proposal.result {
                    failure.trim(version);
                }
            }
            Self::Command(command) => command.trim(version),
            Self::Notification(notification) => {
                if let NotificationResult::Failure(failure) = &mut notification.result {
                    failure.trim(version);
                }
            }
            Self::Suspension(_)
            | Self::End
            | Self::CommandAck(_)
            | Self::AwaitingOn(_)
            | Self::ProposeRunCompletionAck(_)
            | Self::GetStateEphemeral(_)
            | Self::EphemeralState(_) => {}
        }
        self
    }

    /// Returns the type number in the frame header.
    pub fn number(&self) -> u16 {
        match self {
            Self::Start(_) => START,
            Self::Suspension(_) => SUSPENSION,
            Self::Error(_) => ERROR,
            Self::End => END,
            Self::CommandAck(_) => COMMAND_ACK,
            Self::ProposeRunCompletion(_) => PROPOSE_RUN,
            Self::AwaitingOn(_) => AWAITING_ON,
            Self::ProposeRunCompletionAck(_) => PROPOSE_RUN_ACK,
            Self::GetStateEphemeral(_) => GET_STATE_EPHEMERAL,
            Self::EphemeralState(_) => EPHEMERAL_STATE,
            Self::Command(command) => command.number(),
            Self::Notification(notification) => notification.kind.number(),
        }
    }

    /// Returns the type with its name.
    pub fn frame_type(&self) -> FrameType {
        frame_type(self.number())
    }
}

/// Returns the flags that a frame may have. A sender may request an acknowledgement for commands,
/// and from V7 for proposed outcomes of runs.
fn allowed_flags(number: u16, version: ProtocolVersion) -> Flags {
    let acknowledged = CommandKind::from_number(number).is_some()
        || (number == PROPOSE_RUN && version >= ProtocolVersion::V7);
    if acknowledged { Flags::REQUIRES_ACK } else { Flags::NONE }
}
