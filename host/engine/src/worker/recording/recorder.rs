//! The recorder of one execution, from the first replayed record to the last live one. While
//! records are left, the recorder *compares*. After the last one, even in the middle of a poll, it
//! *adds*. The execution commits the collected records.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

use segno_core::{
    address::Address,
    command::{FenceAction, FenceOperation, Fulfillment},
    id::{CommandIndex, PromiseId},
    invocation::{
        CursorError, Divergence, EngineFacts, JournalHead, NextEvent, Outcome as StoredOutcome,
        Outline, Record, RecordBody, ReplayCursor,
    },
    tags,
    time::Timestamp,
};
use segno_guest::{
    Completion, Event, Failure, Outcome, Signal, StopReason, commands::ContinueAsNewCommand,
};

use super::{CommandLedger, CommitBatch, LookupResult, ObjectState, OpenCommands, StateLookup};
use crate::{values::journals, worker::commands::InvocationFacts};

/// A recorder shared by an execution and its guest's imports.
pub type SharedRecorder = Arc<Mutex<Recorder>>;

/// Compares a guest's commands with its journal, and collects new ones.
pub struct Recorder {
    pub(super) identity: InvocationFacts,
    /// `Some` while records are left to compare with.
    pub(super) cursor: Option<ReplayCursor>,
    /// True for a replay for a report: nothing is collected, and no `run` is executed.
    pub(super) read_only: bool,
    pub(super) batch: CommitBatch,
    pub(super) seq: u32,
    pub(super) commands: u32,
    pub(super) at: Timestamp,
    pub(super) open: OpenCommands,
    /// The state of the object. `None` for functions without an object.
    pub(super) state: Option<ObjectState>,
    /// True if the guest wrote state, or settled a promise of its object, while a read was open.
    /// See [`Recorder::may_commit`].
    pub(super) is_overtaken: bool,
    /// The `run` whose closure is being executed.
    pub(super) running: Option<(u32, String)>,
    /// Results that are not recorded yet: of `run`s, and of refused commands.
    pub(super) results: VecDeque<(u32, Outcome)>,
    /// Named promises by command index. The ids of other promises are derived from the index.
    pub(super) named: BTreeMap<u32, PromiseId>,
    /// Number of lines logged so far. `stored_lines` is the number of lines stored before.
    pub(super) lines: u32,
    pub(super) stored_lines: u32,
    pub(super) finished: Option<Outcome>,
    /// The numbers of signals that the guest reported as unread.
    pub(super) unread: Vec<u32>,
    /// The next generation, if the guest ended with one.
    pub(super) next: Option<ContinueAsNewCommand>,
    pub(super) divergence: Option<Box<Divergence>>,
    /// Only for a guest that repeats records of an invocation with another id.
    pub(super) ledger: Option<CommandLedger>,
    /// The command at which the guest is stopped, to find its position in the code.
    pub(super) halt_at: Option<u32>,
    /// True if the replay began in the middle of the journal.
    pub(super) is_resumed: bool,
}

impl Recorder {
    /// A recorder for an invocation that begins now.
    pub fn begin(identity: InvocationFacts, at: Timestamp) -> Self {
        Self::at(identity, None, at, false)
    }

    /// A recorder for an invocation whose journal has this outline. The records are supplied in
    /// pages ([`Recorder::feed`]). `read_only`: the replay is for a report.
    pub fn over(identity: InvocationFacts, outline: Outline, read_only: bool) -> Self {
        Self::at(identity, Some(ReplayCursor::over(outline)), Timestamp::default(), read_only)
    }

    pub(super) fn at(
        identity: InvocationFacts,
        cursor: Option<ReplayCursor>,
        at: Timestamp,
        read_only: bool,
    ) -> Self {
        let state = identity.object.clone();
        Self {
            state: state.map(|(object, is_held)| ObjectState::new(object, is_held)),
            is_overtaken: false,
            identity,
            seq: cursor.as_ref().map_or(0, |cursor| cursor.head().len),
            at: cursor.as_ref().map_or(at, ReplayCursor::now),
            cursor,
            read_only,
            batch: CommitBatch::default(),
            commands: 0,
            open: OpenCommands::default(),
            running: None,
            results: VecDeque::new(),
            named: BTreeMap::new(),
            lines: 0,
            stored_lines: 0,
            finished: None,
            unread: Vec::new(),
            next: None,
            divergence: None,
            ledger: None,
            halt_at: None,
            is_resumed: false,
        }
    }

