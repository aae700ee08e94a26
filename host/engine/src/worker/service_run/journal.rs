//! The journal of an invocation of a service: the records that are stored, as the frames that its deployment is
//! sent, and those that are still to be committed.
//!
//! A command is kept with its frame, byte for byte, because its deployment compares; what it was told is kept as
//! any result is. That a call was begun is no record of its own: its id follows from the command.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use segno_core::{
    command::{FenceAct, FenceAction},
    id::{CommandIndex, PromiseId},
    invocation::{
        CommandKind, EngineFacts, FieldValue, Outcome, Record, RecordBody, Request, StepResult,
    },
    time::Timestamp,
    value::{Payload, Text},
};
use segno_restate::{
    frame::Frame,
    immutable::{
        Command, Input, Message, Notification, NotificationId, NotificationKind, NotificationResult,
    },
    version::ProtocolVersion,
    wire::{Header, Value},
};

use crate::{
    services::{
        outcome,
        signals::{self, Carries},
    },
    values::journals,
};

/// The fields of a request: the frame of the command, and the promise whose settlement is its result.
const FRAME: &str = "frame";
const PROMISE: &str = "promise";

/// The journal of one invocation under a claim.
pub struct Journal {
    id: PromiseId,
    version: ProtocolVersion,
    len: u32,
    commands: u32,
    at: Timestamp,
    /// All that is recorded, as frames.
    frames: Vec<Bytes>,
    open: BTreeMap<CommandIndex, Open>,
    signals: u32,
    /// The indexes of the signals that it was told of: each counts once.
    told: BTreeSet<u32>,
    cancel_told: bool,
    /// Whether anything was recorded under this claim.
    has_grown: bool,
    batch: Batch,
}

/// A command that was not told its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// What its notification is.
    pub kind: NotificationKind,
    /// Its completion id.
    pub completion: u32,
    /// The promise whose settlement is its result; none: it is told by the deployment (a run), or at once.
    pub awaits: Option<PromiseId>,
}

/// What is still to be committed.
#[derive(Default)]
pub struct Batch {
    /// Records.
    pub records: Vec<Record>,
    /// What is done with them.
    pub actions: Vec<FenceAction>,
}

/// A command as it is recorded.
pub struct Recorded {
    /// Its kind.
    pub kind: CommandKind,
    /// What it names.
    pub name: Text,
    /// The promise whose settlement is its result.
    pub awaits: Option<PromiseId>,
    /// What is done.
    pub acts: Vec<FenceAct>,
}

/// Records that are no journal of a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record {seq} {what}")]
pub struct Unreadable {
    seq: u32,
    what: &'static str,
}

/// The input of an invocation, with its headers.
pub struct Called {
    /// The handler's address without its scheme.
    pub function: Text,
    /// The input.
    pub input: segno_guest::Payload,
    /// The headers of the request.
    pub headers: Vec<(String, String)>,
}

impl Journal {
    /// A journal that has no records yet; its first one is `started`.
    pub fn begin(id: PromiseId, version: ProtocolVersion, called: &Called, first: Started) -> Self {
        let mut journal = Self::empty(id, version);
        let body = RecordBody::Started {
            function: called.function.clone(),
            input: journals::payload(&called.input),
            module: first.deployment,
            seed: first.seed,
            engine: EngineFacts { class: version.number(), ..EngineFacts::default() },
        };
        journal.record(body, first.at);
        journal.input(called);
        journal
    }

    fn empty(id: PromiseId, version: ProtocolVersion) -> Self {
        Self {
            id,
            version,
            len: 0,
            commands: 0,
            at: Timestamp::default(),
            frames: Vec::new(),
            open: BTreeMap::new(),
            signals: 0,
            told: BTreeSet::new(),
            cancel_told: false,
            has_grown: false,
            batch: Batch::default(),
        }
    }

