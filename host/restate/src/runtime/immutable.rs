//! An attempt of V5 to V8.

mod action;
mod journal;

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};

pub use self::action::{CommandAction, FutureSuspension};
use self::journal::{CompletionProgress, JournalBookkeeping};
use crate::{
    failure,
    frame::{Flags, Frame, FrameDecoder, MESSAGE_LIMIT},
    immutable::{
        Command, CommandAck, CommandKind, EphemeralResult, EphemeralState, Future, Message,
        Notification, NotificationId, NotificationOutcome, ProposeRunCompletionAck, frame_type,
    },
    version::{ProtocolFamily, ProtocolVersion},
    violation::{FrameType, ProtocolViolation},
    wire::{StartMessage, ValueMessage, Void},
};

/// State machine of the runtime's side of an attempt.
#[derive(Debug)]
pub struct ImmutableRuntimeAttempt {
    version: ProtocolVersion,
    decoder: FrameDecoder,
    /// The frame that ended the attempt.
    ended_by: Option<FrameType>,
    journal: JournalBookkeeping,
    /// True if the request's body has ended.
    half_closed: bool,
    /// Notifications sent in this attempt, after the journal.
    told: BTreeMap<NotificationId, NotificationOutcome>,
    /// Notifications that arrived too late to be sent.
    untold: BTreeMap<NotificationId, NotificationOutcome>,
    /// Indexes of the commands that await an acknowledgement.
    unacknowledged: BTreeSet<u32>,
    /// Numbers of the unanswered state reads.
    reads: BTreeSet<u32>,
}

