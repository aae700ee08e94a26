//! An attempt of V1 to V3.

mod action;

use bytes::{Bytes, BytesMut};

use crate::{
    failure,
    frame::{Flags, Frame, FrameDecoder, MESSAGE_LIMIT},
    mutable::{
        CancelTarget, Completion, CompletionMode, Entry, EntryAck, EntryKind, EntryResult,
        InvocationTarget, Message, frame_type,
    },
    version::{ProtocolFamily, ProtocolVersion},
    violation::{FrameType, ProtocolViolation},
    wire::StartMessage,
};

pub use self::action::{EntryAction, EntrySuspension};

/// State machine of the runtime's side of an attempt.
#[derive(Debug)]
pub struct MutableRuntimeAttempt {
    version: ProtocolVersion,
    decoder: FrameDecoder,
    /// The frame that ended the attempt.
    ended_by: Option<FrameType>,
    /// True if the journal has an output.
    output: bool,
    /// True if the request's body has ended.
    half_closed: bool,
    /// The journal: the progress of each entry.
    entries: Vec<EntryProgress>,
}

#[derive(Clone, Copy, Debug)]
struct EntryProgress {
    /// `None` for an entry defined by an SDK.
    kind: Option<EntryKind>,
    result: TransmissionState,
    ack: TransmissionState,
}

/// Progress of a result or an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransmissionState {
    /// Never sent: it was not requested, or the journal had it before the attempt.
    Never,
    /// Still to be sent.
    Open,
    /// Sent in this attempt.
    Told,
    /// Arrived too late to be sent.
    Untold,
}

impl MutableRuntimeAttempt {
    /// Begins an attempt with the frames of the journal in order, each with its result if
    /// available. Writes the number of frames into `start`. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] in the journal itself.
    ///
    /// # Panics
    /// If `version` is of the other family.
    pub fn open<'a>(
        version: ProtocolVersion,
        start: StartMessage,
        journal: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(Self, Bytes), ProtocolViolation> {
        Self::open_with_limit(version, start, journal, MESSAGE_LIMIT)
    }

