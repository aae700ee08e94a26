//! The journal of an invocation of a service: the records that are stored, as the frames that its deployment is
//! sent, and those that are still to be committed.
//!
//! A command is kept with its frame, byte for byte, because its deployment compares; what it was told is kept as
//! any result is. That a call was begun is no record of its own: its id follows from the command.
//!
//! - [`asked`]: a command, as its request keeps it;
//! - [`results`]: what a deployment is told of its commands;
//! - [`signals`]: what it is told beside them.

mod asked;
mod results;
mod signals;

use std::collections::BTreeMap;

use bytes::Bytes;
use segno_core::{
    command::{FenceAct, FenceAction},
    id::{CommandIndex, PromiseId},
    invocation::{CommandKind, EngineFacts, Outcome, Record, RecordBody, Seed, StepResult},
    time::Timestamp,
    value::Text,
};
use segno_engine::values::journals;
use segno_restate::{
    immutable::{Input, Message, Notification, NotificationKind, NotificationResult},
    mutable,
    version::{Family, ProtocolVersion},
    wire::{Header, Value},
};

pub use self::asked::Asked;
use self::asked::place;
use super::wish::Wish;
use crate::deployments::outcome;

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
                    journal.note_callee(*index, &open, &result);
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

    /// The number of its records.
    pub fn recorded(&self) -> u32 {
        self.len
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

    /// Whom the call at this place began.
    pub fn callee(&self, place: u32) -> Option<&PromiseId> {
        self.callees.get(&place)
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

#[cfg(test)]
mod tests;
