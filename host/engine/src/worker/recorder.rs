//! The host's side of a workflow's imports: matches what the guest asks with the journal, and collects what is new.
//!
//! One recorder serves one execution, from the first replayed record to the last live one. While records are left it
//! *compares*; where they run out, even in the middle of a poll, it *adds*. It does no I/O: the execution commits what
//! it collected.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use segno_core::{
    address::Address,
    command::{FenceAct, FenceAction},
    id::{CommandIndex, PromiseId},
    invocation::{
        self, AppendRefused, Asked, CursorError, Divergence, Ending, EngineFacts, LogLine, Next,
        Outline, Record, RecordBody, ReplayCursor,
    },
    tags,
    time::Timestamp,
};

use super::{
    action,
    batch::Batch,
    open::{Open, OpenCommands},
    outcome, request,
};
use segno_guest::{
    Answer, Ask, Completion, Event, Failure, FunctionDescription, Journal, Level, Outbound,
    Outcome, RunAnswer, Signal, Stop,
};

/// What the recorder must know of the invocation it serves.
#[derive(Clone)]
pub struct Identity {
    /// The invocation.
    pub id: PromiseId,
    /// The name its module is known by to policies: the alias it was started under.
    pub module: String,
    /// What its module offers, for the defaults of calls within it.
    pub functions: Arc<Vec<FunctionDescription>>,
    /// Whose policy is asked about calls of servers; none: what it does goes nowhere.
    pub outbound: Option<Arc<dyn Outbound>>,
}

/// See the module.
pub struct Recorder {
    identity: Identity,
    /// While records are left to compare with.
    cursor: Option<ReplayCursor>,
    /// A replay for its own sake: nothing is collected, and no `run` is executed.
    read_only: bool,
    batch: Batch,
    seq: u32,
    commands: u32,
    at: Timestamp,
    open: OpenCommands,
    /// The `run` whose closure is being executed.
    running: Option<(u32, String)>,
    /// Results that are not recorded yet: of `run`s, and of calls that the policy refuses.
    results: VecDeque<(u32, Outcome)>,
    /// Named promises by command: the others are known by their index.
    named: BTreeMap<u32, PromiseId>,
    /// Lines logged so far, and how many of them are stored from before.
    lines: u32,
    stored_lines: u32,
    finished: Option<Outcome>,
    divergence: Option<Box<Divergence>>,
}

impl Recorder {
    /// For an invocation with these records; none: it begins now, at `at`. They must be all there are.
    ///
    /// # Errors
    /// The records are no journal.
    pub fn new(
        identity: Identity,
        records: Vec<Record>,
        at: Timestamp,
        read_only: bool,
    ) -> Result<Self, AppendRefused> {
        let cursor = if records.is_empty() { None } else { Some(ReplayCursor::new(records)?) };
        Ok(Self::at(identity, cursor, at, read_only))
    }

    /// For an invocation that begins now.
    pub fn begin(identity: Identity, at: Timestamp) -> Self {
        Self::at(identity, None, at, false)
    }

    /// For an invocation whose journal is outlined so, and handed over in pages.
    pub fn over(identity: Identity, outline: Outline, read_only: bool) -> Self {
        Self::at(identity, Some(ReplayCursor::over(outline)), Timestamp::default(), read_only)
    }

    fn at(
        identity: Identity,
        cursor: Option<ReplayCursor>,
        at: Timestamp,
        read_only: bool,
    ) -> Self {
        Self {
            identity,
            seq: cursor.as_ref().map_or(0, |cursor| cursor.head().len),
            at: cursor.as_ref().map_or(at, ReplayCursor::now),
            cursor,
            read_only,
            batch: Batch::default(),
            commands: 0,
            open: OpenCommands::default(),
            running: None,
            results: VecDeque::new(),
            named: BTreeMap::new(),
            lines: 0,
            stored_lines: 0,
            finished: None,
            divergence: None,
        }
    }

    /// From where on records of the journal must be handed over before the guest is called again.
    pub fn lacks(&self) -> Option<u32> {
        self.cursor.as_ref()?.lacks()
    }