    /// Like [`open`](Self::open), with another maximum message length, in bytes.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] in the journal itself.
    ///
    /// # Panics
    /// If `version` is of the other family.
    pub fn open_with_limit<'a>(
        version: ProtocolVersion,
        start: StartMessage,
        journal: impl IntoIterator<Item = &'a [u8]>,
        limit: usize,
    ) -> Result<(Self, Bytes), ProtocolViolation> {
        assert_eq!(
            version.family(),
            ProtocolFamily::Mutable,
            "{version} has commands and notifications"
        );
        let mut attempt = Self {
            version,
            decoder: FrameDecoder::new(limit),
            ended_by: None,
            output: false,
            half_closed: false,
            entries: Vec::new(),
        };
        let mut replay = BytesMut::new();
        for record in journal {
            let index = attempt.index();
            let frame = attempt.replay(record).map_err(|violation| violation.at(index))?;
            frame.write(&mut replay);
        }
        let known_entries = attempt.index();
        if known_entries == 0 {
            return Err(ProtocolViolation::new("a journal has its input at least"));
        }
        let start = Message::Start(StartMessage { known_entries, ..start });
        let mut out = BytesMut::new();
        start.encode(version).write(&mut out);
        out.unsplit(replay);
        Ok((attempt, out.freeze()))
    }

    /// Takes a piece of the response.
    ///
    /// # Errors
    /// A [`ProtocolViolation`]; the attempt is then over.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<EntryAction>, ProtocolViolation> {
        self.decoder.feed(bytes);
        let mut actions = Vec::new();
        while let Some(frame) = self.next_frame()? {
            let action = self.action(&frame).inspect_err(|violation| {
                self.ended_by = violation.frame;
            })?;
            actions.push(action);
        }
        Ok(actions)
    }

    /// Sends the result of an entry. The entry must be stored with the result. Returns the bytes to
    /// send; empty if the attempt or the request's body has ended.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if the runtime does not complete such entries, if the entry has a result
    /// already, or if its kind does not allow this result.
    pub fn complete(
        &mut self,
        index: u32,
        result: &EntryResult,
    ) -> Result<Bytes, ProtocolViolation> {
        let completion = Completion { entry_index: index, result: Some(result.clone()) };
        let message = Message::Completion(completion);
        let closed = self.is_closed();
        let violation = |what: String| ProtocolViolation::of(message.frame_type(), what).at(index);
        let Some(slot) = self.entries.get_mut(index as usize) else {
            return Err(violation("the journal has no such entry".into()));
        };
        let Some(kind) = slot.kind.filter(|kind| kind.completes() == CompletionMode::Later) else {
            return Err(violation("the entry gets no result".into()));
        };
        if slot.result != TransmissionState::Open {
            return Err(violation(format!("the {} has its result already", kind.name())));
        }
        if let Some(fault) = kind.fault(result) {
            return Err(violation(format!("a {} {fault}", kind.name())));
        }
        slot.result = if closed { TransmissionState::Untold } else { TransmissionState::Told };
        Ok(self.send(&message))
    }

    /// Acknowledges that an entry is stored. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if the entry did not request an acknowledgement, or was acknowledged before.
    pub fn acknowledge(&mut self, index: u32) -> Result<Bytes, ProtocolViolation> {
        let message = Message::EntryAck(EntryAck { entry_index: index });
        let closed = self.is_closed();
        match self.entries.get_mut(index as usize) {
            Some(slot) if slot.ack == TransmissionState::Open => {
                slot.ack = if closed { TransmissionState::Untold } else { TransmissionState::Told };
                Ok(self.send(&message))
            }
            _ => {
                let what = "no entry with this index waits for it";
                Err(ProtocolViolation::of(message.frame_type(), what).at(index))
            }
        }
    }

    /// Ends the request's body. The deployment continues until it has to wait, and then suspends.
    pub fn half_close(&mut self) {
        self.half_closed = true;
    }

    /// Handles the end of the response's body.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if it ended within a frame, or before the attempt was over.
    pub fn end_of_input(&mut self) -> Result<(), ProtocolViolation> {
        let pending = self.decoder.pending();
        let what = match (pending, self.ended_by) {
            (0, Some(_)) => return Ok(()),
            (0, None) => "the response ended without End, Suspension or Error".to_owned(),
            _ => format!("the response was cut off {pending} bytes into a frame"),
        };
        let violation = ProtocolViolation::new(what).with_code(failure::INTERNAL);
        self.ended_by = self.ended_by.or(Some(FrameType { number: 0, name: "end of input" }));
        Err(violation)
    }

    /// Returns true after an end, a suspension, an error or a violation.
    pub fn is_over(&self) -> bool {
        self.ended_by.is_some()
    }

    fn is_closed(&self) -> bool {
        self.half_closed || self.ended_by.is_some()
    }

    fn send(&self, message: &Message) -> Bytes {
        if self.is_closed() { Bytes::new() } else { message.encode(self.version).to_bytes() }
    }

    /// Returns the index of the next entry.
    fn index(&self) -> u32 {
        u32::try_from(self.entries.len()).expect("journals have fewer entries")
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, ProtocolViolation> {
        self.decoder.next_frame().map_err(|refused| {
            let frame = frame_type(refused.number);
            self.ended_by = Some(frame);
            ProtocolViolation::of(frame, refused.to_string())
        })
    }

    /// Adds a frame of the journal, and returns it as it is to be sent.
    fn replay(&mut self, record: &[u8]) -> Result<Frame, ProtocolViolation> {
        let mut frame =
            Frame::from_bytes(record).ok_or_else(|| ProtocolViolation::new("is not one frame"))?;
        frame.flags = frame.flags.without(Flags::REQUIRES_ACK);
        let kind = frame_type(frame.number);
        let violation = |what: &str| ProtocolViolation::of(kind, what);
        let Message::Entry(entry) = Message::decode(&frame, self.version)? else {
            return Err(violation("is not part of a journal"));
        };
        match (&entry, self.entries.is_empty()) {
            (Entry::Input(_), true) => {
                let slot = EntryProgress {
                    kind: entry.kind(),
                    result: TransmissionState::Never,
                    ack: TransmissionState::Never,
                };
                self.entries.push(slot);
            }
            (Entry::Input(_), false) => return Err(violation("is a second input")),
            (_, true) => return Err(violation("comes before the input")),
            (_, false) => drop(self.record(&entry, frame.flags)?),
        }
        Ok(frame)
    }

    fn action(&mut self, frame: &Frame) -> Result<EntryAction, ProtocolViolation> {
        let kind = frame_type(frame.number);
        let violation = |what: String| ProtocolViolation::of(kind, what);
        if let Some(end) = self.ended_by {
            return Err(violation(format!("comes after {end}")));
        }
        let message = Message::decode(frame, self.version).map_err(|violation| {
            let entry = EntryKind::from_number(frame.number).is_some();
            if entry { violation.at(self.index()) } else { violation }
        })?;
        match message {
            Message::Entry(entry) => {
                let index = self.record(&entry, frame.flags)?;
                let requires_ack = frame.flags.has(Flags::REQUIRES_ACK);
                let flags = frame.flags.without(Flags::REQUIRES_ACK);
                let record = Frame { flags, ..frame.clone() }.to_bytes();
                Ok(EntryAction::Append { index, entry, record, requires_ack })
            }
            Message::Suspension(_) if self.output => {
                Err(violation("comes after the output".into()))
            }
            Message::Suspension(suspension) => {
                let suspended = self.suspend(&suspension.entry_indexes).map_err(violation)?;
                self.ended_by = Some(kind);
                Ok(EntryAction::Suspend(suspended))
            }
            Message::Error(error) => {
                self.ended_by = Some(kind);
                Ok(EntryAction::Failed(error))
            }
            Message::End if !self.output => Err(violation("comes without an output".into())),
            Message::End => {
                self.ended_by = Some(kind);
                Ok(EntryAction::Ended)
            }
            Message::Start(_) | Message::Completion(_) | Message::EntryAck(_) => {
                Err(violation("comes from a runtime, and never from a deployment".into()))
            }
        }
    }

    /// Adds an entry to the journal and returns its index.
    fn record(&mut self, entry: &Entry, flags: Flags) -> Result<u32, ProtocolViolation> {
        let index = self.index();
        let violation =
            |what: String| ProtocolViolation::of(frame_type(entry.number()), what).at(index);
        if matches!(entry, Entry::Input(_)) {
            return Err(violation("is written by the runtime alone".into()));
        }
        if self.output {
            return Err(violation("comes after the output".into()));
        }
        if let Some(call) = call_entry_index(entry) {
            let kind = self.entries.get(call as usize).and_then(|slot| slot.kind);
            if !matches!(kind, Some(EntryKind::Call | EntryKind::OneWayCall)) {
                return Err(violation(format!("names entry {call}, which is no call")));
            }
        }
        let later = entry.kind().is_some_and(|kind| kind.completes() == CompletionMode::Later);
        let result = if later && !flags.has(Flags::COMPLETED) {
            TransmissionState::Open
        } else {
            TransmissionState::Never
        };
        let ack = if flags.has(Flags::REQUIRES_ACK) {
            TransmissionState::Open
        } else {
            TransmissionState::Never
        };
        self.entries.push(EntryProgress { kind: entry.kind(), result, ack });
        self.output = matches!(entry, Entry::Output(_));
        Ok(index)
    }

    fn suspend(&self, indexes: &[u32]) -> Result<EntrySuspension, String> {
        if indexes.is_empty() {
            return Err("waits for nothing".to_owned());
        }
        let mut possible = false;
        let mut ready = false;
        for index in indexes {
            let Some(slot) = self.entries.get(*index as usize) else {
                return Err(format!("waits for entry {index}, which the journal does not have"));
            };
            let completes = slot.kind.map(EntryKind::completes);
            let run = slot.kind == Some(EntryKind::Run);
            if completes != Some(CompletionMode::Later)
                && slot.ack == TransmissionState::Never
                && !run
            {
                return Err(format!("waits for entry {index}, which gets no result"));
            }
            possible |= slot.result == TransmissionState::Open;
            // The entry is stored, or will be soon: the next attempt sees it in the journal.
            ready |= matches!(slot.ack, TransmissionState::Open | TransmissionState::Untold)
                || slot.result == TransmissionState::Untold;
            // The result was sent while the deployment was already suspending.
            ready |=
                !self.half_closed && [slot.result, slot.ack].contains(&TransmissionState::Told);
        }
        if !possible && !ready {
            return Err("waits for results that it has received".to_owned());
        }
        Ok(EntrySuspension { indexes: indexes.iter().copied().collect(), ready })
    }
}

/// Returns the index of the calling entry to which `entry` refers, if any.
fn call_entry_index(entry: &Entry) -> Option<u32> {
    let target = match entry {
        Entry::GetCallInvocationId(get) => return Some(get.call_entry_index),
        Entry::CancelInvocation(cancel) => {
            let Some(CancelTarget::CallEntryIndex(index)) = cancel.target else { return None };
            return Some(index);
        }
        Entry::AttachInvocation(attach) => &attach.target,
        Entry::GetInvocationOutput(get) => &get.target,
        _ => return None,
    };
    match target {
        Some(InvocationTarget::CallEntryIndex(index)) => Some(*index),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
