//! Every frame of the family as one type, read and written by version; and how an entry gets its
//! result.

use bytes::BytesMut;
use prost::Message as _;

use super::{
    control::{Completion, EntryAck, ErrorMessage, Suspension},
    entry::EntryResult,
    kind::{Completes, Entry, EntryKind},
};
use crate::{
    custom::{self, Custom},
    frame::{Flags, Frame},
    version::ProtocolVersion,
    violation::{FrameType, Violation},
    wire::{Start, Void},
};

/// One message of V1 to V3.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The attempt begins.
    Start(Start),
    /// The result of an entry.
    Completion(Completion),
    /// The attempt ends with a wait.
    Suspension(Suspension),
    /// The attempt failed.
    Error(ErrorMessage),
    /// An entry is stored.
    EntryAck(EntryAck),
    /// The invocation ended.
    End,
    /// Something that the invocation asked for.
    Entry(Entry),
}

const START: u16 = 0x0000;
const COMPLETION: u16 = 0x0001;
const SUSPENSION: u16 = 0x0002;
const ERROR: u16 = 0x0003;
const ENTRY_ACK: u16 = 0x0004;
const END: u16 = 0x0005;

/// The type of a frame of this family, by its number. One that no version has is `unknown`.
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
    /// Reads a frame as `version` has it: unknown fields are ignored, and those of later versions.
    /// Checked are its flags, and that it has the parts and the result that it needs and may have.
    ///
    /// # Errors
    /// A [`Violation`] that names the frame.
    pub fn decode(frame: &Frame, version: ProtocolVersion) -> Result<Self, Violation> {
        let Frame { number, flags, .. } = *frame;
        let payload = frame.payload.clone();
        let violation = |what: String| Violation::of(frame_type(number), what);
        let broken = |error: prost::DecodeError| violation(format!("cannot be decoded: {error}"));
        if flags.without(allowed_flags(number)) != Flags::NONE {
            return Err(violation(format!("must not have the flags {flags}")));
        }
        let message = match number {
            START => Self::Start(Start::decode(payload).map_err(broken)?),
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
                let entry = Entry::decode(kind, payload).map_err(violation)?;
                if let Some(fault) = entry.fault(flags.has(Flags::COMPLETED)) {
                    return Err(violation(fault));
                }
                Self::Entry(entry)
            }
        };
        Ok(message.in_version(version))
    }

    /// The frame that it is in `version`, without the fields that this does not have. An entry with
    /// a result that the runtime may give is flagged as completed; there are no other flags.
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
                let later = entry.kind().is_some_and(|it| it.completes() == Completes::Later);
                if later && entry.result().is_some() {
                    flags = Flags::COMPLETED;
                }
                entry.payload()
            }
        };
        Frame { number: self.number(), flags, payload }
    }

    /// The type in the header.
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

    /// The type, with the word for it.
    pub fn frame_type(&self) -> FrameType {
        frame_type(self.number())
    }

    /// The same without the fields that `version` does not have.
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

/// The flags that a frame may have: entries with a result that the runtime gives may have it, and
/// the sender of an entry may ask to hear that it is stored.
fn allowed_flags(number: u16) -> Flags {
    match EntryKind::from_number(number).map(EntryKind::completes) {
        Some(Completes::Later) => Flags::COMPLETED.with(Flags::REQUIRES_ACK),
        Some(Completes::Written | Completes::Never) => Flags::REQUIRES_ACK,
        None if number >= custom::FIRST => Flags::REQUIRES_ACK,
        None => Flags::NONE,
    }
}

/// Writes the result that came into an entry of the journal. What else the entry has, known or not,
/// stays as it is.
///
/// # Errors
/// A [`Violation`] when the entry gets none from the runtime, has one, or not such a one.
pub fn complete(
    entry: &Frame,
    result: &EntryResult,
    version: ProtocolVersion,
) -> Result<Frame, Violation> {
    let violation = |what: String| Violation::of(frame_type(entry.number), what);
    let Some(kind) = EntryKind::from_number(entry.number) else {
        return Err(violation("gets no result".into()));
    };
    if kind.completes() != Completes::Later {
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
    // The fields of messages that follow each other are those of one message; an index of 0 is not
    // written.
    let mut payload = BytesMut::from(&entry.payload[..]);
    completion.encode(&mut payload).expect("a buffer that grows");
    let flags = entry.flags.with(Flags::COMPLETED);
    Ok(Frame { number: entry.number, flags, payload: payload.freeze() })
}
