//! An attempt of V5 to V8.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};

use crate::{
    failure,
    frame::{Flags, Frame, FrameDecoder, MESSAGE_LIMIT},
    immutable::{
        AwaitingOn, Command, CommandAck, CommandKind, EphemeralResult, EphemeralState,
        ErrorMessage, Future, Message, Notification, NotificationId, NotificationKind,
        ProposeRunCompletion, ProposeRunCompletionAck, Settled, frame_type,
    },
    version::{Family, ProtocolVersion},
    violation::{FrameType, Violation},
    wire::{Outcome, Start, Value, Void},
};

/// What the runtime has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Store this at the end of the journal, and begin what it asks for.
    Append {
        /// Its index among the commands; the input has 0.
        index: u32,
        /// The command.
        command: Command,
        /// Its frame, as the journal keeps it.
        record: Bytes,
        /// Whether to [`acknowledge`](Attempt::acknowledge) it when it is stored.
        requires_ack: bool,
    },
    /// Store this as the result of a run, then [`notify`](Attempt::notify) it.
    ProposeRun {
        /// The completion id of the run.
        completion_id: u32,
        /// The outcome.
        outcome: Outcome,
        /// Whether only that it is stored will be told, and not what. `notify` sees to it.
        requires_ack: bool,
    },
    /// Show what is waited for now. It changes often, and nothing is to be stored for it.
    AwaitingOn(AwaitingOn),
    /// Read state and [`answer`](Attempt::answer_state).
    ReadState {
        /// The number of the read in this attempt.
        ephemeral_completion_id: u32,
        /// The key.
        key: Bytes,
    },
    /// The attempt is over. Begin another when the wait is satisfied.
    Suspend(Suspended),
    /// The attempt is over. Try again, as the policy and the message say.
    Failed(ErrorMessage),
    /// The invocation is over, with the output that the journal has.
    Ended,
}

/// A wait that is left to the runtime.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspended {
    /// What is waited for. Ask [`Future::is_satisfied`] with what is stored after the attempt, and
    /// not told in it.
    pub awaiting: Future,
    /// Whether to begin another attempt at once: what is waited for came when it could no longer be
    /// told, or only another attempt can bring it, since it is a run without an outcome.
    pub ready: bool,
}

/// The machine.
#[derive(Debug)]
pub struct Attempt {
    version: ProtocolVersion,
    decoder: FrameDecoder,
    /// What ended it.
    ended_by: Option<FrameType>,
    /// Whether the journal has an output.
    output: bool,
    /// Whether the request's body has ended.
    half_closed: bool,
    /// The number of commands in the journal.
    commands: u32,
    /// The highest completion id so far.
    last_completion_id: u32,
    asked: BTreeMap<u32, Asked>,
    /// Told in this attempt, after the journal.
    told: BTreeMap<NotificationId, Settled>,
    /// Came when it could no longer be told.
    untold: BTreeMap<NotificationId, Settled>,
    /// Commands to acknowledge.
    unacknowledged: BTreeSet<u32>,
    /// Reads to answer.
    reads: BTreeSet<u32>,
}

/// What a completion id stands for.
#[derive(Debug)]
struct Asked {
    kind: NotificationKind,
    /// The command that asked.
    index: u32,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing came.
    Open,
    /// The outcome of a run was proposed.
    Proposed { requires_ack: bool },
    /// It is told.
    Told,
    /// It came when it could no longer be told.
    Untold,
}

impl Attempt {
    /// Begins an attempt with the frames of the journal in the order in which they were stored.
    /// How many they are is written into `start`. Returns the bytes to send with it.
    ///
    /// # Errors
    /// A [`Violation`] in the journal itself; with the index of the frame in the journal.
    ///
    /// # Panics
    /// When `version` is of the other family.
    pub fn open<'a>(
        version: ProtocolVersion,
        start: Start,
        journal: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(Self, Bytes), Violation> {
        Self::open_with_limit(version, start, journal, MESSAGE_LIMIT)
    }

