//! State of one attempt: the journal received so far, queued notifications, and pending output.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::{Bytes, BytesMut};

use super::{difference::HandlerDivergence, error::AttemptError, state::KnownState};
use crate::{
    frame::{FrameDecoder, MESSAGE_LIMIT},
    immutable::{
        AwaitingOn, CANCEL_SIGNAL, Command, Future, Input, Message, Notification, NotificationId,
        NotificationKind, NotificationResult, frame_type,
    },
    version::ProtocolVersion,
    wire::{Failure, OperationOutcome, StartMessage},
};

/// A call whose result the handler has not received yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The completion id of the notification with the callee's invocation id.
    pub invocation_id_completion_id: u32,
    /// The completion id of the result.
    pub result_completion_id: u32,
    /// The callee's invocation id, if the handler has received it.
    pub invocation_id: Option<String>,
}

/// State machine of the deployment's side of an attempt.
#[derive(Debug)]
pub struct DeploymentAttempt {
    pub(super) version: ProtocolVersion,
    pub(super) decoder: FrameDecoder,
    pub(super) phase: AttemptPhase,
    pub(super) start: StartMessage,
    pub(super) input: Input,
    pub(super) input_ended: bool,
    /// Commands of the journal that the handler has not issued yet.
    pub(super) recorded: VecDeque<Command>,
    /// Notifications for the handler, in the journal's order.
    pub(super) notifications: VecDeque<Notification>,
    /// The completion ids that have arrived, delivered or not.
    pub(super) came: BTreeSet<u32>,
    /// The completion ids requested by commands of the journal and by new commands.
    pub(super) known: BTreeMap<u32, NotificationKind>,
    /// Completion ids of commands that the handler has issued in this attempt.
    pub(super) asked: BTreeSet<u32>,
    /// The index of the next command.
    pub(super) next_index: u32,
    pub(super) next_completion_id: u32,
    pub(super) next_signal: u32,
    pub(super) state: KnownState,
    /// Runs without an outcome, by completion id: the index and name of each.
    pub(super) runs: BTreeMap<u32, (u32, String)>,
    /// Outcomes that were proposed. V7 acknowledges them without repeating the outcome.
    pub(super) proposals: BTreeMap<u32, OperationOutcome>,
    /// Wake-up times of sleeps in milliseconds since the Unix epoch, by completion id.
    wake_ups: BTreeMap<u32, u64>,
    calls: Vec<OpenCall>,
    /// The command that the handler issued last.
    pub(super) last: Option<LastCommand>,
    hint: Option<AwaitingOn>,
    pub(super) out: BytesMut,
}

/// A command, as error messages refer to it.
#[derive(Debug)]
pub(super) struct LastCommand {
    pub(super) index: u32,
    pub(super) number: u16,
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptPhase {
    /// Nothing has arrived yet.
    Start,
    /// The number of journal frames that are still missing.
    Journal(u32),
    /// The whole journal has arrived, and the handler can run.
    Ready,
    /// The last frame has been written.
    Closed,
}

impl DeploymentAttempt {
    /// Creates an attempt in `version`, V5 to V7, for messages of at most [`MESSAGE_LIMIT`] bytes.
    pub fn new(version: ProtocolVersion) -> Self {
        Self::with_limit(version, MESSAGE_LIMIT)
    }