    /// The journal with these records. `own` has the values of promises that records refer to.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn read(
        id: PromiseId,
        called: &Called,
        records: &[Record],
        own: &BTreeMap<CommandIndex, StepResult>,
    ) -> Result<Self, Unreadable> {
        let mut journal = Self::empty(id, ProtocolVersion::V5);
        for record in records {
            let unreadable = |what| Unreadable { seq: record.seq, what };
            (journal.len, journal.at) = (record.seq + 1, record.at);
            match &record.body {
                RecordBody::Started { engine, .. } => {
                    journal.version = ProtocolVersion::from_number(engine.class)
                        .ok_or_else(|| unreadable("names no version of the protocol"))?;
                    journal.input(called);
                }
                RecordBody::Command { index, request, .. } => {
                    let asked = Asked::of(request, journal.version)
                        .ok_or_else(|| unreadable("has no frame of a command"))?;
                    journal.commands += 1;
                    journal.asked(*index, asked);
                }
                RecordBody::Notified { index, outcome } => {
                    let result = match outcome {
                        Outcome::Inline(result) => Some(result),
                        Outcome::Own => own.get(index),
                    };
                    let result =
                        result.ok_or_else(|| unreadable("refers to a value that is gone"))?;
                    let open = journal.open.remove(index);
                    // A read that the deployment answered itself has its answer in its frame.
                    let Some(open) = open else { continue };
                    let result = outcome::recorded(open.kind, result)
                        .ok_or_else(|| unreadable("has a result of another kind of command"))?;
                    journal.tell(&Notification::completion(open.kind, open.completion, result));
                }
                RecordBody::Signal { name, payload } => {
                    journal.tell_signal(name, payload);
                }
                RecordBody::Cancelled => {
                    journal.cancel_told = true;
                    journal.tell(&Notification::cancel());
                }
                RecordBody::Finished { .. } => return Err(unreadable("says that it has ended")),
            }
        }
        Ok(journal)
    }

    fn input(&mut self, called: &Called) {
        let headers = called.headers.iter().cloned();
        let input = Input {
            headers: headers.map(|(key, value)| Header { key, value }).collect(),
            value: Some(Value { content: outcome::bytes(&called.input) }),
            name: String::new(),
        };
        self.push(&Message::Command(input.into()));
    }

    /// The version of the protocol in which its frames are.
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// All that is recorded, as frames.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.frames.iter().map(|frame| &frame[..])
    }

    /// When the last record was made.
    pub fn last_at(&self) -> Timestamp {
        self.at
    }

    /// The index of the next command.
    pub fn next_index(&self) -> CommandIndex {
        CommandIndex(self.commands)
    }

    /// How many signals it was told of.
    pub fn signals(&self) -> u32 {
        self.signals
    }

    /// Whether it was told to stop.
    pub fn cancel_told(&self) -> bool {
        self.cancel_told
    }

    /// The commands that were not told their result.
    pub fn open(&self) -> impl Iterator<Item = (CommandIndex, &Open)> {
        self.open.iter().map(|(index, open)| (*index, open))
    }

    /// The open command with this completion id.
    pub fn open_as(&self, completion: u32) -> Option<(CommandIndex, &Open)> {
        self.open().find(|(_, open)| open.completion == completion)
    }

    /// Whether anything was recorded under this claim.
    pub fn has_grown(&self) -> bool {
        self.has_grown
    }

    /// Whether there is anything to commit.
    pub fn is_dirty(&self) -> bool {
        !self.batch.records.is_empty()
    }

    /// What is to be committed.
    pub fn take_batch(&mut self) -> Batch {
        std::mem::take(&mut self.batch)
    }

    /// Records a command that the deployment asked for. Answers what it is told at once.
    pub fn command(
        &mut self,
        command: Command,
        frame: Bytes,
        recorded: Recorded,
        now: Timestamp,
    ) -> (CommandIndex, Option<Notification>) {
        let Recorded { kind, name, awaits, acts } = recorded;
        let index = self.next_index();
        self.commands += 1;
        let asked = Asked { frame, command, awaits };
        let request = asked.request();
        self.record(RecordBody::Command { index, kind, name, request }, now);
        self.batch.actions.extend(acts.into_iter().map(|act| FenceAction { index, act }));
        (index, self.asked(index, asked))
    }

    /// Records the result of a command that is open. Answers what the deployment is told.
    pub fn complete(
        &mut self,
        index: CommandIndex,
        result: NotificationResult,
        now: Timestamp,
    ) -> Option<Notification> {
        let open = self.open.remove(&index)?;
        let stored = outcome::stored(&result);
        let is_own = open.awaits.as_ref() == Some(&self.id.command(index));
        let outcome = match is_own && is_long(&stored) {
            true => Outcome::Own,
            false => Outcome::Inline(stored),
        };
        self.record(RecordBody::Notified { index, outcome }, now);
        let notification = Notification::completion(open.kind, open.completion, result);
        self.tell(&notification);
        Some(notification)
    }

    /// Records the answer that a deployment gave itself.
    pub fn answered(&mut self, index: CommandIndex, result: &NotificationResult, now: Timestamp) {
        let outcome = Outcome::Inline(outcome::stored(result));
        self.record(RecordBody::Notified { index, outcome }, now);
    }

    /// Records a signal. Answers what the deployment is told: of what is completed once, the first one.
    pub fn signal(&mut self, name: Text, payload: Payload, now: Timestamp) -> Option<Notification> {
        let notification = self.tell_signal(&name, &payload);
        self.record(RecordBody::Signal { name, payload }, now);
        notification
    }

    fn tell_signal(&mut self, name: &str, payload: &Payload) -> Option<Notification> {
        self.signals += 1;
        let notification = signal(name, payload);
        if let NotificationId::Signal(index) = notification.id
            && !self.told.insert(index)
        {
            return None;
        }
        self.tell(&notification);
        Some(notification)
    }

    /// Records that it is told to stop.
    pub fn cancel(&mut self, now: Timestamp) -> Notification {
        self.cancel_told = true;
        self.record(RecordBody::Cancelled, now);
        let notification = Notification::cancel();
        self.tell(&notification);
        notification
    }

    /// The last record.
    pub fn finish(&mut self, outcome: &segno_guest::Outcome, now: Timestamp) {
        let outcome = journals::stored(outcome, true);
        self.record(RecordBody::Finished { outcome }, now);
    }

    fn record(&mut self, body: RecordBody, now: Timestamp) {
        self.at = self.at.max(now);
        self.has_grown = true;
        self.batch.records.push(Record { seq: self.len, at: self.at, body });
        self.len += 1;
    }

    fn asked(&mut self, index: CommandIndex, asked: Asked) -> Option<Notification> {
        let Asked { frame, command, awaits } = asked;
        self.frames.push(frame);
        let mut begun = None;
        let is_call = matches!(command, Command::Call(_));
        for wanted in command.wanted() {
            if is_call && wanted.kind == NotificationKind::CallInvocationId {
                let id = awaits.as_ref().map(ToString::to_string).unwrap_or_default();
                let result = NotificationResult::InvocationId(id);
                let notification = Notification::completion(wanted.kind, wanted.id, result);
                self.tell(&notification);
                begun = Some(notification);
                continue;
            }
            let (kind, completion) = (wanted.kind, wanted.id);
            self.open.insert(index, Open { kind, completion, awaits: awaits.clone() });
        }
        begun
    }

    fn tell(&mut self, notification: &Notification) {
        let message = Message::Notification(notification.clone());
        self.push(&message);
    }

    fn push(&mut self, message: &Message) {
        self.frames.push(message.encode(self.version).to_bytes());
    }
}

