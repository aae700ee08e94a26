//! The journal of an invocation of a service: the records that are stored, as the frames that its deployment is
//! sent, and those that are still to be committed.
//!
//! A command is kept with its frame, byte for byte, because its deployment compares; what it was told is kept as
//! any result is. That a call was begun is no record of its own: its id follows from the command.

use std::collections::BTreeMap;

use bytes::Bytes;
use segno_core::{
    command::{FenceAct, FenceAction},
    id::{CommandIndex, PromiseId},
    invocation::{
        CommandKind, EngineFacts, FieldValue, Outcome, Record, RecordBody, Request, Seed,
        StepResult,
    },
    time::Timestamp,
    value::{Payload, Text},
};
use segno_restate::{
    frame::Frame,
    immutable::{
        Input, Message, Notification, NotificationId, NotificationKind, NotificationResult,
    },
    mutable,
    version::{Family, ProtocolVersion},
    wire::{Header, Value},
};

use super::wish::{Wish, cancelled, entry_result};
use crate::{
    services::{
        frames::FRAME,
        outcome,
        signals::{self, Carries},
    },
    values::journals,
};

/// The field of a request with the promise whose settlement is the result, beside the frame.
const PROMISE: &str = "promise";

/// The journal of one invocation under a claim.
pub struct Journal {
    id: PromiseId,
    version: ProtocolVersion,
    seed: Seed,
    len: u32,
    commands: u32,
    at: Timestamp,
    /// All that is recorded, as frames.
    frames: Vec<Bytes>,
    open: BTreeMap<CommandIndex, Open>,
    /// Whom the calls began, by their places.
    callees: BTreeMap<u32, PromiseId>,
    signals: u32,
    /// The signals with an index that came: each counts once.
    told: BTreeMap<u32, NotificationResult>,
    cancel_told: bool,
    /// Whether anything was recorded under this claim.
    has_grown: bool,
    batch: Batch,
}

