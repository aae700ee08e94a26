//! One attempt: what is known of it, what is told, and what is written.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::{Bytes, BytesMut};

use super::{difference::Divergence, error::AttemptError, state::KnownState};
use crate::{
    frame::{FrameDecoder, MESSAGE_LIMIT},
    immutable::{
        AwaitingOn, CANCEL_SIGNAL, Command, Future, Input, Message, Notification, NotificationId,
        NotificationKind, NotificationResult, frame_type,
    },
    version::ProtocolVersion,
    wire::{Failure, Outcome, Start},
};

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
    pub(super) decoder: FrameDecoder,
    pub(super) phase: Phase,
    pub(super) start: Start,
    pub(super) input: Input,
    pub(super) input_ended: bool,
    /// Commands of the journal that the handler did not ask for yet.
    pub(super) recorded: VecDeque<Command>,
    /// What is told next, in the journal's order.
    pub(super) notifications: VecDeque<Notification>,
    /// The completions that came, told or not.
    pub(super) came: BTreeSet<u32>,
    /// The completion ids of the journal's commands and of new ones.
    pub(super) known: BTreeMap<u32, NotificationKind>,
    /// Those whose commands the handler asked for in this attempt.
    pub(super) asked: BTreeSet<u32>,
    /// The index of the next command.
    pub(super) next_index: u32,
    pub(super) next_completion_id: u32,
    pub(super) next_signal: u32,
    pub(super) state: KnownState,
    /// Runs without an outcome, by completion id: their indexes and names.
    pub(super) runs: BTreeMap<u32, (u32, String)>,
    /// Outcomes that were proposed; V7 tells only that they are stored.
    pub(super) proposals: BTreeMap<u32, Outcome>,
    /// When sleeps end, by completion id.
    wake_ups: BTreeMap<u32, u64>,
    calls: Vec<OpenCall>,
    /// What the handler asked for last.
    pub(super) last: Option<LastCommand>,
    hint: Option<AwaitingOn>,
    pub(super) out: BytesMut,
}

/// A command, as errors name it.
#[derive(Debug)]
pub(super) struct LastCommand {
    pub(super) index: u32,
    pub(super) number: u16,
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
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

    /// When a sleep ends, in milliseconds since the Unix epoch: the instant of the first attempt.
    pub fn wake_up_at_ms(&self, completion_id: u32) -> Option<u64> {
        self.wake_ups.get(&completion_id).copied()
    }

    /// Whether the invocation was asked to stop, and the handler is not told yet.
    pub fn is_cancel_due(&self) -> bool {
        let cancel = NotificationId::Signal(CANCEL_SIGNAL);
        self.notifications.iter().any(|notification| notification.id == cancel)
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

    pub(super) fn write(&mut self, message: &Message) {
        message.encode(self.version).write(&mut self.out);
    }
}
