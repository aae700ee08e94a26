//! An attempt of V5 to V8.

mod action;
mod journal;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

pub use self::action::{CommandAction, FutureSuspension};
use self::journal::{CompletionProgress, JournalBookkeeping};
use super::attempt::{AttemptJournal, RuntimeAttempt};
use crate::{
    frame::{Flags, Frame},
    immutable::{
        Command, CommandAck, CommandKind, EphemeralResult, EphemeralState, Future, Message,
        Notification, NotificationId, NotificationOutcome, ProposeRunCompletionAck, frame_type,
    },
    version::{ProtocolFamily, ProtocolVersion},
    violation::{FrameType, ProtocolViolation},
    wire::{StartMessage, ValueMessage, Void},
};

/// State machine of the runtime's side of an attempt of V5 to V8.
pub type ImmutableRuntimeAttempt = RuntimeAttempt<ImmutableJournal>;

/// The commands and notifications of an attempt.
#[derive(Debug, Default)]
pub struct ImmutableJournal {
    stored: JournalBookkeeping,
    /// Notifications sent in this attempt, after the journal.
    told: BTreeMap<NotificationId, NotificationOutcome>,
    /// Notifications that arrived too late to be sent.
    untold: BTreeMap<NotificationId, NotificationOutcome>,
    /// Indexes of the commands that await an acknowledgement.
    unacknowledged: BTreeSet<u32>,
    /// Numbers of the unanswered state reads.
    reads: BTreeSet<u32>,
}

impl RuntimeAttempt<ImmutableJournal> {
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
        let closed = self.is_closed();
        let proposed = self.journal.stored.settle(notification, closed)?;
        let settled = if notification.is_failure() {
            NotificationOutcome::Failed
        } else {
            NotificationOutcome::Succeeded
        };
        let journal = &mut self.journal;
        let which = if closed { &mut journal.untold } else { &mut journal.told };
        which.insert(notification.id.clone(), settled);
        let message = match (proposed, &notification.id) {
            (
                CompletionProgress::Proposed { requires_ack: true },
                NotificationId::Completion(id),
            ) => Message::ProposeRunCompletionAck(ProposeRunCompletionAck { completion_id: *id }),
            _ => message,
        };
        Ok(self.send(&message.encode(self.version)))
    }

    /// Acknowledges that a command is stored. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if the command did not request an acknowledgement, or was acknowledged
    /// before.
    pub fn acknowledge(&mut self, index: u32) -> Result<Bytes, ProtocolViolation> {
        let message = Message::CommandAck(CommandAck { command_index: index });
        if !self.journal.unacknowledged.remove(&index) {
            let what = "no command with this index waits for it";
            return Err(ProtocolViolation::of(message.frame_type(), what).at(index));
        }
        Ok(self.send(&message.encode(self.version)))
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
        if !self.journal.reads.remove(&ephemeral_completion_id) {
            let what = format!("no read has the number {ephemeral_completion_id}");
            return Err(ProtocolViolation::of(message.frame_type(), what));
        }
        Ok(self.send(&message.encode(self.version)))
    }
}

impl AttemptJournal for ImmutableJournal {
    type Action = CommandAction;

    const FAMILY: ProtocolFamily = ProtocolFamily::Immutable;

    fn frame_type(number: u16) -> FrameType {
        frame_type(number)
    }

    fn start(start: StartMessage, version: ProtocolVersion) -> Frame {
        Message::Start(start).encode(version)
    }

    fn replay(&mut self, frame: &Frame, version: ProtocolVersion) -> Result<(), ProtocolViolation> {
        let message = Message::decode(frame, version)?;
        let violation = |what: &str| ProtocolViolation::of(message.frame_type(), what);
        match &message {
            Message::Command(Command::Input(_)) if self.stored.commands == 0 => {
                self.stored.commands = 1;
            }
            Message::Command(Command::Input(_)) => return Err(violation("is a second input")),
            Message::Command(_) if self.stored.commands == 0 => {
                return Err(violation("comes before the input"));
            }
            Message::Command(command) => drop(self.stored.record(command)?),
            Message::Notification(notification) => {
                self.stored.settle(notification, false)?;
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
        Ok(())
    }

    fn receive(
        &mut self,
        frame: &Frame,
        version: ProtocolVersion,
        half_closed: bool,
    ) -> Result<CommandAction, ProtocolViolation> {
        let violation = |what: String| ProtocolViolation::of(frame_type(frame.number), what);
        let message = Message::decode(frame, version).map_err(|violation| {
            let command = CommandKind::from_number(frame.number).is_some();
            if command { violation.at(self.stored.commands) } else { violation }
        })?;
        let requires_ack = frame.flags.has(Flags::REQUIRES_ACK);
        match message {
            Message::Command(command) => {
                let index = self.stored.record(&command)?;
                if requires_ack {
                    self.unacknowledged.insert(index);
                }
                let record = frame.clone().without_request().to_bytes();
                Ok(CommandAction::Append { index, command, record, requires_ack })
            }
            Message::ProposeRunCompletion(proposal) => self.stored.propose(proposal, requires_ack),
            Message::AwaitingOn(awaiting) => Ok(CommandAction::AwaitingOn(awaiting)),
            Message::GetStateEphemeral(read) => {
                let ephemeral_completion_id = read.ephemeral_completion_id;
                if !self.reads.insert(ephemeral_completion_id) {
                    let what = format!("the read {ephemeral_completion_id} is in progress already");
                    return Err(violation(what));
                }
                Ok(CommandAction::ReadState { ephemeral_completion_id, key: read.key })
            }
            Message::Suspension(_) if self.stored.output => {
                Err(violation("comes after the output".into()))
            }
            Message::Suspension(suspension) => {
                let suspended = self.suspend(suspension.awaiting, half_closed);
                Ok(CommandAction::Suspend(suspended.map_err(violation)?))
            }
            Message::Error(error) => Ok(CommandAction::Failed(error)),
            Message::End if !self.stored.output => Err(violation("comes without an output".into())),
            Message::End => Ok(CommandAction::Ended),
            Message::Start(_)
            | Message::CommandAck(_)
            | Message::ProposeRunCompletionAck(_)
            | Message::EphemeralState(_)
            | Message::Notification(_) => {
                Err(violation("comes from a runtime, and never from a deployment".into()))
            }
        }
    }

    fn ends(action: &CommandAction) -> bool {
        matches!(
            action,
            CommandAction::Suspend(_) | CommandAction::Failed(_) | CommandAction::Ended
        )
    }
}

impl ImmutableJournal {
    fn suspend(&self, awaiting: Future, half_closed: bool) -> Result<FutureSuspension, String> {
        let hope = self.stored.hope(&awaiting.leaves())?;
        // A deployment that saw the end of the request saw everything before it. Otherwise this
        // wait and the notifications may have crossed on the wire.
        let crossed = |id: &NotificationId| {
            self.told.get(id).filter(|_| !half_closed).or_else(|| self.untold.get(id)).copied()
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
