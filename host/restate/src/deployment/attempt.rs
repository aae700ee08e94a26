//! One attempt: its stream in both directions, the replay of the journal, and its end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::{Bytes, BytesMut};

use super::{difference::Divergence, state::KnownState};
use crate::{
    failure,
    frame::{Flags, FrameDecoder, MESSAGE_LIMIT},
    immutable::{
        AwaitingOn, CANCEL_SIGNAL, Command, CommandKind, ErrorMessage, Future, Input, Message,
        Notification, NotificationId, NotificationKind, NotificationResult, Output,
        ProposeRunCompletion, Suspension, Wanted, frame_type,
    },
    version::ProtocolVersion,
    violation::Violation,
    wire::{Failure, Outcome, Start},
};

/// Why a handler's wish is refused. The attempt is to be [failed](Attempt::fail) with
/// [`AttemptError::to_message`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    /// The journal says something else.
    #[error(transparent)]
    Divergence(#[from] Divergence),
    /// The version in use does not have it.
    #[error("{feature} came with {since} of the protocol, and this attempt speaks {version}")]
    Unsupported {
        /// What.
        feature: &'static str,
        /// The version that has it.
        since: ProtocolVersion,
        /// The version in use.
        version: ProtocolVersion,
    },
    /// A wait that nothing can end.
    #[error("the handler waits for nothing that can come")]
    EmptyWait,
    /// The outcome of something that is no open run.
    #[error("no run is waiting for an outcome under completion {completion_id}")]
    NoSuchRun {
        /// The completion id.
        completion_id: u32,
    },
    /// The attempt has not begun, or is over.
    #[error("the attempt is not going on")]
    Closed,
}

impl AttemptError {
    /// The error that reports it.
    pub fn to_message(&self) -> ErrorMessage {
        let code = match self {
            Self::Divergence(divergence) => return divergence.to_message(),
            Self::Unsupported { .. } => failure::UNSUPPORTED_FEATURE,
            Self::EmptyWait | Self::NoSuchRun { .. } => failure::INTERNAL,
            Self::Closed => failure::CLOSED,
        };
        ErrorMessage::new(code, self.to_string())
    }
}

/// A call whose result the handler was not yet told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The completion id under which the callee's id comes.
    pub invocation_id_completion_id: u32,
    /// The completion id of the result.
    pub result_completion_id: u32,
    /// The callee, if it was told.
    pub invocation_id: Option<String>,
}

/// The machine.
#[derive(Debug)]
pub struct Attempt {
    pub(super) version: ProtocolVersion,
    decoder: FrameDecoder,
    phase: Phase,
    start: Start,
    input: Input,
    input_ended: bool,
    /// Commands of the journal that the handler did not ask for yet.
    pub(super) recorded: VecDeque<Command>,
    /// What is told next, in the journal's order.
    notifications: VecDeque<Notification>,
    /// The completions that came, told or not.
    pub(super) came: BTreeSet<u32>,
    /// The completion ids of the journal's commands and of new ones.
    known: BTreeMap<u32, NotificationKind>,
    /// Those whose commands the handler asked for in this attempt.
    asked: BTreeSet<u32>,
    /// The index of the next command.
    pub(super) next_index: u32,
    pub(super) next_completion_id: u32,
    pub(super) next_signal: u32,
    pub(super) state: KnownState,
    /// Runs without an outcome, by completion id: their indexes and names.
    runs: BTreeMap<u32, (u32, String)>,
    /// Outcomes that were proposed; V7 tells only that they are stored.
    proposals: BTreeMap<u32, Outcome>,
    /// When sleeps end, by completion id.
    wake_ups: BTreeMap<u32, u64>,
    calls: Vec<OpenCall>,
    /// What the handler asked for last.
    last: Option<LastCommand>,
    hint: Option<AwaitingOn>,
    out: BytesMut,
}

/// A command, as errors name it.
#[derive(Debug)]
struct LastCommand {
    index: u32,
    number: u16,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing came.
    Start,
    /// This many frames of the journal are missing.
    Journal(u32),
    /// The journal is here, and the handler can run.
    Ready,
    /// The last frame was written.
    Closed,
}

