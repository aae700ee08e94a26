//! The deployment's side of an attempt of V1 to V3, as far as handlers in tests need it. Entries
//! are matched with the journal or written, and contain their results. `segno_restate::deployment`
//! implements V5 to V7.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::{Bytes, BytesMut};
use segno_restate::{
    ProtocolViolation,
    deployment::{RunHandle, StateRead},
    frame::{Flags, Frame},
    immutable::{ErrorMessage, NotificationId, NotificationResult},
    mutable::{
        self, Awakeable, Call, CompletePromise, Entry, EntryResult, GetPromise, GetState, Message,
        Output, Run, Sleep, Suspension,
    },
    version::ProtocolVersion,
    wire::{OperationOutcome, StartMessage},
};

/// Error code: the journal has another entry at this index.
const MISMATCH: u16 = 570;

/// State machine of an attempt.
pub(super) struct EntryAttempt {
    version: ProtocolVersion,
    phase: Phase,
    start: StartMessage,
    input: Bytes,
    input_ended: bool,
    /// Journal entries that the handler has not requested yet.
    recorded: VecDeque<Entry>,
    next_index: u32,
    /// Indexes of entries without a result.
    open: BTreeSet<u32>,
    /// Outcomes of runs that are not acknowledged yet.
    unacknowledged: BTreeMap<u32, EntryResult>,
    told: VecDeque<(NotificationId, NotificationResult)>,
    /// Known values of the state. An inner `None` means that the key is cleared.
    state: BTreeMap<Bytes, Option<Bytes>>,
    out: BytesMut,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No frame has arrived.
    Start,
    /// This many journal entries are still missing.
    Journal(u32),
    /// The handler can run.
    Ready,
    /// The last frame was written.
    Closed,
}

impl EntryAttempt {
    /// Creates an attempt in `version`, V1 to V3.
    pub(super) fn new(version: ProtocolVersion) -> Self {
        Self {
            version,
            phase: Phase::Start,
            start: StartMessage::default(),
            input: Bytes::new(),
            input_ended: false,
            recorded: VecDeque::new(),
            next_index: 0,
            open: BTreeSet::new(),
            unacknowledged: BTreeMap::new(),
            told: VecDeque::new(),
            state: BTreeMap::new(),
            out: BytesMut::new(),
        }
    }