    /// Takes the next records of the journal. Answers how many it had not had.
    pub fn feed(&mut self, records: Vec<Record>) -> usize {
        self.cursor.as_mut().map_or(0, |cursor| cursor.feed(records))
    }

    /// Says that the first `lines` lines of the log are stored: a replay that logs them again adds nothing.
    pub fn with_stored_lines(mut self, lines: u32) -> Self {
        self.stored_lines = lines;
        self
    }

    /// The record that began the invocation, while replaying.
    pub fn started_record(&self) -> Option<Record> {
        self.cursor.as_ref().and_then(|cursor| cursor.started().cloned())
    }

    /// The settings the execution began under, while replaying.
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

    /// How the guest said the invocation ends.
    pub fn finished(&self) -> Option<&Outcome> {
        self.finished.as_ref()
    }

    /// The first difference, if there was one.
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_deref()
    }

    /// Records of a replay that were matched so far.
    pub fn matched(&self) -> u32 {
        self.cursor.as_ref().map_or(self.seq, ReplayCursor::matched)
    }

    /// Commands that may still complete.
    pub fn open(&self) -> &OpenCommands {
        &self.open
    }

    /// What was collected, to be committed.
    pub fn take_batch(&mut self) -> Batch {
        std::mem::take(&mut self.batch)
    }

    /// Takes back records of the last batch that were not stored: they begin the next one.
    pub fn put_back(&mut self, records: Vec<Record>) {
        self.batch.records.splice(0..0, records);
    }

    /// What is collected so far.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The length of the journal without what is only collected.
    pub fn stored_len(&self) -> u32 {
        self.seq
            - u32::try_from(self.batch.records.len()).expect("a batch is shorter than its journal")
    }

    /// While replaying: the next stored event, which the guest has to be told now. `None`: from here on it is live.
    ///
    /// # Errors
    /// The guest should have issued another command first.
    pub fn next_stored(&mut self) -> Result<Option<StoredEvent>, Stop> {
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        let record = match cursor.next_event() {
            Err(error) => return Err(self.stopped(error)),
            Ok(Next::Live | Next::Finished) => {
                self.cursor = None;
                return Ok(None);
            }
            Ok(Next::Event(record)) => record,
        };
        self.at = record.at;
        Ok(Some(match record.body {
            RecordBody::Notified { index, outcome } => {
                let promise = self.open.close(index.0).and_then(|open| open.promise);
                let promise = promise.unwrap_or_else(|| self.identity.id.command(index));
                StoredEvent::Completed { index: index.0, outcome, promise }
            }
            RecordBody::Signal { name, payload } => StoredEvent::Whole(Event::Signal(Signal {
                name: name.to_string(),
                payload: outcome::guest_payload(&payload),
            })),
            RecordBody::Cancelled => StoredEvent::Whole(Event::Cancelled),
            RecordBody::Started { .. }
            | RecordBody::Command { .. }
            | RecordBody::Finished { .. } => {
                unreachable!("the cursor gives out events only")
            }
        }))
    }

    /// A live event that the guest will be told: recorded at the head of what its poll adds.
    /// `None`: nobody waits for it any more.
    pub fn admit(&mut self, event: Event, now: Timestamp) -> Option<Event> {
        let body = match &event {
            Event::Completed(Completion { command, outcome }) => {
                let open = self.open.close(*command)?;
                let index = CommandIndex(*command);
                // A value that is not repeated in the journal is looked for under the command's index.
                let is_own = open.promise.is_some_and(|id| id == self.identity.id.command(index));
                RecordBody::Notified { index, outcome: outcome::stored(outcome, is_own) }
            }
            Event::Signal(Signal { name, payload }) => RecordBody::Signal {
                name: name.as_str().into(),
                payload: outcome::payload(payload),
            },
            Event::Cancelled => RecordBody::Cancelled,
        };
        self.at = self.at.max(now);
        self.push(body);
        Some(event)
    }

    /// The next result of the recorder's own that is still waited for, recorded as the last of its batch; to be delivered after the
    /// commit. A result that nobody waits for makes no record: a replay would tell it.
    pub fn next_result(&mut self, now: Timestamp) -> Option<Event> {
        loop {
            let (command, outcome) = self.results.pop_front()?;
            if self.open.close(command).is_none() {
                continue;
            }
            self.at = self.at.max(now);
            self.push(RecordBody::Notified {
                index: CommandIndex(command),
                outcome: outcome::stored(&outcome, false),
            });
            return Some(Event::Completed(Completion { command, outcome }));
        }
    }

    /// After a replay: what open commands still have to do, since it may not have been done.
    pub fn pending_actions(&mut self, missing: impl Fn(&PromiseId) -> bool) -> Vec<FenceAction> {
        let pending: Vec<(u32, FenceAct)> = self
            .open
            .take_actions()
            .filter(|(_, promise, _)| promise.as_ref().is_none_or(&missing))
            .map(|(index, _, act)| (index, act))
            .collect();
        pending.into_iter().filter_map(|(index, act)| self.allowed(index, act)).collect()
    }

    /// The action, if the policy allows it. If not, that is what its command comes to.
    fn allowed(&mut self, index: u32, act: FenceAct) -> Option<FenceAction> {
        match self.refusal(&act) {
            None => Some(FenceAction { index: CommandIndex(index), act }),
            Some(failure) => {
                self.results.push_back((index, Outcome::Failure(failure)));
                None
            }
        }
    }

    /// Why a server may not be called, as for HTTP steps: a message posted there is a request of this module.
    fn refusal(&self, act: &FenceAct) -> Option<Failure> {
        let FenceAct::Create { new } = act else { return None };
        let Ok(Address::Http(url)) = Address::parse(tags::target(&new.tags)?) else { return None };
        self.identity.outbound.as_ref()?.allows(&self.identity.module, &url).err()
    }

    /// The end: what is still to be committed, and the last record.
    pub fn close(&mut self) -> Option<(Batch, Record, Outcome)> {
        let outcome = self.finished.clone()?;
        let batch = self.take_batch();
        let record = Record {
            seq: self.seq,
            at: self.at,
            body: RecordBody::Finished { outcome: outcome::stored(&outcome, true) },
        };
        Some((batch, record, outcome))
    }

    fn push(&mut self, body: RecordBody) {
        if !self.read_only {
            self.batch.records.push(Record { seq: self.seq, at: self.at, body });
            self.seq += 1;
        }
    }

    fn stopped(&mut self, error: CursorError) -> Stop {
        match error {
            CursorError::Diverged(divergence) => {
                self.divergence = Some(divergence);
                Stop::Divergence
            }
            CursorError::Missing { .. } => Stop::Damaged(error.to_string()),
        }
    }

    fn command(&mut self, ask: Ask) -> Result<Answer, Stop> {
        let (kind, name, request) = request::command(&ask).expect("only commands come here");
        let index = self.commands;
        let asked = Asked { kind, name, request };
        let mut live = true;
        let mut told_later = false;
        if let Some(cursor) = &mut self.cursor {
            match cursor.answer(&asked) {
                Err(error) => return Err(self.stopped(error)),
                Ok(invocation::Answer::Recorded { notified, .. }) => {
                    live = false;
                    told_later = notified;
                }
                Ok(invocation::Answer::Live { .. }) => {}
            }
        }
        let act = if told_later || self.read_only {
            None
        } else {
            let cancelled = |command: u32| {
                let by_index = || self.identity.id.command(CommandIndex(command));
                self.named.get(&command).cloned().unwrap_or_else(by_index)
            };
            action::of(&self.identity, index, &ask, self.at, cancelled)?
        };
        self.commands += 1;
        let promise = action::promise(&self.identity.id, index, &ask);
        if let (Ask::Promise { name: Some(_), .. }, Some(id)) = (&ask, &promise) {
            self.named.insert(index, id.clone());
        }
        let answer = match &ask {
            Ask::Promise { .. } => {
                let id = promise.as_ref().expect("a promise command has a promise");
                Answer::Promise(index, id.as_str().to_owned())
            }
            Ask::Run { .. } if told_later || self.read_only => {
                Answer::Run(RunAnswer::Recorded(index))
            }
            Ask::Run { name } => {
                self.running = Some((index, name.clone()));
                Answer::Run(RunAnswer::Execute(index))
            }
            _ => Answer::Command(index),
        };
        let due = match &ask {
            Ask::SleepUntil { time_ms } => {
                Some(Timestamp(i64::try_from(*time_ms).unwrap_or(i64::MAX)))
            }
            _ => None,
        };
        if live {
            self.batch.bytes += ask.size();
            let Asked { kind, name, request } = asked;
            self.push(RecordBody::Command { index: CommandIndex(index), kind, name, request });
            let act = act.and_then(|act| self.allowed(index, act));
            self.batch.actions.extend(act);
            self.open.add(index, Open { kind, promise, due, act: None });
        } else {
            self.open.add(index, Open { kind, promise, due, act });
        }
        Ok(answer)
    }

    fn finish(&mut self, outcome: Outcome) -> Result<Answer, Stop> {
        if let Some(cursor) = &mut self.cursor {
            // A replay for its own sake is given the whole outcome to compare with.
            match cursor.finish(&outcome::stored(&outcome, !self.read_only)) {
                Err(error) => return Err(self.stopped(error)),
                Ok(Ending::Recorded | Ending::Live) => {}
            }
        }
        self.finished = Some(outcome);
        Ok(Answer::Done)
    }

    fn log(&mut self, level: Level, message: String) {
        let line = self.lines;
        self.lines += 1;
        if line >= self.stored_lines && !self.read_only {
            let level = outcome::level(level);
            self.batch.bytes += message.len();
            self.batch.logs.push(LogLine {
                seq: line,
                level,
                at: self.at,
                message: message.into(),
            });
        }
    }

    fn now(&self) -> Answer {
        Answer::Now(u64::try_from(self.at.0).unwrap_or(0))
    }

    /// What is answered after the end: nothing comes of it.
    fn ignored(&self, ask: &Ask) -> Answer {
        match ask {
            Ask::Now => self.now(),
            Ask::Run { .. } => Answer::Run(RunAnswer::Recorded(u32::MAX)),
            Ask::Promise { .. } => Answer::Promise(u32::MAX, String::new()),
            Ask::Log { .. } | Ask::Forget { .. } | Ask::RunDone { .. } | Ask::Finish { .. } => {
                Answer::Done
            }
            _ => Answer::Command(u32::MAX),
        }
    }
}

