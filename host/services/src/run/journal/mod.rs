//! The journal of an invocation of a service: the stored records, in the form of the frames that
//! its deployment receives, and the records that are not committed yet.
//!
//! A command is stored with its frame, byte for byte, because its deployment compares frames. Its
//! result is stored like every result. The start of a call has no record of its own, since the id
//! of the callee follows from the command.
//!
//! - [`asked`]: a command in the form of its stored request;
//! - [`results`]: the results of commands that a deployment receives;
//! - [`signals`]: signals and cancellation.

mod asked;
mod results;
mod signals;

use std::collections::BTreeMap;

use bytes::Bytes;
use segno_core::{
    command::{FenceAction, FenceOperation},
    id::{CommandIndex, PromiseId},
    invocation::{CommandKind, EngineFacts, Outcome, Record, RecordBody, Seed, StepResult},
    time::Timestamp,
    value::Text,
};
use segno_engine::values::journals;
use segno_restate::{
    immutable::{Input, Message, Notification, NotificationKind, NotificationResult},
    mutable,
    version::{ProtocolFamily, ProtocolVersion},
    wire::{Header, ValueMessage},
};

pub(super) use self::asked::StoredRequest;
use self::asked::place;
use super::wish::RequestedCommand;
use crate::deployments::outcome;

/// The journal of one invocation under a claim.
pub(crate) struct ServiceJournal {
    id: PromiseId,
    version: ProtocolVersion,
    seed: Seed,
    len: u32,
    commands: u32,
    at: Timestamp,
    /// All records, as frames.
    frames: Vec<Bytes>,
    open: BTreeMap<CommandIndex, UnansweredCommand>,
    /// The callees of calls, by the position of the call.
    callees: BTreeMap<u32, PromiseId>,
    signals: u32,
    /// The received signals with an index. Only the first one with each index counts.
    told: BTreeMap<u32, NotificationResult>,
    cancel_told: bool,
    /// True if a record was added under this claim.
    has_grown: bool,
    batch: JournalBatch,
}

/// A command without a result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnansweredCommand {
    /// The kind of its notification.
    pub kind: NotificationKind,
    /// The completion id of the command.
    pub completion: u32,
    /// The promise whose settlement is the result. `None` if the result comes from the deployment
    /// (a run), from a signal, or immediately.
    pub awaits: Option<PromiseId>,
    /// The request of the deployment.
    pub wish: RequestedCommand,
}

/// The data of the next commit.
#[derive(Default)]
pub(crate) struct JournalBatch {
    pub records: Vec<Record>,
    /// The actions to execute with the records.
    pub actions: Vec<FenceAction>,
}

/// A command in the form of its record.
pub(crate) struct CommandRecord {
    pub kind: CommandKind,
    pub name: Text,
    /// The promise whose settlement is the result.
    pub awaits: Option<PromiseId>,
    /// The actions of the command.
    pub acts: Vec<FenceOperation>,
}

/// The records are not a journal of a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record {seq} {what}")]
pub(crate) struct ServiceJournalError {
    seq: u32,
    what: &'static str,
}

/// The input of an invocation, with its headers.
pub(crate) struct InvocationInput {
    /// The handler's address without its scheme.
    pub function: Text,
    pub input: segno_guest::Payload,
    /// The headers of the request.
    pub headers: Vec<(String, String)>,
}