    /// Takes a frame of the request. Frames after the attempt's end are ignored.
    ///
    /// # Errors
    /// A [`ProtocolViolation`]; the attempt is then over, and an error frame that reports it is written.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), ProtocolViolation> {
        let frame =
            Frame::from_bytes(bytes).ok_or_else(|| ProtocolViolation::new("is not one frame"));
        let message = frame.and_then(|frame| Message::decode(&frame, self.version));
        let taken = message.and_then(|message| self.take(message));
        if let Err(violation) = &taken {
            self.fail(ErrorMessage::new(violation.code, violation.to_string()));
        }
        taken
    }

    fn take(&mut self, message: Message) -> Result<(), ProtocolViolation> {
        let violation = |what: &str| Err(ProtocolViolation::of(message.frame_type(), what));
        match (self.phase, &message) {
            (Phase::Closed, _) => {}
            (Phase::Start, Message::Start(start)) => {
                self.phase = Phase::Journal(start.known_entries);
                for entry in &start.state_map {
                    self.state.insert(entry.key.clone(), Some(entry.value.clone()));
                }
                self.start = start.clone();
            }
            (Phase::Journal(missing), Message::Entry(entry)) => {
                match entry {
                    Entry::Input(input) => self.input = value(input.result.as_ref()),
                    other => self.recorded.push_back(other.clone()),
                }
                self.phase = if missing > 1 { Phase::Journal(missing - 1) } else { Phase::Ready };
            }
            (Phase::Ready, Message::Completion(completion)) => {
                if !self.open.remove(&completion.entry_index) {
                    return violation("completes an entry that waits for nothing");
                }
                let result = completion.result.clone().unwrap_or(EntryResult::EMPTY);
                self.tell(completion.entry_index, result);
            }
            (Phase::Ready, Message::EntryAck(ack)) => {
                let Some(outcome) = self.unacknowledged.remove(&ack.entry_index) else {
                    return violation("acknowledges an entry that does not wait for it");
                };
                self.tell(ack.entry_index, outcome);
            }
            _ => return violation("does not come here"),
        }
        Ok(())
    }

    fn tell(&mut self, index: u32, result: EntryResult) {
        let result = match result {
            EntryResult::Empty(_) => NotificationResult::Void,
            EntryResult::Value(value) => NotificationResult::Value(value),
            EntryResult::Failure(failure) => NotificationResult::Failure(failure),
        };
        self.told.push_back((NotificationId::Completion(index), result));
    }

    /// Marks the end of the request's body.
    pub(super) fn end_of_input(&mut self) {
        self.input_ended = true;
        if matches!(self.phase, Phase::Start | Phase::Journal(_)) {
            self.fail(ErrorMessage::new(571, "the request ended before its journal"));
        }
    }

    /// True if the request's body has ended.
    pub(super) fn input_ended(&self) -> bool {
        self.input_ended
    }

    /// True if the handler can run.
    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// True if the last frame was written.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Id of the invocation, as sent by the host.
    pub(super) fn id(&self) -> &Bytes {
        &self.start.id
    }

    /// Input of the invocation.
    pub(super) fn input(&self) -> &Bytes {
        &self.input
    }

    /// Takes the frames to send.
    pub(super) fn take_output(&mut self) -> Bytes {
        self.out.split().freeze()
    }

    /// Takes the next notification for the handler.
    pub(super) fn next_told(&mut self) -> Option<(NotificationId, NotificationResult)> {
        self.told.pop_front()
    }

    /// Issues a command. Returns the index of its entry.
    ///
    /// # Errors
    /// If the journal has another entry there.
    pub(super) fn ask(&mut self, asked: impl Into<Entry>) -> Result<u32, ErrorMessage> {
        let asked = asked.into();
        let Some(recorded) = self.recorded.pop_front() else {
            let index = self.write_entry(&asked, Flags::NONE);
            if self.completes_later(&asked) {
                self.open.insert(index);
            }
            return Ok(index);
        };
        let index = self.next();
        if request(&recorded) != request(&asked) {
            let what = format!("the journal has {recorded:?} as {index}, asked is {asked:?}");
            return Err(ErrorMessage::new(MISMATCH, what));
        }
        match recorded.result() {
            Some(result) => self.tell(index, result.clone()),
            None if self.completes_later(&recorded) => drop(self.open.insert(index)),
            None => {}
        }
        Ok(index)
    }

    /// Begins a run. It is executed here and then proposed, unless the journal has it.
    ///
    /// # Errors
    /// If the journal has another entry there.
    pub(super) fn run(&mut self, name: &str) -> Result<RunHandle, ErrorMessage> {
        let execute = self.recorded.is_empty();
        let completion_id = match execute {
            true => self.next_index + 1,
            false => self.ask(Run { name: name.to_owned(), result: None })?,
        };
        Ok(RunHandle { completion_id, execute })
    }

    /// Writes a run with its outcome. The handler is notified once the outcome is stored.
    pub(super) fn propose_run(&mut self, name: &str, outcome: OperationOutcome) {
        let result = EntryResult::from(outcome);
        let run = Run { name: name.to_owned(), result: Some(result.clone()) };
        let index = self.write_entry(&run.into(), Flags::REQUIRES_ACK);
        self.unacknowledged.insert(index, result);
    }

    /// Reads a key of the state. A known value is written as the result of the entry.
    ///
    /// # Errors
    /// If the journal has another entry there.
    pub(super) fn state(&mut self, key: &'static str) -> Result<StateRead, ErrorMessage> {
        let key = Bytes::from_static(key.as_bytes());
        let known = match self.state.get(&key) {
            Some(known) => Some(known.clone()),
            None => (!self.start.partial_state).then_some(None),
        };
        let result = known.filter(|_| self.recorded.is_empty()).map(|known| match known {
            Some(content) => EntryResult::Value(content),
            None => EntryResult::EMPTY,
        });
        let asked = GetState { key, name: String::new(), result: result.clone() };
        let index = self.ask(asked)?;
        if let Some(result) = result {
            self.open.remove(&index);
            self.tell(index, result);
        }
        Ok(StateRead::Asked(index))
    }

    /// Writes a key of the state.
    ///
    /// # Errors
    /// If the journal has another entry there.
    pub(super) fn set_state(
        &mut self,
        key: &'static str,
        content: Vec<u8>,
    ) -> Result<(), ErrorMessage> {
        let (key, value) = (Bytes::from_static(key.as_bytes()), Bytes::from(content));
        self.state.insert(key.clone(), Some(value.clone()));
        let set = mutable::SetState { key, value, ..mutable::SetState::default() };
        self.ask(set).map(drop)
    }

    /// Suspends the attempt until one of these entries completes.
    ///
    /// # Errors
    /// If the journal has further entries.
    pub(super) fn suspend(&mut self, entry_indexes: Vec<u32>) -> Result<(), ErrorMessage> {
        if let Some(recorded) = self.recorded.front() {
            let what = format!("the handler waits, and the journal goes on with {recorded:?}");
            return Err(ErrorMessage::new(MISMATCH, what));
        }
        self.write(&Message::Suspension(Suspension { entry_indexes }));
        self.phase = Phase::Closed;
        Ok(())
    }

    /// Ends the invocation.
    ///
    /// # Errors
    /// If the journal has another entry there.
    pub(super) fn finish(&mut self, outcome: OperationOutcome) -> Result<(), ErrorMessage> {
        self.ask(Output { name: String::new(), result: Some(outcome.into()) })?;
        self.write(&Message::End);
        self.phase = Phase::Closed;
        Ok(())
    }

    /// Ends the attempt with an error. No-op if it is over.
    pub(super) fn fail(&mut self, error: ErrorMessage) {
        if self.phase != Phase::Closed {
            let ErrorMessage { code, message, .. } = error;
            self.write(&Message::Error(mutable::ErrorMessage {
                code,
                message,
                ..mutable::ErrorMessage::default()
            }));
            self.phase = Phase::Closed;
        }
    }

    /// Takes the index of the next entry. The input has 0.
    fn next(&mut self) -> u32 {
        self.next_index += 1;
        self.next_index
    }

    fn write_entry(&mut self, entry: &Entry, flags: Flags) -> u32 {
        let frame = Message::Entry(entry.clone()).encode(self.version);
        frame.flagged(flags).write(&mut self.out);
        self.next()
    }

    fn write(&mut self, message: &Message) {
        message.encode(self.version).write(&mut self.out);
    }

    /// True if the host completes the entry later.
    fn completes_later(&self, entry: &Entry) -> bool {
        let later = |kind: mutable::EntryKind| kind.completes() == mutable::CompletionMode::Later;
        entry.kind().is_some_and(later) && entry.result().is_none()
    }
}

/// The request of an entry: the entry without its result.
fn request(entry: &Entry) -> Entry {
    match entry.clone() {
        Entry::Call(it) => Call { result: None, ..it }.into(),
        Entry::Sleep(it) => Sleep { result: None, ..it }.into(),
        Entry::Awakeable(it) => Awakeable { result: None, ..it }.into(),
        Entry::GetState(it) => GetState { result: None, ..it }.into(),
        Entry::GetPromise(it) => GetPromise { result: None, ..it }.into(),
        Entry::CompletePromise(it) => CompletePromise { result: None, ..it }.into(),
        Entry::Run(it) => Run { result: None, ..it }.into(),
        Entry::GetCallInvocationId(it) => {
            mutable::GetCallInvocationId { result: None, ..it }.into()
        }
        Entry::AttachInvocation(it) => mutable::AttachInvocation { result: None, ..it }.into(),
        Entry::GetInvocationOutput(it) => {
            mutable::GetInvocationOutput { result: None, ..it }.into()
        }
        other => other,
    }
}

fn value(result: Option<&EntryResult>) -> Bytes {
    match result {
        Some(EntryResult::Value(value)) => value.clone(),
        _ => Bytes::new(),
    }
}