    /// Keeps a ledger of the commands, for records of an invocation with another id.
    pub fn with_ledger(mut self, ledger: CommandLedger) -> Self {
        self.ledger = Some(ledger);
        self
    }

    /// Stops the guest at this command, instead of answering it.
    pub fn halt_at(&mut self, command: u32) {
        self.halt_at = Some(command);
    }

    /// The commands of a guest that repeats records of an invocation with another id.
    pub fn ledger(&self) -> Option<&CommandLedger> {
        self.ledger.as_ref()
    }

    /// The invocation, with the facts that commands need.
    pub fn identity(&self) -> &InvocationFacts {
        &self.identity
    }

    /// The promise that completes, or would complete, a command.
    pub fn promise_of(&self, command: u32) -> PromiseId {
        let by_index = || self.identity.id.command(CommandIndex(command));
        self.named.get(&command).cloned().unwrap_or_else(by_index)
    }

    /// True if the guest of a replay without effects is exactly at the end of its journal: it has
    /// issued no unrecorded command.
    pub fn is_at(&self, head: JournalHead) -> bool {
        let stands = (self.seq, self.commands, self.finished.is_some());
        self.cursor.is_none() && stands == (head.len, head.commands, head.finished)
    }

    /// Continues a replay that had reached the end of its journal ([`Recorder::is_at`]). Records
    /// were appended since, and the journal now has this outline.
    pub fn go_on(&mut self, outline: Outline) {
        let (place, next) = (self.seq, CommandIndex(self.commands));
        self.seq = outline.head().len;
        self.cursor = Some(ReplayCursor::beyond(outline, place, next));
    }

    /// The index from which records must be supplied before the guest is called again.
    pub fn lacks(&self) -> Option<u32> {
        self.cursor.as_ref()?.lacks()
    }

    /// Takes the next records of the journal. Returns the number of new ones.
    pub fn feed(&mut self, records: Vec<Record>) -> usize {
        self.cursor.as_mut().map_or(0, |cursor| cursor.feed(records))
    }

    /// Sets the number of stored log lines. A replay that logs them again adds nothing.
    pub fn with_stored_lines(mut self, lines: u32) -> Self {
        self.stored_lines = lines;
        self
    }

    /// The record that began the invocation. `None` unless replaying.
    pub fn started_record(&self) -> Option<Record> {
        self.cursor.as_ref().and_then(|cursor| cursor.started().cloned())
    }

    /// The engine settings with which the execution began. `None` unless replaying.
    pub fn engine_facts(&self) -> Option<EngineFacts> {
        match self.cursor.as_ref()?.started()?.body {
            RecordBody::Started { engine, .. } => Some(engine),
            _ => None,
        }
    }

    /// Adds the first record of a new journal.
    pub fn started(&mut self, body: RecordBody, at: Timestamp) {
        self.at = at;
        self.push(body);
    }

    /// The outcome that the guest returned. `None` if it has not ended.
    pub fn finished(&self) -> Option<&Outcome> {
        self.finished.as_ref()
    }