impl ServiceJournal {
    /// A new journal, which begins with the record `started`.
    pub(crate) fn begin(
        id: PromiseId,
        version: ProtocolVersion,
        called: &InvocationInput,
        first: InvocationStart,
    ) -> Self {
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
            batch: JournalBatch::default(),
        }
    }

    /// The journal with these records. `own` has the values of promises that records refer to.
    ///
    /// # Errors
    /// [`ServiceJournalError`].
    pub(crate) fn read(
        id: PromiseId,
        called: &InvocationInput,
        records: &[Record],
        own: &BTreeMap<CommandIndex, StepResult>,
    ) -> Result<Self, ServiceJournalError> {
        let mut journal = Self::empty(id, ProtocolVersion::V5);
        for record in records {
            let unreadable = |what| ServiceJournalError { seq: record.seq, what };
            (journal.len, journal.at) = (record.seq + 1, record.at);
            match &record.body {
                RecordBody::Started { engine, seed, .. } => {
                    journal.seed = *seed;
                    journal.version = ProtocolVersion::from_number(engine.class)
                        .ok_or_else(|| unreadable("names no version of the protocol"))?;
                    journal.input(called);
                }
                RecordBody::Command { index, request, .. } => {
                    let asked = StoredRequest::of(request, journal.version, place(*index))
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
                    if journal.version.family() == ProtocolFamily::Immutable {
                        journal.tell(&Notification::cancel());
                    }
                }
                RecordBody::Finished { .. } => return Err(unreadable("says that it has ended")),
            }
        }
        Ok(journal)
    }

    fn input(&mut self, called: &InvocationInput) {
        let headers = called.headers.iter().cloned();
        let headers = headers.map(|(key, value)| Header { key, value }).collect();
        let (content, name) = (outcome::bytes(&called.input), String::new());
        let frame = match self.version.family() {
            ProtocolFamily::Immutable => {
                let input = Input { headers, value: Some(ValueMessage { content }), name };
                Message::Command(input.into()).encode(self.version)
            }
            ProtocolFamily::Mutable => {
                let result = Some(mutable::EntryResult::Value(content));
                let input = mutable::Input { headers, name, result };
                mutable::Message::Entry(input.into()).encode(self.version)
            }
        };
        self.frames.push(frame.to_bytes());
    }

    /// The version of the protocol of the frames.
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// The seed of the invocation's random numbers.
    pub(crate) fn random_seed(&self) -> u64 {
        let first = self.seed.0.first_chunk().expect("a seed is longer than a number");
        u64::from_le_bytes(*first)
    }

    /// All records, as frames.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.frames.iter().map(|frame| &frame[..])
    }

    /// The instant of the last record.
    pub(crate) fn last_at(&self) -> Timestamp {
        self.at
    }

    /// The index of the next command.
    pub(crate) fn next_index(&self) -> CommandIndex {
        CommandIndex(self.commands)
    }

    /// Number of signals that were delivered.
    pub(crate) fn signals(&self) -> u32 {
        self.signals
    }

    /// True if the deployment was notified of the cancellation.
    pub(crate) fn cancel_told(&self) -> bool {
        self.cancel_told
    }

    /// The commands without a result.
    pub(crate) fn open(&self) -> impl Iterator<Item = (CommandIndex, &UnansweredCommand)> {
        self.open.iter().map(|(index, open)| (*index, open))
    }

    /// The open command with this completion id.
    pub(crate) fn open_as(&self, completion: u32) -> Option<(CommandIndex, &UnansweredCommand)> {
        self.open().find(|(_, open)| open.completion == completion)
    }

    /// Number of records.
    pub(crate) fn recorded(&self) -> u32 {
        self.len
    }

    /// True if a record was added under this claim.
    pub(crate) fn has_grown(&self) -> bool {
        self.has_grown
    }

    /// True if there is something to commit.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.batch.records.is_empty() || !self.batch.actions.is_empty()
    }

    /// Takes the batch to commit.
    pub(crate) fn take_batch(&mut self) -> JournalBatch {
        std::mem::take(&mut self.batch)
    }

    /// Records a command of the deployment. Returns its immediate notifications.
    pub(crate) fn command(
        &mut self,
        wish: RequestedCommand,
        frame: Bytes,
        recorded: CommandRecord,
        now: Timestamp,
    ) -> (CommandIndex, Vec<Notification>) {
        let CommandRecord { kind, name, awaits, acts } = recorded;
        let index = self.next_index();
        self.commands += 1;
        let asked = StoredRequest { frame, wish, awaits };
        let request = asked.request();
        self.record(RecordBody::Command { index, kind, name, request }, now);
        self.batch.actions.extend(acts.into_iter().map(|act| FenceAction { index, act }));
        (index, self.asked(index, asked))
    }

    /// Adds the actions of a recorded command once more.
    pub(crate) fn act_again(&mut self, index: CommandIndex, acts: Vec<FenceOperation>) {
        self.batch.actions.extend(acts.into_iter().map(|act| FenceAction { index, act }));
    }

    /// Adds the last record.
    pub(crate) fn finish(&mut self, outcome: &segno_guest::Outcome, now: Timestamp) {
        let outcome = journals::stored(outcome, true);
        self.record(RecordBody::Finished { outcome }, now);
    }

    fn record(&mut self, body: RecordBody, now: Timestamp) {
        self.at = self.at.max(now);
        self.has_grown = true;
        self.batch.records.push(Record { seq: self.len, at: self.at, body });
        self.len += 1;
    }

    /// The callee of the call at this position.
    pub(crate) fn callee(&self, place: u32) -> Option<&PromiseId> {
        self.callees.get(&place)
    }
}

/// The parameters of a new invocation.
pub(crate) struct InvocationStart {
    /// The digest of the deployment.
    pub deployment: segno_core::id::Digest,
    pub seed: Seed,
    /// The instant at which the invocation began.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests;