/// What is known when an invocation begins.
pub struct Started {
    /// The digest of its deployment.
    pub deployment: segno_core::id::Digest,
    /// What its randomness is drawn from.
    pub seed: segno_core::invocation::Seed,
    /// When.
    pub at: Timestamp,
}

/// A command as its request keeps it.
pub struct Asked {
    /// The frame, as it came.
    pub frame: Bytes,
    /// What it says.
    pub command: Command,
    /// The promise whose settlement is its result.
    pub awaits: Option<PromiseId>,
}

impl Asked {
    fn request(&self) -> Request {
        let promise = self.awaits.as_ref().map(|id| (PROMISE, id.as_str().as_bytes()));
        let fields: Vec<_> = [(FRAME, &self.frame[..])].into_iter().chain(promise).collect();
        Request::verbatim(&fields)
    }

    /// The command in a request; none: there is none.
    pub fn of(request: &Request, version: ProtocolVersion) -> Option<Self> {
        let fields = request.fields()?;
        let field = |name: &str| {
            let field = fields.iter().find(|field| *field.name == *name)?;
            match &field.value {
                FieldValue::Inline(bytes) => Some(bytes.as_slice()),
                FieldValue::Digest { .. } => None,
            }
        };
        let frame = Bytes::copy_from_slice(field(FRAME)?);
        let message = Message::decode(&Frame::from_bytes(&frame)?, version).ok()?;
        let Message::Command(command) = message else { return None };
        let awaits = field(PROMISE).and_then(|id| std::str::from_utf8(id).ok());
        Some(Self { frame, command, awaits: awaits.map(PromiseId::from) })
    }
}

/// The notification of a signal with this name.
fn signal(name: &str, payload: &Payload) -> Notification {
    let (id, carries) = signals::parse(name);
    let value = || NotificationResult::Value(Bytes::copy_from_slice(payload.as_bytes()));
    let result = match carries {
        Carries::Value => value(),
        Carries::Nothing => NotificationResult::Void,
        Carries::Failure => {
            let value = crate::values::value(&journals::guest_payload(payload));
            NotificationResult::Failure(outcome::told(&crate::values::failure(Some(&value))))
        }
    };
    match id {
        NotificationId::Signal(index) | NotificationId::Completion(index) => {
            Notification::signal(index, result)
        }
        NotificationId::NamedSignal(name) => Notification::named_signal(name, result),
    }
}

fn is_long(result: &StepResult) -> bool {
    let of = |payload: &Payload| payload.as_bytes().len();
    let length = match result {
        StepResult::Empty => 0,
        StepResult::Value(value) => of(value),
        StepResult::Failure { message, details, .. } => {
            message.len() + details.as_ref().map_or(0, of)
        }
    };
    length > journals::INLINE_LIMIT
}
