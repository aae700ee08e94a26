//! All frames of the family as one type, decoded and encoded by version; and the completion of
//! entries.

use bytes::BytesMut;
use prost::Message as _;

use super::{
    control::{Completion, EntryAck, ErrorMessage, Suspension},
    entry::EntryResult,
    kind::{CompletionMode, Entry, EntryKind},
};
use crate::{
    custom::{self, Custom},
    frame::{Flags, Frame},
    version::ProtocolVersion,
    violation::{FrameType, ProtocolViolation},
    wire::{StartMessage, Void},
};

/// A message of V1 to V3.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Begins the attempt.
    Start(StartMessage),
    /// Delivers the result of an entry.
    Completion(Completion),
    /// Ends the attempt with a wait.
    Suspension(Suspension),
    /// Reports that the attempt failed.
    Error(ErrorMessage),
    /// Acknowledges a stored entry.
    EntryAck(EntryAck),
    /// Reports that the invocation ended.
    End,
    /// An operation of the invocation.
    Entry(Entry),
}

const START: u16 = 0x0000;
const COMPLETION: u16 = 0x0001;
const SUSPENSION: u16 = 0x0002;
const ERROR: u16 = 0x0003;
const ENTRY_ACK: u16 = 0x0004;
const END: u16 = 0x0005;

/// Returns the type of a frame of this family by number; named `unknown` if no version has it.
pub fn frame_type(number: u16) -> FrameType {
    let name = match number {
        START => "Start",
        COMPLETION => "Completion",
        SUSPENSION => "Suspension",
        ERROR => "Error",
        ENTRY_ACK => "EntryAck",
        END => "End",
        _ if number >= custom::FIRST => "custom entry",
        _ => EntryKind::from_number(number).map_or("unknown", EntryKind::name),
    };
    FrameType { number, name }
}

impl Message {
    /// Decodes a frame of `version`. Ignores unknown fields and fields of later versions. Checks
    /// the flags, the required fields, and the result.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] that names the frame.
    pub fn decode(frame: &Frame, version: ProtocolVersion) -> Result<Self, ProtocolViolation> {
        let Frame { number, flags, .. } = *frame;
        let payload = frame.payload.clone();
        let violation = |what: String| ProtocolViolation::of(frame_type(number), what);
        let broken = |error: prost::DecodeError| violation(format!("cannot be decoded: {error}"));
        if flags.without(allowed_flags(number)) != Flags::NONE {
            return Err(violation(format!("must not have the flags {flags}")));
        }
        let message = match number {
            START => Self::Start(StartMessage::decode(payload).map_err(broken)?),
            COMPLETION => {
                let completion = Completion::decode(payload).map_err(broken)?;
                if completion.result.is_none() {
                    return Err(violation("has no result".into()).at(completion.entry_index));
                }
                Self::Completion(completion)
            }
            SUSPENSION => Self::Suspension(Suspension::decode(payload).map_err(broken)?),
            ERROR => Self::Error(ErrorMessage::decode(payload).map_err(broken)?),
            ENTRY_ACK => Self::EntryAck(EntryAck::decode(payload).map_err(broken)?),
            END => {
                Void::decode(payload).map_err(broken)?;
                Self::End
            }
            _ if number >= custom::FIRST => {
                let custom = Custom::decode(number, &payload).map_err(violation)?;
                Self::Entry(Entry::Custom(custom))
            }
            _ => {
                let Some(kind) = EntryKind::from_number(number) else {
                    return Err(violation(format!("is not part of {version}")));
                };
                if version < kind.since() {
                    let since = kind.since();
                    return Err(violation(format!("is not part of {version}, but of {since}")));
                }
                let completed = flags.has(Flags::COMPLETED);
                Self::Entry(Entry::decode(kind, payload, completed).map_err(violation)?)
            }
        };
        Ok(message.in_version(version))
    }