impl Attempt {
    /// An attempt in `version`, V5 to V7, for messages of at most [`MESSAGE_LIMIT`] bytes.
    pub fn new(version: ProtocolVersion) -> Self {
        Self::with_limit(version, MESSAGE_LIMIT)
    }

    /// The same for messages of at most `limit` bytes.
    ///
    /// # Panics
    /// When `version` is not one of V5 to V7.
    pub fn with_limit(version: ProtocolVersion, limit: usize) -> Self {
        let served = ProtocolVersion::V5..=ProtocolVersion::V7;
        assert!(served.contains(&version), "{version} is not served");
        Self {
            version,
            decoder: FrameDecoder::new(limit),
            phase: Phase::Start,
            start: Start::default(),
            input: Input::default(),
            input_ended: false,
            recorded: VecDeque::new(),
            notifications: VecDeque::new(),
            came: BTreeSet::new(),
            known: BTreeMap::new(),
            asked: BTreeSet::new(),
            last: None,
            next_index: 0,
            next_completion_id: 1,
            next_signal: crate::immutable::FIRST_AWAKEABLE_SIGNAL,
            state: KnownState::default(),
            runs: BTreeMap::new(),
            proposals: BTreeMap::new(),
            wake_ups: BTreeMap::new(),
            calls: Vec::new(),
            hint: None,
            out: BytesMut::new(),
        }
    }