    /// The same, with another longest message, in bytes.
    ///
    /// # Errors
    /// A [`Violation`] in the journal itself.
    ///
    /// # Panics
    /// When `version` is of the other family.
    pub fn open_with_limit<'a>(
        version: ProtocolVersion,
        start: Start,
        journal: impl IntoIterator<Item = &'a [u8]>,
        limit: usize,
    ) -> Result<(Self, Bytes), Violation> {
        assert_eq!(version.family(), Family::Immutable, "{version} has entries");
        let mut attempt = Self {
            version,
            decoder: FrameDecoder::new(limit),
            ended_by: None,
            output: false,
            half_closed: false,
            commands: 0,
            last_completion_id: 0,
            asked: BTreeMap::new(),
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
            return Err(Violation::new("a journal has its input at least"));
        }
        let start = Message::Start(Start { known_entries, ..start });
        let mut out = BytesMut::new();
        start.encode(version).write(&mut out);
        out.unsplit(replay);
        Ok((attempt, out.freeze()))
    }

    /// Takes a piece of the response.
    ///
    /// # Errors
    /// A [`Violation`]; the attempt is then over.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<Action>, Violation> {
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

    /// Tells the deployment something that is stored at the end of the journal. Returns the bytes
    /// to send: none when the attempt or the request's body is over.
    ///
    /// # Errors
    /// A [`Violation`] when nothing asked for it, when it came before, or when it is not what was
    /// asked for.
    pub fn notify(&mut self, notification: &Notification) -> Result<Bytes, Violation> {
        let message = Message::Notification(notification.clone());
        if let Some(fault) = notification.fault() {
            return Err(Violation::of(message.frame_type(), fault));
        }
        let closed = self.half_closed || self.ended_by.is_some();
        let proposed = self.settle(notification, closed)?;
        let settled = if notification.is_failure() { Settled::Failed } else { Settled::Succeeded };
        let which = if closed { &mut self.untold } else { &mut self.told };
        which.insert(notification.id.clone(), settled);
        if closed {
            return Ok(Bytes::new());
        }
        let message = match (proposed, &notification.id) {
            (Progress::Proposed { requires_ack: true }, NotificationId::Completion(id)) => {
                Message::ProposeRunCompletionAck(ProposeRunCompletionAck { completion_id: *id })
            }
            _ => message,
        };
        Ok(message.encode(self.version).to_bytes())
    }

    /// Tells that a command is stored, which asked for that. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`Violation`] when it did not ask, or was told before.
    pub fn acknowledge(&mut self, index: u32) -> Result<Bytes, Violation> {
        let message = Message::CommandAck(CommandAck { command_index: index });
        if !self.unacknowledged.remove(&index) {
            let what = "no command with this index waits for it";
            return Err(Violation::of(message.frame_type(), what).at(index));
        }
        Ok(self.send(&message))
    }

    /// Answers a read of state. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`Violation`] when there was no such read, or it was answered before.
    pub fn answer_state(
        &mut self,
        ephemeral_completion_id: u32,
        value: Option<Bytes>,
    ) -> Result<Bytes, Violation> {
        let result = Some(match value {
            Some(content) => EphemeralResult::Value(Value { content }),
            None => EphemeralResult::Void(Void {}),
        });
        let message = Message::EphemeralState(EphemeralState { ephemeral_completion_id, result });
        if !self.reads.remove(&ephemeral_completion_id) {
            let what = format!("no read has the number {ephemeral_completion_id}");
            return Err(Violation::of(message.frame_type(), what));
        }
        Ok(self.send(&message))
    }

    /// The request's body ends here. The deployment goes on until it has to wait, and suspends.
    pub fn half_close(&mut self) {
        self.half_closed = true;
    }

    /// The response's body ended.
    ///
    /// # Errors
    /// A [`Violation`] when it did so in the middle of a frame, or before the attempt was over.
    pub fn end_of_input(&mut self) -> Result<(), Violation> {
        let pending = self.decoder.pending();
        let ended = self.ended_by.is_some();
        let what = match (pending, ended) {
            (0, true) => return Ok(()),
            (0, false) => "the response ended without End, Suspension or Error".to_owned(),
            _ => format!("the response was cut off {pending} bytes into a frame"),
        };
        let violation = Violation::new(what).with_code(failure::INTERNAL);
        self.ended_by = self.ended_by.or(Some(FrameType { number: 0, name: "end of input" }));
        Err(violation)
    }

    /// Whether an end, a suspension, an error or a violation came.
    pub fn is_over(&self) -> bool {
        self.ended_by.is_some()
    }

    fn send(&self, message: &Message) -> Bytes {
        if self.half_closed || self.ended_by.is_some() {
            return Bytes::new();
        }
        message.encode(self.version).to_bytes()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, Violation> {
        self.decoder.next_frame().map_err(|refused| {
            let frame = frame_type(refused.number);
            self.ended_by = Some(frame);
            Violation::of(frame, refused.to_string())
        })
    }

    /// Takes one frame of the journal, and returns it as it is sent.
    fn replay(&mut self, record: &[u8]) -> Result<Frame, Violation> {
        let mut frame =
            Frame::from_bytes(record).ok_or_else(|| Violation::new("is not one frame"))?;
        frame.flags = frame.flags.without(Flags::REQUIRES_ACK);
        let message = Message::decode(&frame, self.version)?;
        let violation = |what: &str| Violation::of(message.frame_type(), what);
        match &message {
            Message::Command(Command::Input(_)) if self.commands == 0 => self.commands = 1,
            Message::Command(Command::Input(_)) => return Err(violation("is a second input")),
            Message::Command(_) if self.commands == 0 => {
                return Err(violation("stands before the input"));
            }
            Message::Command(command) => drop(self.record(command)?),
            Message::Notification(notification) => {
                self.settle(notification, false)?;
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

    fn action(&mut self, frame: &Frame) -> Result<Action, Violation> {
        let kind = frame_type(frame.number);
        let violation = |what: String| Violation::of(kind, what);
        if let Some(end) = self.ended_by {
            return Err(violation(format!("comes after {end}")));
        }
        let message = Message::decode(frame, self.version).map_err(|violation| {
            let command = CommandKind::from_number(frame.number).is_some();
            if command { violation.at(self.commands) } else { violation }
        })?;
        match message {
            Message::Command(command) => {
                let index = self.record(&command)?;
                let requires_ack = frame.flags.has(Flags::REQUIRES_ACK);
                if requires_ack {
                    self.unacknowledged.insert(index);
                }
                let flags = frame.flags.without(Flags::REQUIRES_ACK);
                let record = Frame { flags, ..frame.clone() }.to_bytes();
                Ok(Action::Append { index, command, record, requires_ack })
            }
            Message::ProposeRunCompletion(proposal) => {
                self.propose(proposal, frame.flags.has(Flags::REQUIRES_ACK))
            }
            Message::AwaitingOn(awaiting) => Ok(Action::AwaitingOn(awaiting)),
            Message::GetStateEphemeral(read) => {
                let ephemeral_completion_id = read.ephemeral_completion_id;
                if !self.reads.insert(ephemeral_completion_id) {
                    let what = format!("the read {ephemeral_completion_id} is going on already");
                    return Err(violation(what));
                }
                Ok(Action::ReadState { ephemeral_completion_id, key: read.key })
            }
            Message::Suspension(suspension) => {
                if self.output {
                    return Err(violation("comes after the output".into()));
                }
                let suspended = self.suspend(suspension.awaiting).map_err(violation)?;
                self.ended_by = Some(kind);
                Ok(Action::Suspend(suspended))
            }
            Message::Error(error) => {
                self.ended_by = Some(kind);
                Ok(Action::Failed(error))
            }
            Message::End if !self.output => Err(violation("comes without an output".into())),
            Message::End => {
                self.ended_by = Some(kind);
                Ok(Action::Ended)
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

    /// Takes a command into the journal and returns its index.
    fn record(&mut self, command: &Command) -> Result<u32, Violation> {
        let index = self.commands;
        let violation = |what| Violation::of(frame_type(command.number()), what).at(index);
        if matches!(command, Command::Input(_)) {
            return Err(violation("is written by the runtime alone".to_owned()));
        }
        if self.output {
            return Err(violation("comes after the output".to_owned()));
        }
        let wanted = command.wanted();
        let mut last = self.last_completion_id;
        for (position, one) in wanted.iter().enumerate() {
            let id = one.id;
            if id <= self.last_completion_id {
                let last = self.last_completion_id;
                let what = format!("has the completion id {id}, which must be above {last}");
                return Err(violation(what));
            }
            if wanted[..position].iter().any(|other| other.id == id) {
                return Err(violation(format!("has the completion id {id} twice")));
            }
            last = last.max(id);
        }
        self.last_completion_id = last;
        for one in wanted {
            let asked = Asked { kind: one.kind, index, progress: Progress::Open };
            self.asked.insert(one.id, asked);
        }
        self.output = matches!(command, Command::Output(_));
        self.commands += 1;
        Ok(index)
    }

    /// Takes a notification into the journal. Returns how far what it answers had come.
    fn settle(&mut self, notification: &Notification, closed: bool) -> Result<Progress, Violation> {
        let NotificationId::Completion(id) = notification.id else {
            return Ok(Progress::Open);
        };
        let kind = frame_type(notification.kind.number());
        let Some(asked) = self.asked.get_mut(&id) else {
            return Err(Violation::of(kind, format!("no command asked for completion {id}")));
        };
        let violation = |what| Violation::of(kind, what).at(asked.index);
        if asked.kind != notification.kind {
            let expected = asked.kind.name();
            return Err(violation(format!("completion {id} is a {expected}")));
        }
        let before = asked.progress;
        if matches!(before, Progress::Told | Progress::Untold) {
            return Err(violation(format!("completion {id} came before")));
        }
        asked.progress = if closed { Progress::Untold } else { Progress::Told };
        Ok(before)
    }

    fn propose(
        &mut self,
        proposal: ProposeRunCompletion,
        requires_ack: bool,
    ) -> Result<Action, Violation> {
        let completion_id = proposal.result_completion_id;
        let outcome = proposal.result.clone().expect("a proposal without a result is not decoded");
        let kind = Message::ProposeRunCompletion(proposal).frame_type();
        let Some(asked) = self.asked.get_mut(&completion_id) else {
            let what = format!("no run has the completion id {completion_id}");
            return Err(Violation::of(kind, what));
        };
        let violation = |what| Violation::of(kind, what).at(asked.index);
        if asked.kind != NotificationKind::Run {
            return Err(violation(format!("completion {completion_id} is not of a run")));
        }
        if asked.progress != Progress::Open {
            return Err(violation(format!("the run {completion_id} has its outcome already")));
        }
        asked.progress = Progress::Proposed { requires_ack };
        Ok(Action::ProposeRun { completion_id, outcome: outcome.into(), requires_ack })
    }

    fn suspend(&self, awaiting: Future) -> Result<Suspended, String> {
        let leaves = awaiting.leaves();
        if leaves.is_empty() {
            return Err("waits for nothing".to_owned());
        }
        let mut possible = false;
        let mut run = false;
        for leaf in &leaves {
            match leaf {
                NotificationId::Signal(0) => return Err("waits for signal 0".to_owned()),
                NotificationId::Signal(_) | NotificationId::NamedSignal(_) => possible = true,
                NotificationId::Completion(id) => {
                    let Some(asked) = self.asked.get(id) else {
                        return Err(format!("waits for {leaf}, which no command asked for"));
                    };
                    possible |= asked.progress != Progress::Told;
                    run |= asked.kind == NotificationKind::Run && asked.progress == Progress::Open;
                }
            }
        }
        // A deployment that saw the end of the request saw all before it. Otherwise what was told
        // and this wait may have passed each other on their ways.
        let crossed = |id: &NotificationId| {
            self.told.get(id).filter(|_| !self.half_closed).or_else(|| self.untold.get(id)).copied()
        };
        let ready = run || awaiting.is_satisfied(crossed);
        if !possible && !ready {
            return Err("waits for what it was told".to_owned());
        }
        Ok(Suspended { awaiting, ready })
    }
}

#[cfg(test)]
mod tests;