    /// Encodes the message for `version`, without the fields that the version lacks. Sets the
    /// `COMPLETED` flag on an entry that the runtime may complete and that has a result; sets no
    /// other flag.
    pub fn encode(&self, version: ProtocolVersion) -> Frame {
        let message = self.clone().in_version(version);
        let mut flags = Flags::NONE;
        let payload = match &message {
            Self::Start(start) => start.encode_to_vec().into(),
            Self::Completion(completion) => completion.encode_to_vec().into(),
            Self::Suspension(suspension) => suspension.encode_to_vec().into(),
            Self::Error(error) => error.encode_to_vec().into(),
            Self::EntryAck(ack) => ack.encode_to_vec().into(),
            Self::End => bytes::Bytes::new(),
            Self::Entry(entry) => {
                let later = entry.kind().is_some_and(|it| it.completes() == CompletionMode::Later);
                if later && entry.result().is_some() {
                    flags = Flags::COMPLETED;
                }
                entry.payload()
            }
        };
        Frame { number: self.number(), flags, payload }
    }

    /// Returns the type number in the frame header.
    pub fn number(&self) -> u16 {
        match self {
            Self::Start(_) => START,
            Self::Completion(_) => COMPLETION,
            Self::Suspension(_) => SUSPENSION,
            Self::Error(_) => ERROR,
            Self::EntryAck(_) => ENTRY_ACK,
            Self::End => END,
            Self::Entry(entry) => entry.number(),
        }
    }

    /// Returns the type with its name.
    pub fn frame_type(&self) -> FrameType {
        frame_type(self.number())
    }

    /// Removes the fields that `version` does not have.
    fn in_version(mut self, version: ProtocolVersion) -> Self {
        let trim = |result: &mut Option<EntryResult>| {
            if let Some(EntryResult::Failure(failure)) = result {
                failure.trim(version);
            }
        };
        match &mut self {
            Self::Start(start) => return Self::Start(std::mem::take(start).in_version(version)),
            Self::Error(error) => error.trim(version),
            Self::Completion(completion) => trim(&mut completion.result),
            Self::Entry(entry) => entry.trim(version),
            Self::Suspension(_) | Self::EntryAck(_) | Self::End => {}
        }
        self
    }
}

/// Returns the flags that a frame may have: `COMPLETED` for entries that the runtime may complete,
/// and `REQUIRES_ACK` for all entries.
fn allowed_flags(number: u16) -> Flags {
    match EntryKind::from_number(number).map(EntryKind::completes) {
        Some(CompletionMode::Later) => Flags::COMPLETED.with(Flags::REQUIRES_ACK),
        Some(CompletionMode::Written | CompletionMode::Never) => Flags::REQUIRES_ACK,
        None if number >= custom::FIRST => Flags::REQUIRES_ACK,
        None => Flags::NONE,
    }
}

/// Adds a result to an entry of the journal. Keeps all other fields of the entry, including unknown
/// ones.
///
/// # Errors
/// A [`ProtocolViolation`] if the runtime does not complete such entries, if the entry has a result
/// already, or if its kind does not allow this result.
pub fn complete(
    entry: &Frame,
    result: &EntryResult,
    version: ProtocolVersion,
) -> Result<Frame, ProtocolViolation> {
    let violation = |what: String| ProtocolViolation::of(frame_type(entry.number), what);
    let Some(kind) = EntryKind::from_number(entry.number) else {
        return Err(violation("gets no result".into()));
    };
    if kind.completes() != CompletionMode::Later {
        return Err(violation("gets no result".into()));
    }
    if entry.flags.has(Flags::COMPLETED) {
        return Err(violation("has its result already".into()));
    }
    if let Some(fault) = kind.fault(result) {
        return Err(violation(fault));
    }
    let completion = Completion { entry_index: 0, result: Some(result.clone()) };
    let Message::Completion(completion) = Message::Completion(completion).in_version(version)
    else {
        unreachable!("made a line above");
    };
    // Concatenated protobuf messages decode as one merged message. An index of 0 is not encoded.
    let mut payload = BytesMut::from(&entry.payload[..]);
    completion.encode(&mut payload).expect("a buffer that grows");
    let flags = entry.flags.with(Flags::COMPLETED);
    Ok(Frame { number: entry.number, flags, payload: payload.freeze() })
}