    /// Like [`new`](Self::new), for messages of at most `limit` bytes.
    ///
    /// # Panics
    /// If `version` is not one of V5 to V7.
    pub fn with_limit(version: ProtocolVersion, limit: usize) -> Self {
        let served = ProtocolVersion::V5..=ProtocolVersion::V7;
        assert!(served.contains(&version), "{version} is not served");
        Self {
            version,
            decoder: FrameDecoder::new(limit),
            phase: AttemptPhase::Start,
            start: StartMessage::default(),
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

    /// Returns true if the request's body has ended, so that this attempt receives nothing more.
    pub fn input_ended(&self) -> bool {
        self.input_ended
    }

    /// Returns true if the start and the whole journal have arrived, and the attempt is not over.
    pub fn is_ready(&self) -> bool {
        self.phase == AttemptPhase::Ready
    }

    /// Returns true if the last frame has been written.
    pub fn is_over(&self) -> bool {
        self.phase == AttemptPhase::Closed
    }

    /// Returns true if the journal has commands that the handler has not issued yet.
    pub fn is_replaying(&self) -> bool {
        !self.recorded.is_empty()
    }

    /// Returns the start frame; empty until it arrives.
    pub fn start(&self) -> &StartMessage {
        &self.start
    }

    /// Returns the input of the invocation; empty until [`is_ready`](Self::is_ready).
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Returns a seed for random numbers that is the same in every attempt. V5 does not transmit
    /// one; the seed is then a hash of the invocation id.
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

    /// Takes the bytes to send out of the output buffer.
    pub fn take_output(&mut self) -> Bytes {
        self.out.split().freeze()
    }

    /// Returns true if there are bytes to send.
    pub fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// Returns the next event for a waiting handler. `None` if the handler has to wait for more
    /// input, or suspend.
    ///
    /// # Errors
    /// [`AttemptError::Divergence`] if the journal has a command that the handler should have
    /// issued before.
    pub fn next_notification(&mut self) -> Result<Option<Notification>, AttemptError> {
        self.going_on()?;
        let Some(next) = self.notifications.front() else {
            return match self.recorded.front() {
                Some(recorded) => Err(HandlerDivergence::waits(self.next_index, recorded).into()),
                None => Ok(None),
            };
        };
        if let NotificationId::Completion(completion_id) = next.id {
            let kind = frame_type(next.kind.number());
            if !self.asked.contains(&completion_id) {
                return Err(HandlerDivergence::NeverAsked { completion_id, kind }.into());
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
        // The reported wait is outdated now, even if the handler waits for the same again.
        self.hint = None;
        Ok(self.notifications.pop_front())
    }

    /// Calls without a result, oldest first. A cancelled handler cancels them.
    pub fn open_calls(&self) -> &[OpenCall] {
        &self.calls
    }

    /// Returns the wake-up time of a sleep in milliseconds since the Unix epoch, as set in the
    /// first attempt.
    pub fn wake_up_at_ms(&self, completion_id: u32) -> Option<u64> {
        self.wake_ups.get(&completion_id).copied()
    }

    /// Returns true if a cancellation was requested and not yet delivered to the handler.
    pub fn is_cancel_due(&self) -> bool {
        let cancel = NotificationId::Signal(CANCEL_SIGNAL);
        self.notifications.iter().any(|notification| notification.id == cancel)
    }

    /// Reports what the handler waits for, for display. Writes a frame only in V7, and repeats the
    /// same wait only after an event.
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

    /// Matches a command with the journal, or writes it. Returns it with its completion ids: the
    /// journal's, or new ones.
    pub(super) fn issue(&mut self, asked: Command) -> Result<Command, AttemptError> {
        self.going_on()?;
        if let Some(recorded) = self.recorded.front()
            && let Some(divergence) = HandlerDivergence::between(self.next_index, recorded, &asked)
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
            self.known.insert(wanted.id, wanted.kind);
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
        if self.phase == AttemptPhase::Ready { Ok(()) } else { Err(AttemptError::Closed) }
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

    pub(super) fn supports_outcome(&self, outcome: &OperationOutcome) -> Result<(), AttemptError> {
        let OperationOutcome::Failure(Failure { metadata, .. }) = outcome else { return Ok(()) };
        self.supports("metadata of a failure", ProtocolVersion::V6, !metadata.is_empty())
    }

    pub(super) fn write(&mut self, message: &Message) {
        message.encode(self.version).write(&mut self.out);
    }
}