/// A command that was not told its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Open {
    /// What its notification is.
    pub kind: NotificationKind,
    /// Its completion id.
    pub completion: u32,
    /// The promise whose settlement is its result; none: it is told by the deployment (a run), by a signal, or at
    /// once.
    pub awaits: Option<PromiseId>,
    /// What it asked for.
    pub wish: Wish,
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
        let mut journal = Self { seed: first.seed, ..Self::empty(id, version) };
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
            seed: Seed([0; 32]),
            len: 0,
            commands: 0,
            at: Timestamp::default(),
            frames: Vec::new(),
            open: BTreeMap::new(),
            callees: BTreeMap::new(),
            signals: 0,
            told: BTreeMap::new(),
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
                RecordBody::Started { engine, seed, .. } => {
                    journal.seed = *seed;
                    journal.version = ProtocolVersion::from_number(engine.class)
                        .ok_or_else(|| unreadable("names no version of the protocol"))?;
                    journal.input(called);
                }
                RecordBody::Command { index, request, .. } => {
                    let asked = Asked::of(request, journal.version, place(*index))
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
                    if journal.version.family() == Family::Immutable {
                        journal.tell(&Notification::cancel());
                    }
                }
                RecordBody::Finished { .. } => return Err(unreadable("says that it has ended")),
            }
        }
        Ok(journal)
    }

    fn input(&mut self, called: &Called) {
        let headers = called.headers.iter().cloned();
        let headers = headers.map(|(key, value)| Header { key, value }).collect();
        let (content, name) = (outcome::bytes(&called.input), String::new());
        let frame = match self.version.family() {
            Family::Immutable => {
                let input = Input { headers, value: Some(Value { content }), name };
                Message::Command(input.into()).encode(self.version)
            }
            Family::Mutable => {
                let result = Some(mutable::EntryResult::Value(content));
                let input = mutable::Input { headers, name, result };
                mutable::Message::Entry(input.into()).encode(self.version)
            }
        };
        self.frames.push(frame.to_bytes());
    }

    /// The version of the protocol in which its frames are.
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// The seed of its random numbers.
    pub fn random_seed(&self) -> u64 {
        let first = self.seed.0.first_chunk().expect("a seed is longer than a number");
        u64::from_le_bytes(*first)
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
        !self.batch.records.is_empty() || !self.batch.actions.is_empty()
    }

    /// What is to be committed.
    pub fn take_batch(&mut self) -> Batch {
        std::mem::take(&mut self.batch)
    }

    /// Records a command that the deployment asked for. Answers what it is told at once.
    pub fn command(
        &mut self,
        wish: Wish,
        frame: Bytes,
        recorded: Recorded,
        now: Timestamp,
    ) -> (CommandIndex, Vec<Notification>) {
        let Recorded { kind, name, awaits, acts } = recorded;
        let index = self.next_index();
        self.commands += 1;
        let asked = Asked { frame, wish, awaits };
        let request = asked.request();
        self.record(RecordBody::Command { index, kind, name, request }, now);
        self.batch.actions.extend(acts.into_iter().map(|act| FenceAction { index, act }));
        (index, self.asked(index, asked))
    }

    /// Does once more what a command that is recorded asked for.
    pub fn act_again(&mut self, index: CommandIndex, acts: Vec<FenceAct>) {
        self.batch.actions.extend(acts.into_iter().map(|act| FenceAction { index, act }));
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
        self.tell(&notification).then_some(notification)
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
        if let NotificationId::Signal(index) = notification.id {
            if self.told.contains_key(&index) {
                return None;
            }
            self.told.insert(index, notification.result.clone());
        }
        match (self.version.family(), &notification.id) {
            (Family::Immutable, _) => {
                self.tell(&notification);
                Some(notification)
            }
            // An entry that is completed; one that is not there yet is, when it comes.
            (Family::Mutable, NotificationId::Signal(place)) => {
                let (index, _) = self.awakeable(*place)?;
                self.open.remove(&index);
                self.tell(&notification);
                Some(notification)
            }
            (Family::Mutable, _) => None,
        }
    }

    /// The awakeable with this place that is open.
    fn awakeable(&self, place: u32) -> Option<(CommandIndex, &Open)> {
        self.open_as(place).filter(|(_, open)| open.kind == NotificationKind::Signal)
    }

    /// Whether it can be told to stop now: in V1 to V3 only whatever it waits for can tell it.
    pub fn can_be_cancelled(&self) -> bool {
        !self.cancel_told
            && (self.version.family() == Family::Immutable
                || self.open().any(|(_, open)| is_cancellable(open.kind)))
    }

    /// Records that it is told to stop. Answers what the deployment is told.
    pub fn cancel(&mut self, now: Timestamp) -> Vec<Notification> {
        self.cancel_told = true;
        self.record(RecordBody::Cancelled, now);
        if self.version.family() == Family::Immutable {
            let notification = Notification::cancel();
            self.tell(&notification);
            return vec![notification];
        }
        let open = self.open().filter(|(_, open)| is_cancellable(open.kind));
        let open: Vec<(CommandIndex, Open)> =
            open.map(|(index, open)| (index, open.clone())).collect();
        let mut told = Vec::new();
        for (index, open) in open {
            if open.wish.is_call()
                && let Some(id) = open.awaits
            {
                self.batch.actions.push(FenceAction { index, act: FenceAct::CancelLoose { id } });
            }
            told.extend(self.complete(index, cancelled(), now));
        }
        told
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

    fn asked(&mut self, index: CommandIndex, asked: Asked) -> Vec<Notification> {
        let Asked { frame, wish, awaits } = asked;
        self.frames.push(frame);
        if let Some(callee) = &awaits {
            self.callees.insert(place(index), callee.clone());
        }
        let mut told = Vec::new();
        for wanted in wish.wanted() {
            let (kind, completion) = (wanted.kind, wanted.id);
            if wish.is_call() && kind == NotificationKind::CallInvocationId {
                let id = awaits.as_ref().map(ToString::to_string).unwrap_or_default();
                let result = NotificationResult::InvocationId(id);
                let notification = Notification::completion(kind, completion, result);
                told.extend(self.tell(&notification).then_some(notification));
                continue;
            }
            let early = self.told.get(&completion).filter(|_| kind == NotificationKind::Signal);
            if let Some(result) = early.cloned() {
                let notification = Notification::signal(completion, result);
                self.tell(&notification);
                told.push(notification);
                continue;
            }
            let open = Open { kind, completion, awaits: awaits.clone(), wish: wish.clone() };
            self.open.insert(index, open);
        }
        told
    }

    /// Whom the call at this place began.
    pub fn callee(&self, place: u32) -> Option<&PromiseId> {
        self.callees.get(&place)
    }

    /// Puts what the deployment is told into its frames; answers whether there is anything to tell.
    fn tell(&mut self, notification: &Notification) -> bool {
        if self.version.family() == Family::Immutable {
            let message = Message::Notification(notification.clone());
            self.frames.push(message.encode(self.version).to_bytes());
            return true;
        }
        let (NotificationId::Completion(place) | NotificationId::Signal(place)) = notification.id
        else {
            return false;
        };
        // Whom a call began is asked for in an entry of its own.
        let Some(known) = self.frames.get_mut(place as usize).filter(|_| place > 0) else {
            return false;
        };
        let result = entry_result(&notification.result);
        let completed = Frame::from_bytes(known)
            .and_then(|frame| mutable::message::complete(&frame, &result, self.version).ok());
        if let Some(completed) = &completed {
            *known = completed.to_bytes();
        }
        completed.is_some()
    }
}

