//! An attempt of V1 to V3.

mod action;

use bytes::Bytes;

use super::attempt::{AttemptJournal, RuntimeAttempt};
use crate::{
    frame::{Flags, Frame},
    mutable::{
        CancelTarget, Completion, CompletionMode, Entry, EntryAck, EntryKind, EntryResult,
        InvocationTarget, Message, frame_type,
    },
    version::{ProtocolFamily, ProtocolVersion},
    violation::{FrameType, ProtocolViolation},
    wire::StartMessage,
};

pub use self::action::{EntryAction, EntrySuspension};

/// State machine of the runtime's side of an attempt of V1 to V3.
pub type MutableRuntimeAttempt = RuntimeAttempt<MutableJournal>;

/// The entries of an attempt.
#[derive(Debug, Default)]
pub struct MutableJournal {
    /// True if there is an output.
    output: bool,
    /// The progress of each entry.
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

impl RuntimeAttempt<MutableJournal> {
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
        let Some(slot) = self.journal.entries.get_mut(index as usize) else {
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
        Ok(self.send(&message.encode(self.version)))
    }

    /// Acknowledges that an entry is stored. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if the entry did not request an acknowledgement, or was acknowledged before.
    pub fn acknowledge(&mut self, index: u32) -> Result<Bytes, ProtocolViolation> {
        let message = Message::EntryAck(EntryAck { entry_index: index });
        let closed = self.is_closed();
        match self.journal.entries.get_mut(index as usize) {
            Some(slot) if slot.ack == TransmissionState::Open => {
                slot.ack = if closed { TransmissionState::Untold } else { TransmissionState::Told };
                Ok(self.send(&message.encode(self.version)))
            }
            _ => {
                let what = "no entry with this index waits for it";
                Err(ProtocolViolation::of(message.frame_type(), what).at(index))
            }
        }
    }
}

impl AttemptJournal for MutableJournal {
    type Action = EntryAction;

    const FAMILY: ProtocolFamily = ProtocolFamily::Mutable;

    fn frame_type(number: u16) -> FrameType {
        frame_type(number)
    }

    fn start(start: StartMessage, version: ProtocolVersion) -> Frame {
        Message::Start(start).encode(version)
    }

    fn replay(&mut self, frame: &Frame, version: ProtocolVersion) -> Result<(), ProtocolViolation> {
        let violation = |what: &str| ProtocolViolation::of(frame_type(frame.number), what);
        let Message::Entry(entry) = Message::decode(frame, version)? else {
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
        Ok(())
    }

    fn receive(
        &mut self,
        frame: &Frame,
        version: ProtocolVersion,
        half_closed: bool,
    ) -> Result<EntryAction, ProtocolViolation> {
        let violation = |what: String| ProtocolViolation::of(frame_type(frame.number), what);
        let message = Message::decode(frame, version).map_err(|violation| {
            let entry = EntryKind::from_number(frame.number).is_some();
            if entry { violation.at(self.index()) } else { violation }
        })?;
        match message {
            Message::Entry(entry) => {
                let index = self.record(&entry, frame.flags)?;
                let requires_ack = frame.flags.has(Flags::REQUIRES_ACK);
                let record = frame.clone().without_request().to_bytes();
                Ok(EntryAction::Append { index, entry, record, requires_ack })
            }
            Message::Suspension(_) if self.output => {
                Err(violation("comes after the output".into()))
            }
            Message::Suspension(suspension) => {
                let suspended = self.suspend(&suspension.entry_indexes, half_closed);
                Ok(EntryAction::Suspend(suspended.map_err(violation)?))
            }
            Message::Error(error) => Ok(EntryAction::Failed(error)),
            Message::End if !self.output => Err(violation("comes without an output".into())),
            Message::End => Ok(EntryAction::Ended),
            Message::Start(_) | Message::Completion(_) | Message::EntryAck(_) => {
                Err(violation("comes from a runtime, and never from a deployment".into()))
            }
        }
    }

    fn ends(action: &EntryAction) -> bool {
        !matches!(action, EntryAction::Append { .. })
    }
}

impl MutableJournal {
    /// Returns the index of the next entry.
    fn index(&self) -> u32 {
        u32::try_from(self.entries.len()).expect("journals have fewer entries")
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

    fn suspend(&self, indexes: &[u32], half_closed: bool) -> Result<EntrySuspension, String> {
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
            ready |= !half_closed && [slot.result, slot.ack].contains(&TransmissionState::Told);
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