impl ImmutableRuntimeAttempt {
    /// Begins an attempt with the frames of the journal, in the order of storage. Writes the number
    /// of frames into `start`. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] in the journal itself, with the index of the frame in the journal.
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
        assert_eq!(version.family(), ProtocolFamily::Immutable, "{version} has entries");
        let mut attempt = Self {
            version,
            decoder: FrameDecoder::new(limit),
            ended_by: None,
            journal: JournalBookkeeping::default(),
            half_closed: false,
            told: BTreeMap::new(),
            untold: BTreeMap::new(),
            unacknowledged: BTreeSet::new(),
            reads: BTreeSet::new(),
        };
        let mut replay = BytesMut::new();
        let mut known_entries = 0;
        for record in journal {
            let frame = attempt.replay(record).map_err(|violation| violation.at(known_entries))?;
            frame.write(&mut replay);
            known_entries += 1;
        }
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
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<CommandAction>, ProtocolViolation> {
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

    /// Sends a notification that is stored at the end of the journal. Returns the bytes to send;
    /// empty if the attempt or the request's body has ended.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if no command requested the notification, if it was sent before, or if it
    /// does not match the command.
    pub fn notify(&mut self, notification: &Notification) -> Result<Bytes, ProtocolViolation> {
        let message = Message::Notification(notification.clone());
        if let Some(fault) = notification.fault() {
            return Err(ProtocolViolation::of(message.frame_type(), fault));
        }
        let closed = self.half_closed || self.ended_by.is_some();
        let proposed = self.journal.settle(notification, closed)?;
        let settled = if notification.is_failure() {
            NotificationOutcome::Failed
        } else {
            NotificationOutcome::Succeeded
        };
        let which = if closed { &mut self.untold } else { &mut self.told };
        which.insert(notification.id.clone(), settled);
        if closed {
            return Ok(Bytes::new());
        }
        let message = match (proposed, &notification.id) {
            (
                CompletionProgress::Proposed { requires_ack: true },
                NotificationId::Completion(id),
            ) => Message::ProposeRunCompletionAck(ProposeRunCompletionAck { completion_id: *id }),
            _ => message,
        };
        Ok(message.encode(self.version).to_bytes())
    }

    /// Acknowledges that a command is stored. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if the command did not request an acknowledgement, or was acknowledged
    /// before.
    pub fn acknowledge(&mut self, index: u32) -> Result<Bytes, ProtocolViolation> {
        let message = Message::CommandAck(CommandAck { command_index: index });
        if !self.unacknowledged.remove(&index) {
            let what = "no command with this index waits for it";
            return Err(ProtocolViolation::of(message.frame_type(), what).at(index));
        }
        Ok(self.send(&message))
    }

    /// Answers a read of a state key. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if there was no such read, or it was answered before.
    pub fn answer_state(
        &mut self,
        ephemeral_completion_id: u32,
        value: Option<Bytes>,
    ) -> Result<Bytes, ProtocolViolation> {
        let result = Some(match value {
            Some(content) => EphemeralResult::Value(ValueMessage { content }),
            None => EphemeralResult::Void(Void {}),
        });
        let message = Message::EphemeralState(EphemeralState { ephemeral_completion_id, result });
        if !self.reads.remove(&ephemeral_completion_id) {
            let what = format!("no read has the number {ephemeral_completion_id}");
            return Err(ProtocolViolation::of(message.frame_type(), what));
        }
        Ok(self.send(&message))
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
        let ended = self.ended_by.is_some();
        let what = match (pending, ended) {
            (0, true) => return Ok(()),
            (0, false) => "the response ended without End, Suspension or Error".to_owned(),
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

    fn send(&self, message: &Message) -> Bytes {
        if self.half_closed || self.ended_by.is_some() {
            return Bytes::new();
        }
        message.encode(self.version).to_bytes()
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
        let message = Message::decode(&frame, self.version)?;
        let violation = |what: &str| ProtocolViolation::of(message.frame_type(), what);
        match &message {
            Message::Command(Command::Input(_)) if self.journal.commands == 0 => {
                self.journal.commands = 1;
            }
            Message::Command(Command::Input(_)) => return Err(violation("is a second input")),
            Message::Command(_) if self.journal.commands == 0 => {
                return Err(violation("comes before the input"));
            }
            Message::Command(command) => drop(self.journal.record(command)?),
            Message::Notification(notification) => {
                self.journal.settle(notification, false)?;
            }
            Message::Start(_)
            | Message::Suspension(_)
            | Message::Error(_)
            | Message::End
            | Message::CommandAck(_)
            | Message::ProposeRunCompletion(_)
            | Message::AwaitingOn(_)
            | Message::ProposeRunCompletionAck(_)
            | Message::GetStateEphemeral(_)
            | Message::EphemeralState(_) => return Err(violation("is not part of a journal")),
        }
        Ok(frame)
    }

    fn action(&mut self, frame: &Frame) -> Result<CommandAction, ProtocolViolation> {
        let kind = frame_type(frame.number);
        let violation = |what: String| ProtocolViolation::of(kind, what);
        if let Some(end) = self.ended_by {
            return Err(violation(format!("comes after {end}")));
        }
        let message = Message::decode(frame, self.version).map_err(|violation| {
            let command = CommandKind::from_number(frame.number).is_some();
            if command { violation.at(self.journal.commands) } else { violation }
        })?;
        match message {
            Message::Command(command) => {
                let index = self.journal.record(&command)?;
                let requires_ack = frame.flags.has(Flags::REQUIRES_ACK);
                if requires_ack {
                    self.unacknowledged.insert(index);
                }
                let flags = frame.flags.without(Flags::REQUIRES_ACK);
                let record = Frame { flags, ..frame.clone() }.to_bytes();
                Ok(CommandAction::Append { index, command, record, requires_ack })
            }
            Message::ProposeRunCompletion(proposal) => {
                self.journal.propose(proposal, frame.flags.has(Flags::REQUIRES_ACK))
            }
            Message::AwaitingOn(awaiting) => Ok(CommandAction::AwaitingOn(awaiting)),
            Message::GetStateEphemeral(read) => {
                let ephemeral_completion_id = read.ephemeral_completion_id;
                if !self.reads.insert(ephemeral_completion_id) {
                    let what = format!("the read {ephemeral_completion_id} is in progress already");
                    return Err(violation(what));
                }
                Ok(CommandAction::ReadState { ephemeral_completion_id, key: read.key })
            }
            Message::Suspension(suspension) => {
                if self.journal.output {
                    return Err(violation("comes after the output".into()));
                }
                let suspended = self.suspend(suspension.awaiting).map_err(violation)?;
                self.ended_by = Some(kind);
                Ok(CommandAction::Suspend(suspended))
            }
            Message::Error(error) => {
                self.ended_by = Some(kind);
                Ok(CommandAction::Failed(error))
            }
            Message::End if !self.journal.output => {
                Err(violation("comes without an output".into()))
            }
            Message::End => {
                self.ended_by = Some(kind);
                Ok(CommandAction::Ended)
            }
            Message::Start(_)
            | Message::CommandAck(_)
            | Message::ProposeRunCompletionAck(_)
            | Message::EphemeralState(_)
            | Message::Notification(_) => {
                Err(violation("comes from a runtime, and never from a deployment".into()))
            }
        }
    }

    fn suspend(&self, awaiting: Future) -> Result<FutureSuspension, String> {
        let hope = self.journal.hope(&awaiting.leaves())?;
        // A deployment that saw the end of the request saw everything before it. Otherwise this
        // wait and the notifications may have crossed on the wire.
        let crossed = |id: &NotificationId| {
            self.told.get(id).filter(|_| !self.half_closed).or_else(|| self.untold.get(id)).copied()
        };
        let ready = hope.run || awaiting.is_satisfied(crossed);
        if !hope.possible && !ready {
            return Err("waits for results that it has received".to_owned());
        }
        Ok(FutureSuspension { awaiting, ready })
    }
}

#[cfg(test)]
mod tests;