/// What is known when an invocation begins.
pub struct Started {
    /// The digest of its deployment.
    pub deployment: segno_core::id::Digest,
    /// What its randomness is drawn from.
    pub seed: Seed,
    /// When.
    pub at: Timestamp,
}

/// A command as its request keeps it.
pub struct Asked {
    /// The frame, as it came.
    pub frame: Bytes,
    /// What it says.
    pub wish: Wish,
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
    pub fn of(request: &Request, version: ProtocolVersion, place: u32) -> Option<Self> {
        let fields = request.fields()?;
        let field = |name: &str| {
            let field = fields.iter().find(|field| *field.name == *name)?;
            match &field.value {
                FieldValue::Inline(bytes) => Some(bytes.as_slice()),
                FieldValue::Digest { .. } => None,
            }
        };
        let frame = Bytes::copy_from_slice(field(FRAME)?);
        let wish = Wish::of(&frame, version, place)?;
        let awaits = field(PROMISE).and_then(|id| std::str::from_utf8(id).ok());
        Some(Self { frame, wish, awaits: awaits.map(PromiseId::from) })
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

/// The place of a command in the journal of its deployment: the input is before the first one.
pub fn place(index: CommandIndex) -> u32 {
    index.0.saturating_add(1)
}

/// Whether the runtime tells such a wait that the invocation is to stop.
fn is_cancellable(kind: NotificationKind) -> bool {
    matches!(
        kind,
        NotificationKind::Sleep
            | NotificationKind::Call
            | NotificationKind::GetPromise
            | NotificationKind::AttachInvocation
            | NotificationKind::Signal
    )
}

#[cfg(test)]
mod tests {
    use segno_core::{
        id::Digest,
        invocation::{Seed, decode_records, encode_records},
    };
    use segno_guest::Payload as GuestPayload;
    use segno_restate::{
        immutable::{Call, Command, Run, SetState, Sleep},
        mutable::{Entry, EntryResult},
    };

    use super::*;

    fn called() -> Called {
        Called {
            function: Text::from("Cart/ada/add"),
            input: GuestPayload::Json("7".to_owned()),
            headers: vec![("x-one".to_owned(), "1".to_owned())],
        }
    }

    fn begun(version: ProtocolVersion) -> Journal {
        let first = Started {
            deployment: Digest([7; 32]),
            seed: Seed([1; 32]),
            at: Timestamp(1_700_000_000_000),
        };
        Journal::begin(PromiseId::from("it"), version, &called(), first)
    }

    fn ask(journal: &mut Journal, wish: Wish, frame: Bytes, kind: CommandKind) -> CommandIndex {
        let awaits = matches!(kind, CommandKind::Call | CommandKind::Sleep)
            .then(|| PromiseId::from("other"));
        let recorded = Recorded { kind, name: Text::from("n"), awaits, acts: Vec::new() };
        journal.command(wish, frame, recorded, Timestamp(1_700_000_000_001)).0
    }

    /// One of V6, with what every kind of record comes to.
    fn commands() -> Journal {
        let mut journal = begun(ProtocolVersion::V6);
        let (value, name) = (Some(Value { content: Bytes::from_static(b"[1]") }), String::new());
        let commands: [(Command, CommandKind); 4] = [
            (SetState { key: Bytes::from_static(b"k"), value, name }.into(), CommandKind::SetState),
            (Run { result_completion_id: 1, name: "r".to_owned() }.into(), CommandKind::Run),
            (
                Call {
                    service_name: "Other".to_owned(),
                    handler_name: "do".to_owned(),
                    parameter: vec![b'x'; 300].into(),
                    invocation_id_completion_id: 2,
                    result_completion_id: 3,
                    ..Call::default()
                }
                .into(),
                CommandKind::Call,
            ),
            (
                Sleep { wake_up_at_ms: 9, result_completion_id: 4, name: String::new() }.into(),
                CommandKind::Sleep,
            ),
        ];
        let indexes = commands.map(|(command, kind)| {
            let message = Message::Command(command.clone());
            let frame = message.encode(ProtocolVersion::V6).to_bytes();
            ask(&mut journal, Wish::Command(command), frame, kind)
        });
        let now = Timestamp(1_700_000_000_002);
        let value = NotificationResult::Value(Bytes::from_static(b"\"done\""));
        journal.complete(indexes[1], value, now);
        journal.signal(Text::from("#17"), Payload::Json(Text::from("5")), now);
        journal.signal(Text::from("#17!"), Payload::Json(Text::from("6")), now);
        journal.complete(indexes[3], NotificationResult::Void, now);
        journal.cancel(now);
        journal
    }

    /// One of V2, whose entries get their results.
    fn entries() -> Journal {
        let mut journal = begun(ProtocolVersion::V2);
        let name = || "n".to_owned();
        let result = Some(EntryResult::Value(Bytes::from_static(b"1")));
        let entries: [(Entry, CommandKind); 3] = [
            (mutable::Run { name: name(), result }.into(), CommandKind::Run),
            (mutable::Awakeable { name: name(), result: None }.into(), CommandKind::Promise),
            (
                mutable::Sleep { wake_up_at_ms: 9, name: name(), result: None }.into(),
                CommandKind::Sleep,
            ),
        ];
        let indexes = entries.map(|(entry, kind)| {
            let message = mutable::Message::Entry(entry.clone());
            let frame = message.encode(ProtocolVersion::V2).to_bytes();
            let wish = Wish::of_entry(entry, place(journal.next_index()));
            ask(&mut journal, wish, frame, kind)
        });
        let now = Timestamp(1_700_000_000_002);
        journal.answered(indexes[0], &NotificationResult::Value(Bytes::from_static(b"1")), now);
        journal.signal(Text::from("#2"), Payload::Json(Text::from("5")), now);
        journal.cancel(now);
        journal
    }

    /// What is stored today is read by every later version, and its deployment is sent the same frames.
    #[test]
    fn stored_journals_are_read_for_ever() {
        for (name, mut journal) in [("commands", commands()), ("entries", entries())] {
            let frames = journal.frames.clone();
            let stored = encode_records(&journal.take_batch().records);
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
            let path = folder.join(format!("service-{name}-1.bin"));
            if !path.exists() && std::env::var("SEGNO_GOLDEN").is_ok_and(|mode| mode == "write") {
                std::fs::create_dir_all(&folder).expect("the folder is made");
                std::fs::write(&path, &stored).expect("the golden file is written");
            }
            let golden = std::fs::read(&path).expect("the golden file is in the repository");
            assert_eq!(stored, golden, "{name}");
            let records = decode_records(&golden).expect("it is a journal");
            let id = PromiseId::from("it");
            let read = Journal::read(id, &called(), &records, &BTreeMap::new());
            let read = read.expect("it is a journal of a service");
            assert_eq!(read.frames, frames, "{name}");
            let open = |journal: &Journal| journal.open.keys().copied().collect::<Vec<_>>();
            assert_eq!(open(&read), open(&journal), "{name}");
            assert_eq!((read.len, read.commands), (journal.len, journal.commands), "{name}");
            assert!(read.cancel_told() && !read.has_grown());
        }
    }

    #[test]
    fn what_is_completed_once_is_told_once() {
        let mut journal = commands();
        let before = journal.frames.len();
        let again = journal.signal(Text::from("#17"), Payload::Json(Text::from("9")), Timestamp(0));
        assert_eq!((again, journal.frames.len()), (None, before));
        let named = journal.signal(Text::from("go"), Payload::Json(Text::from("9")), Timestamp(0));
        assert!(named.is_some() && journal.frames.len() == before + 1);
        assert_eq!(journal.signals(), 4);
        // In V1 to V3 an awakeable may be completed before its entry is here.
        let mut early = begun(ProtocolVersion::V3);
        assert_eq!(early.signal("#1".into(), Payload::Json("5".into()), Timestamp(0)), None);
        let entry: Entry = mutable::Awakeable { name: String::new(), result: None }.into();
        let frame = mutable::Message::Entry(entry.clone()).encode(ProtocolVersion::V3).to_bytes();
        let wish = Wish::of_entry(entry, 1);
        let recorded = Recorded {
            kind: CommandKind::Promise,
            name: Text::default(),
            awaits: None,
            acts: vec![],
        };
        let (_, told) = early.command(wish, frame, recorded, Timestamp(0));
        assert_eq!(told.len(), 1);
        assert_eq!(early.open().count(), 0);
    }

    #[test]
    fn records_of_other_journals_are_refused_by_their_place() {
        let mut journal = commands();
        let mut records = journal.take_batch().records;
        let read = |records: &[Record]| {
            let id = PromiseId::from("it");
            Journal::read(id, &called(), records, &BTreeMap::new()).err().map(|it| it.to_string())
        };
        assert_eq!(read(&records), None);
        if let RecordBody::Command { request, .. } = &mut records[1].body {
            *request = Request::of(&[("input", b"1")]);
        }
        assert_eq!(read(&records).as_deref(), Some("record 1 has no frame of a command"));
        if let RecordBody::Started { engine, .. } = &mut records[0].body {
            engine.class = 99;
        }
        let said = read(&records);
        assert_eq!(said.as_deref(), Some("record 0 names no version of the protocol"));
    }
}