    /// The first difference from the journal. `None` if there is none.
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_deref()
    }

    /// Number of records of the replay that matched so far.
    pub fn matched(&self) -> u32 {
        self.cursor.as_ref().map_or(self.seq, ReplayCursor::matched)
    }

    /// Commands that may still complete.
    pub fn open(&self) -> &OpenCommands {
        &self.open
    }

    /// The data of the object that pending reads need. `None` without pending reads.
    pub fn state_lookup(&self) -> Option<StateLookup> {
        self.state.as_ref()?.lookup()
    }

    /// The results of the reads, by command, from the result of their look-up.
    pub fn state_answers(&mut self, found: &LookupResult) -> Vec<(u32, Outcome)> {
        self.state.as_mut().map_or_else(Vec::new, |state| state.answer(found))
    }

    /// True if a promise belongs to the object. No execution owns it.
    pub fn is_of_object(&self, id: &PromiseId) -> bool {
        self.identity.object.as_ref().is_some_and(|(object, _)| object.name_of(id).is_some())
    }

    /// Clears the cached state of the object. All of it is stored.
    pub fn forget_state(&mut self) {
        self.state.iter_mut().for_each(ObjectState::forget);
    }

    /// True if the collected batch may be committed in the middle of a turn. False while a read is
    /// open that a later write of the guest has overtaken: if this host died after the commit, the
    /// next one would answer the read with the later value.
    pub fn may_commit(&mut self) -> bool {
        self.is_overtaken &= self.open.has_state_reads();
        !self.is_overtaken
    }

    /// Takes the collected batch, to commit it.
    pub fn take_batch(&mut self) -> CommitBatch {
        std::mem::take(&mut self.batch)
    }

    /// Puts back a batch that was not committed. Nothing was recorded since it was taken.
    pub fn restore(&mut self, batch: CommitBatch) {
        self.batch = batch;
    }

    /// Puts back records of the last batch that were not stored. The next batch begins with them.
    pub fn put_back(&mut self, records: Vec<Record>) {
        self.batch.records.splice(0..0, records);
    }

    /// The batch collected so far.
    pub fn batch(&self) -> &CommitBatch {
        &self.batch
    }

    /// The length of the stored journal, without collected records.
    pub fn stored_len(&self) -> u32 {
        self.seq
            - u32::try_from(self.batch.records.len()).expect("a batch is shorter than its journal")
    }

    /// The next stored event of a replay, to be delivered to the guest now. `None` at the end of
    /// the journal, where the execution becomes live.
    ///
    /// # Errors
    /// The journal expects another command before the next event.
    pub fn next_stored(&mut self) -> Result<Option<StoredEvent>, StopReason> {
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        let record = match cursor.next_event() {
            Err(error) => return Err(self.stopped(error)),
            Ok(NextEvent::Live | NextEvent::Finished) => {
                self.cursor = None;
                return Ok(None);
            }
            Ok(NextEvent::Event(record)) => record,
        };
        self.at = record.at;
        Ok(Some(match record.body {
            RecordBody::Notified { index, outcome } => {
                let promise = self.open.close(index.0);
                let promise = promise.and_then(|open| open.completion.promise().cloned());
                let promise = promise.unwrap_or_else(|| self.identity.id.command(index));
                StoredEvent::Completed { index: index.0, outcome, promise }
            }
            RecordBody::Signal { name, payload } => StoredEvent::Whole(Event::Signal(Signal {
                name: name.to_string(),
                payload: journals::guest_payload(&payload),
            })),
            RecordBody::Cancelled => StoredEvent::Whole(Event::Cancelled),
            RecordBody::Started { .. }
            | RecordBody::Command { .. }
            | RecordBody::Finished { .. } => {
                unreachable!("the cursor gives out events only")
            }
        }))
    }

    /// Records a live event before the records of the next poll, and returns the event for the
    /// guest. `None` if the command is no longer open.
    pub fn admit(&mut self, event: Event, now: Timestamp) -> Option<Event> {
        let body = match &event {
            Event::Completed(Completion { command, outcome }) => {
                let open = self.open.close(*command)?;
                let index = CommandIndex(*command);
                // A value that is not repeated in the journal is read from the promise with the id
                // of the command's index.
                let own = self.identity.id.command(index);
                let is_own = open.completion.promise().is_some_and(|id| *id == own);
                RecordBody::Notified { index, outcome: journals::stored(outcome, is_own) }
            }
            Event::Signal(Signal { name, payload }) => RecordBody::Signal {
                name: name.as_str().into(),
                payload: journals::payload(payload),
            },
            Event::Cancelled => RecordBody::Cancelled,
        };
        self.at = self.at.max(now);
        self.push(body);
        Some(event)
    }

    /// Adds the end of a called task to the batch, whose outcome was just recorded.
    pub fn end_call(&mut self, command: u32, fulfillment: Fulfillment) {
        let lines = fulfillment.logs.iter().map(|line| line.message.len());
        self.batch.bytes += fulfillment.value.data.len() + lines.sum::<usize>();
        self.store_outcome(command, FenceOperation::Fulfill(Box::new(fulfillment)));
    }

    /// Adds the end of a timer to the batch, which was just recorded.
    pub fn end_timer(&mut self, command: u32, timer: PromiseId) {
        self.store_outcome(command, FenceOperation::Elapsed { id: timer });
    }

    fn store_outcome(&mut self, command: u32, act: FenceOperation) {
        self.batch.actions.push(FenceAction { index: CommandIndex(command), act });
    }

    /// The next result that the recorder itself produced and whose command is open. It is recorded
    /// as the last record of the batch. A result of a closed command is not recorded, since a
    /// replay would deliver it.
    pub fn next_result(&mut self, now: Timestamp) -> Option<Event> {
        loop {
            let (command, outcome) = self.results.pop_front()?;
            if self.open.close(command).is_none() {
                continue;
            }
            self.at = self.at.max(now);
            self.push(RecordBody::Notified {
                index: CommandIndex(command),
                outcome: journals::stored(&outcome, false),
            });
            return Some(Event::Completed(Completion { command, outcome }));
        }
    }

    /// The actions of open commands after a replay, since they may not have been executed.
    pub fn pending_actions(&mut self, missing: impl Fn(&PromiseId) -> bool) -> Vec<FenceAction> {
        let pending: Vec<(u32, FenceOperation, Option<Failure>)> = self
            .open
            .take_actions()
            .filter(|(_, promise, ..)| promise.as_ref().is_none_or(&missing))
            .map(|(index, _, act, misnamed)| (index, act, misnamed))
            .collect();
        let allowed = pending
            .into_iter()
            .filter_map(|(index, act, misnamed)| self.allowed(index, act, misnamed));
        allowed.collect()
    }

    /// The action, if its names and the policy allow it. Otherwise the command completes with the
    /// refusal.
    pub(super) fn allowed(
        &mut self,
        index: u32,
        act: FenceOperation,
        misnamed: Option<Failure>,
    ) -> Option<FenceAction> {
        match misnamed.or_else(|| self.refusal(&act)) {
            None => Some(FenceAction { index: CommandIndex(index), act }),
            Some(failure) => {
                self.results.push_back((index, Outcome::Failure(failure)));
                None
            }
        }
    }

    /// The failure if the policy does not allow a call of this server. As for HTTP steps, a message
    /// posted there is a request of this module.
    fn refusal(&self, act: &FenceOperation) -> Option<Failure> {
        let FenceOperation::Create { new, .. } = act else { return None };
        let Ok(Address::Http(url)) = Address::parse(tags::target(&new.tags)?) else { return None };
        self.identity.outbound.as_ref()?.allows(&self.identity.module, &url).err()
    }

    /// The next generation, if the guest ended with one, and the signals that it reported as
    /// unread.
    pub fn next_generation(&self) -> Option<(&ContinueAsNewCommand, &[u32])> {
        self.next.as_ref().map(|next| (next, self.unread.as_slice()))
    }

    /// Closes the journal: returns the remaining batch, the last record, and the outcome. `None` if
    /// the guest has not ended.
    pub fn close(&mut self) -> Option<(CommitBatch, Record, Outcome)> {
        let outcome = self.finished.clone()?;
        let batch = self.take_batch();
        let record = Record {
            seq: self.seq,
            at: self.at,
            body: RecordBody::Finished { outcome: journals::stored(&outcome, true) },
        };
        Some((batch, record, outcome))
    }

    pub(super) fn push(&mut self, body: RecordBody) {
        if !self.read_only {
            self.batch.records.push(Record { seq: self.seq, at: self.at, body });
            self.seq += 1;
        }
    }

    pub(super) fn stopped(&mut self, error: CursorError) -> StopReason {
        match error {
            CursorError::Diverged(divergence) => {
                self.divergence = Some(divergence);
                StopReason::Divergence
            }
            CursorError::Missing { .. } => StopReason::Damaged(error.to_string()),
        }
    }
}

/// A stored event, as far as it can be read from the journal alone.
pub enum StoredEvent {
    /// The event is complete.
    Whole(Event),
    /// A completion whose value may have to be read from the command's promise.
    Completed {
        /// The index of the command.
        index: u32,
        /// The outcome as stored.
        outcome: StoredOutcome,
        /// The promise that holds the value if the journal does not.
        promise: PromiseId,
    },
}