impl Journal for Recorder {
    fn ask(&mut self, ask: Ask) -> Result<Answer, Stop> {
        if self.finished.is_some() {
            return Ok(self.ignored(&ask));
        }
        if let Some((_, name)) = &self.running
            && !matches!(ask, Ask::RunDone { .. } | Ask::Now | Ask::Log { .. })
        {
            return Err(Stop::Contract(format!(
                "a command was issued inside the `run` step `{name}`: a step only computes; make calls, sleeps and \
                 promises outside of it"
            )));
        }
        match ask {
            Ask::Now => Ok(self.now()),
            Ask::Log { level, message } => {
                self.log(level, message);
                Ok(Answer::Done)
            }
            Ask::Forget { command } => {
                self.open.close(command);
                Ok(Answer::Done)
            }
            Ask::RunDone { command, outcome } => match self.running.take() {
                Some((running, _)) if running == command => {
                    self.results.push_back((command, outcome));
                    Ok(Answer::Done)
                }
                _ => Err(Stop::Contract(format!(
                    "`run-done({command})` came without a `run` that was to be executed"
                ))),
            },
            Ask::Finish { outcome } => self.finish(outcome),
            command => self.command(command),
        }
    }
}

/// A stored event, as far as the journal alone tells it.
pub enum StoredEvent {
    /// Whole.
    Whole(Event),
    /// A completion whose value may have to be read from the command's promise.
    Completed {
        /// The command.
        index: u32,
        /// As stored.
        outcome: invocation::Outcome,
        /// The promise that has it if the journal does not.
        promise: PromiseId,
    },
}