    /// Takes a piece of the request. What comes after the attempt's end is ignored.
    ///
    /// # Errors
    /// A [`Violation`]; the attempt is then over, and an error is written that reports it.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        if self.phase == Phase::Closed {
            return Ok(());
        }
        self.decoder.feed(bytes);
        loop {
            let frame = self
                .decoder
                .next_frame()
                .map_err(|refused| Violation::of(frame_type(refused.number), refused.to_string()));
            let taken = match frame {
                Ok(None) => return Ok(()),
                Ok(Some(frame)) => Message::decode(&frame, self.version)
                    .and_then(|message| self.take_message(message)),
                Err(violation) => Err(violation),
            };
            if let Err(violation) = taken {
                self.fail(ErrorMessage::new(violation.code, violation.to_string()));
                return Err(violation);
            }
        }
    }

    /// The request's body ended.
    ///
    /// # Errors
    /// A [`Violation`] when the journal is not whole, or a frame is cut off. The attempt is then
    /// over, and an error is written that reports it.
    pub fn end_of_input(&mut self) -> Result<(), Violation> {
        self.input_ended = true;
        let pending = self.decoder.pending();
        let what = match self.phase {
            Phase::Closed => return Ok(()),
            Phase::Start => "the request ended without a start".to_owned(),
            Phase::Journal(missing) => {
                format!("the request ended with {missing} frames of the journal missing")
            }
            Phase::Ready if pending > 0 => {
                format!("the request was cut off {pending} bytes into a frame")
            }
            Phase::Ready => return Ok(()),
        };
        let violation = Violation::new(what);
        self.fail(ErrorMessage::new(violation.code, violation.to_string()));
        Err(violation)
    }

    /// Whether the request's body has ended: what is not here will not come in this attempt.
    pub fn input_ended(&self) -> bool {
        self.input_ended
    }

    /// Whether the start and the whole journal are here, and the attempt is not over.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether the last frame was written.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Whether the journal has commands that the handler did not ask for yet.
    pub fn is_replaying(&self) -> bool {
        !self.recorded.is_empty()
    }

    /// The start; empty until it came.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// What the invocation was called with; empty until [`is_ready`](Self::is_ready).
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// A seed for random numbers that is the same in every attempt. V5 has none on the wire; there
    /// it is made of the invocation's id.
    pub fn random_seed(&self) -> u64 {
        if self.version >= ProtocolVersion::V6 {
            return self.start.random_seed;
        }
        // FNV-1a.
        let seed = 0xcbf2_9ce4_8422_2325_u64;
        self.start
            .id
            .iter()
            .fold(seed, |seed, byte| (seed ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    /// The bytes to send, which are then no longer here.
    pub fn take_output(&mut self) -> Bytes {
        self.out.split().freeze()
    }

    /// Whether there are bytes to send.
    pub fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// The next event for a handler that waits. None: it has to wait for more input, or suspend.
    ///
    /// # Errors
    /// [`AttemptError::Divergence`] when the handler should have asked for something before.
    pub fn next_notification(&mut self) -> Result<Option<Notification>, AttemptError> {
        self.going_on()?;
        let Some(next) = self.notifications.front() else {
            return match self.recorded.front() {
                Some(recorded) => Err(Divergence::waits(self.next_index, recorded).into()),
                None => Ok(None),
            };
        };
        if let NotificationId::Completion(completion_id) = next.id {
            let kind = frame_type(next.kind.number());
            if !self.asked.contains(&completion_id) {
                return Err(Divergence::NeverAsked { completion_id, kind }.into());
            }
            let told = next.result.clone();
            match (next.kind, told) {
                (NotificationKind::CallInvocationId, NotificationResult::InvocationId(callee)) => {
                    let mut calls = self.calls.iter_mut();
                    if let Some(call) =
                        calls.find(|call| call.invocation_id_completion_id == completion_id)
                    {
                        call.invocation_id = Some(callee);
                    }
                }
                (NotificationKind::Call, _) => {
                    self.calls.retain(|call| call.result_completion_id != completion_id);
                }
                _ => {}
            }
        }
        // What was waited for is no longer so, even when it is the same.
        self.hint = None;
        Ok(self.notifications.pop_front())
    }

    /// Calls without a result, the oldest first: those that a cancelled handler cancels.
    pub fn open_calls(&self) -> &[OpenCall] {
        &self.calls
    }

    /// Runs without an outcome, by their completion ids: those that the driver executes.
    pub fn open_runs(&self) -> Vec<u32> {
        let open = self.runs.keys().filter(|id| !self.proposals.contains_key(id));
        open.copied().collect()
    }

    /// Proposes the outcome of a run. It is the run's result when the runtime has stored it, and
    /// comes as an event then.
    ///
    /// # Errors
    /// [`AttemptError::NoSuchRun`] when it has an outcome or is none,
    /// [`AttemptError::Unsupported`] for metadata of failures.
    pub fn propose_run(
        &mut self,
        completion_id: u32,
        outcome: Outcome,
    ) -> Result<(), AttemptError> {
        self.going_on()?;
        self.supports_outcome(&outcome)?;
        let known = self.runs.contains_key(&completion_id);
        if !known || self.proposals.insert(completion_id, outcome.clone()).is_some() {
            return Err(AttemptError::NoSuchRun { completion_id });
        }
        let proposal = ProposeRunCompletion {
            result_completion_id: completion_id,
            result: Some(outcome.into()),
        };
        let flags =
            if self.version >= ProtocolVersion::V7 { Flags::REQUIRES_ACK } else { Flags::NONE };
        let frame = Message::ProposeRunCompletion(proposal).encode(self.version);
        frame.flagged(flags).write(&mut self.out);
        Ok(())
    }

    /// The outcome of a run that the journal has, taken before its turn; it is no event any more. For
    /// what a driver answers at once: the first attempt knew the outcome when it proposed it.
    pub fn take_run(&mut self, completion_id: u32) -> Option<Outcome> {
        let id = NotificationId::Completion(completion_id);
        let place = self.notifications.iter().position(|notification| {
            notification.id == id && notification.kind == NotificationKind::Run
        })?;
        match self.notifications.remove(place)?.result {
            NotificationResult::Value(value) => Some(Outcome::Success(value)),
            NotificationResult::Failure(failure) => Some(Outcome::Failure(failure)),
            NotificationResult::Void
            | NotificationResult::InvocationId(_)
            | NotificationResult::StateKeys(_) => None,
        }
    }

    /// When a sleep ends, in milliseconds since the Unix epoch: the instant of the first attempt.
    pub fn wake_up_at_ms(&self, completion_id: u32) -> Option<u64> {
        self.wake_ups.get(&completion_id).copied()
    }

    /// Whether the invocation was asked to stop, and the handler is not told yet.
    pub fn is_cancel_due(&self) -> bool {
        let cancel = NotificationId::Signal(CANCEL_SIGNAL);
        self.notifications.iter().any(|notification| notification.id == cancel)
    }

    /// Fails the attempt with an error about a run, such as one that its policy tries again.
    pub fn fail_run(&mut self, completion_id: u32, mut error: ErrorMessage) {
        if let Some((index, name)) = self.runs.get(&completion_id) {
            error.related_command_index = Some(*index);
            error.related_command_name = Some(name.clone());
            error.related_command_type = Some(CommandKind::Run.number().into());
        }
        self.fail(error);
    }

    /// Fails the attempt with an error about what the handler asked for last.
    pub fn fail_handler(&mut self, mut error: ErrorMessage) {
        if let Some(last) = &self.last {
            error.related_command_index = Some(last.index);
            error.related_command_type = Some(last.number.into());
            error.related_command_name = Some(last.name.clone()).filter(|name| !name.is_empty());
        }
        self.fail(error);
    }

    /// Ends the attempt with an error. Nothing when it is over.
    pub fn fail(&mut self, error: ErrorMessage) {
        if self.phase != Phase::Closed {
            self.write(&Message::Error(error));
            self.phase = Phase::Closed;
        }
    }

    /// Tells what the handler waits for, for people to see. V7 has that; earlier versions are not
    /// told, and the same wait is told once until an event comes.
    ///
    /// # Errors
    /// [`AttemptError::Closed`].
    pub fn awaiting_on(
        &mut self,
        awaiting: Future,
        executing_side_effects: bool,
    ) -> Result<(), AttemptError> {
        self.going_on()?;
        let hint = AwaitingOn { awaiting: Some(awaiting), executing_side_effects };
        if self.version >= ProtocolVersion::V7 && self.hint.as_ref() != Some(&hint) {
            self.write(&Message::AwaitingOn(hint.clone()));
            self.hint = Some(hint);
        }
        Ok(())
    }

    /// Ends the attempt with a wait, after which the runtime begins another.
    ///
    /// # Errors
    /// [`AttemptError::EmptyWait`] when nothing is waited for, [`AttemptError::Divergence`] when the
    /// journal goes on.
    pub fn suspend(&mut self, awaiting: Future) -> Result<(), AttemptError> {
        self.going_on()?;
        if let Some(recorded) = self.recorded.front() {
            return Err(Divergence::waits(self.next_index, recorded).into());
        }
        if awaiting.leaves().is_empty() {
            return Err(AttemptError::EmptyWait);
        }
        self.write(&Message::Suspension(Suspension { awaiting }));
        self.phase = Phase::Closed;
        Ok(())
    }

    /// Ends the invocation with its outcome.
    ///
    /// # Errors
    /// [`AttemptError::Divergence`] when the journal has something else there,
    /// [`AttemptError::Unsupported`] for metadata of failures.
    pub fn finish(&mut self, outcome: Outcome) -> Result<(), AttemptError> {
        self.supports_outcome(&outcome)?;
        self.issue(Output { result: Some(outcome.into()), name: String::new() }.into())?;
        self.write(&Message::End);
        self.phase = Phase::Closed;
        Ok(())
    }

    /// Matches a command with the journal, or writes it. Returns it with the completion ids that it
    /// has: the journal's, or new ones.
    pub(super) fn issue(&mut self, asked: Command) -> Result<Command, AttemptError> {
        self.going_on()?;
        if let Some(recorded) = self.recorded.front()
            && let Some(divergence) = Divergence::between(self.next_index, recorded, &asked)
        {
            return Err(divergence.into());
        }
        let command = match self.recorded.pop_front() {
            Some(recorded) => recorded,
            None => {
                let message = Message::Command(asked);
                self.write(&message);
                let Message::Command(command) = message else { unreachable!("made a line above") };
                command
            }
        };
        let index = self.next_index;
        self.next_index += 1;
        self.last = Some(LastCommand {
            index,
            number: command.number(),
            name: command.entry_name().to_owned(),
        });
        for wanted in command.wanted() {
            self.know(wanted);
            self.asked.insert(wanted.id);
            self.next_completion_id = self.next_completion_id.max(wanted.id.saturating_add(1));
        }
        match &command {
            Command::Run(run) if !self.came.contains(&run.result_completion_id) => {
                self.runs.insert(run.result_completion_id, (index, run.name.clone()));
            }
            Command::Sleep(sleep) => {
                self.wake_ups.insert(sleep.result_completion_id, sleep.wake_up_at_ms);
            }
            Command::Call(call) => self.calls.push(OpenCall {
                invocation_id_completion_id: call.invocation_id_completion_id,
                result_completion_id: call.result_completion_id,
                invocation_id: None,
            }),
            _ => {}
        }
        Ok(command)
    }

    pub(super) fn going_on(&self) -> Result<(), AttemptError> {
        if self.phase == Phase::Ready { Ok(()) } else { Err(AttemptError::Closed) }
    }

    pub(super) fn supports(
        &self,
        feature: &'static str,
        since: ProtocolVersion,
        used: bool,
    ) -> Result<(), AttemptError> {
        let version = self.version;
        if used && version < since {
            return Err(AttemptError::Unsupported { feature, since, version });
        }
        Ok(())
    }

    pub(super) fn supports_outcome(&self, outcome: &Outcome) -> Result<(), AttemptError> {
        let Outcome::Failure(Failure { metadata, .. }) = outcome else { return Ok(()) };
        self.supports("metadata of a failure", ProtocolVersion::V6, !metadata.is_empty())
    }

    fn write(&mut self, message: &Message) {
        message.encode(self.version).write(&mut self.out);
    }

    fn take_message(&mut self, message: Message) -> Result<(), Violation> {
        let kind = message.frame_type();
        let violation = |what: String| Err(Violation::of(kind, what));
        match (self.phase, message) {
            (Phase::Closed, _) => Ok(()),
            (Phase::Start, Message::Start(start)) if start.known_entries == 0 => {
                drop(start);
                violation("announces a journal without an input".into())
            }
            (Phase::Start, Message::Start(start)) => {
                self.state = KnownState::new(start.partial_state, &start.state_map);
                self.phase = Phase::Journal(start.known_entries);
                self.start = start;
                Ok(())
            }
            (Phase::Start, _) => violation("comes before the start".into()),
            (Phase::Journal(missing), message) => {
                match message {
                    Message::Command(Command::Input(input)) if self.next_index == 0 => {
                        self.input = input;
                        self.next_index = 1;
                    }
                    Message::Command(Command::Input(_)) => {
                        return violation("is a second input".into());
                    }
                    Message::Command(_) if self.next_index == 0 => {
                        return violation("stands before the input".into());
                    }
                    Message::Command(command) => {
                        command.wanted().into_iter().for_each(|wanted| self.know(wanted));
                        self.recorded.push_back(command);
                    }
                    Message::Notification(notification) => {
                        self.take_notification(notification)?;
                    }
                    _ => {
                        let what = format!("comes with {missing} frames of the journal missing");
                        return violation(what);
                    }
                }
                let missing = missing - 1;
                self.phase = if missing == 0 { Phase::Ready } else { Phase::Journal(missing) };
                if missing == 0 && self.next_index == 0 {
                    return violation("ends a journal without an input".into());
                }
                Ok(())
            }
            (Phase::Ready, Message::Notification(notification)) => {
                self.take_notification(notification)
            }
            (Phase::Ready, Message::ProposeRunCompletionAck(ack)) => {
                let completion_id = ack.completion_id;
                let Some(outcome) = self.proposals.remove(&completion_id) else {
                    let what = format!("no outcome was proposed for completion {completion_id}");
                    return violation(what);
                };
                self.take_notification(Notification::run(completion_id, outcome))
            }
            (Phase::Ready, _) => violation("comes after the journal".into()),
        }
    }

    fn know(&mut self, wanted: Wanted) {
        self.known.insert(wanted.id, wanted.kind);
    }

    /// Queues what is told.
    fn take_notification(&mut self, notification: Notification) -> Result<(), Violation> {
        if let NotificationId::Completion(id) = notification.id {
            let kind = frame_type(notification.kind.number());
            match self.known.get(&id) {
                None => {
                    let what = format!("no command asked for completion {id}");
                    return Err(Violation::of(kind, what));
                }
                Some(known) if *known != notification.kind => {
                    let what = format!("completion {id} is a {}", known.name());
                    return Err(Violation::of(kind, what));
                }
                Some(_) => {}
            }
            if !self.came.insert(id) {
                return Err(Violation::of(kind, format!("completion {id} came before")));
            }
            // Told in full: the copy for an acknowledgement is of no use.
            self.proposals.remove(&id);
            self.runs.remove(&id);
        }
        self.notifications.push_back(notification);
        Ok(())
    }
}
