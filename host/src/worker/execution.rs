//! One workflow under one claim: acquire → (warm | instantiate and replay) → poll → commit → … → fulfill, suspend or
//! release.
//!
//! The order of things is the guarantee. What the guest asks for is collected, committed with the records that say so,
//! and only then acted upon; what it is told is recorded at the place where it was told.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    command::{Command, FenceAction},
    id::{Digest, PromiseId},
    invocation::{CommandKind, Outcome as Stored, Record, RecordBody, Seed},
    promise::{CancelState, Promise},
    reply::{Acted, Refusal, Reply, TaskReply},
    tags,
    time::Timestamp,
};

use super::{
    batch::Batch,
    claims::Held,
    convention,
    failure::{End, Halt, Stopped},
    outcome,
    recorder::{Identity, Recorder, StoredEvent},
    shared::Shared,
    warm::Warm,
    watching::Watching,
};
use crate::guest::{
    Completion, Context, Event, Failure, FunctionDescription, GuestError, Outcome, Payload, Signal,
    Stop, Workflow,
};

/// A batch is committed once it has so many records, even if more could be added.
const BATCH_RECORDS: usize = 4096;

/// See the module.
pub struct Execution {
    shared: Arc<Shared>,
    held: Arc<Held>,
    promise: Promise,
    module: Digest,
    function: FunctionDescription,
    recorder: Arc<Mutex<Recorder>>,
    instance: Box<dyn Workflow>,
    /// Events that may be told now, in this order.
    ready: VecDeque<Event>,
    /// Signals told so far.
    signals: u32,
    /// Whether the next signal may have come before anybody watched for it.
    signal_unread: bool,
    cancel_told: bool,
    watching: Watching,
}

impl Execution {
    /// Runs the workflow of this claim until it ends, waits or fails; the claim is given back in every case.
    pub async fn run(
        shared: Arc<Shared>,
        held: Arc<Held>,
        acquired: TaskReply,
        function: FunctionDescription,
    ) -> End {
        let claim = held.claim.clone();
        let journal_len = acquired.head.len;
        let mut recorder = None;
        let prepared =
            Self::prepare(shared.clone(), held.clone(), acquired, function, &mut recorder).await;
        let stopped = match prepared {
            Ok(mut execution) => match execution.live().await {
                Ok(end) => return execution.end(end),
                Err(stopped) => {
                    let recorder = execution.recorder.clone();
                    let stored = execution.stored_len();
                    // The instance is gone before anything else happens.
                    drop(execution);
                    return super::failure::give_back(
                        &shared,
                        &claim,
                        stopped,
                        stored,
                        Some(&recorder),
                    )
                    .await;
                }
            },
            Err(stopped) => stopped,
        };
        super::failure::give_back(&shared, &claim, stopped, journal_len, recorder.as_deref()).await
    }

    /// A warm instance, or a new one brought to the end of the journal. A replay that fails leaves its `recorder`, which
    /// knows the first difference.
    async fn prepare(
        shared: Arc<Shared>,
        held: Arc<Held>,
        acquired: TaskReply,
        function: FunctionDescription,
        replayed: &mut Option<Arc<Mutex<Recorder>>>,
    ) -> Result<Self, Stopped> {
        let TaskReply { task, promise, head, .. } = acquired;
        let module = task.module.ok_or_else(|| Halt::new("damaged", "the task names no module"))?;
        if task.cancel == CancelState::Requested {
            held.request_cancel();
        }
        let cancel_told = task.cancel == CancelState::Delivered;
        let watching = Watching::new(shared.host.hub.clone());
        if let Some(warm) = shared.warm.take(&task.id, task.version, module, head.len) {
            let Warm { instance, recorder, signals, .. } = warm;
            let mut execution = Self {
                shared,
                held,
                promise,
                module,
                function,
                recorder,
                instance,
                signals,
                cancel_told,
                watching,
                signal_unread: false,
                ready: VecDeque::new(),
            };
            execution.look_around(false).await?;
            return Ok(execution);
        }

        let identity = Identity {
            id: task.id.clone(),
            module: super::module_name(&promise),
            functions: shared.host.guests.describe(module).await?,
        };
        let records = shared.journal(&task.id, head.len).await?;
        let now = shared.now();
        let signals = records
            .iter()
            .filter(|record| matches!(record.body, RecordBody::Signal { .. }))
            .count();
        let (is_new, journal_len) = (records.is_empty(), records.len());
        let stored_lines = if is_new { 0 } else { shared.host.store.log_count(&task.id).await? };
        let recorder = Recorder::new(identity, records, now, false)
            .map_err(|refused| Halt::new("damaged", refused.to_string()))?
            .with_stored_lines(stored_lines);
        let instance = shared.host.guests.instantiate(module, recorder.engine_facts()).await?;
        let recorder = Arc::new(Mutex::new(recorder));
        *replayed = Some(recorder.clone());
        let mut execution = Self {
            shared,
            held,
            promise,
            module,
            function,
            recorder,
            instance,
            cancel_told,
            watching,
            signal_unread: true,
            signals: u32::try_from(signals).expect("signals are fewer than records"),
            ready: VecDeque::new(),
        };
        if is_new {
            execution.begin(now).await?;
        } else {
            tracing::debug!(target: "segno::replays", id = %execution.promise.id(), records = journal_len, "replaying");
            execution.replay().await?;
            execution.look_around(true).await?;
        }
        Ok(execution)
    }

    async fn begin(&mut self, now: Timestamp) -> Result<(), Stopped> {
        let at = now.max(self.promise.birth.created_at);
        let input = convention::input(&self.promise.birth.param);
        let seed = Seed::of(self.promise.id(), self.promise.birth.created_at);
        self.recorder().started(
            RecordBody::Started {
                function: self.function.name.as_str().into(),
                input: outcome::payload(&input),
                module: self.module,
                seed,
                engine: self.shared.host.guests.engine_facts(),
            },
            at,
        );
        self.start(input, at, seed).await
    }

    async fn start(&mut self, input: Payload, at: Timestamp, seed: Seed) -> Result<(), Stopped> {
        let context = context(&self.promise, at, seed);
        let name = self.function.name.clone();
        self.instance.start(self.recorder.clone(), &name, input, context).await?;
        Ok(())
    }

    async fn replay(&mut self) -> Result<(), Stopped> {
        let started = self.recorder().started_record();
        let Some(Record { at, body: RecordBody::Started { input, seed, .. }, .. }) = started else {
            return Err(Halt::new("damaged", "the journal does not begin with `started`").into());
        };
        self.start(outcome::guest_payload(&input), at, seed).await?;
        loop {
            let stored = self.recorder().next_stored().map_err(stopped)?;
            let event = match stored {
                None => return Ok(()),
                Some(StoredEvent::Whole(event)) => event,
                Some(StoredEvent::Completed { index, outcome, promise }) => {
                    let outcome = match outcome {
                        Stored::Inline(result) => outcome::recorded(&result),
                        Stored::Own => self.shared.own(&promise).await?,
                    };
                    Event::Completed(Completion { command: index, outcome })
                }
            };
            self.instance.resume(self.recorder.clone(), event).await?;
            // A long replay is progress too: the lease goes on being extended.
            self.held.advance(1);
        }
    }

    /// Reads what became of the open commands while nobody ran, and watches those still pending.
    /// `replayed`: the actions of those may never have been done, and are done again.
    async fn look_around(&mut self, replayed: bool) -> Result<(), Stopped> {
        self.signal_unread = false;
        let ids = self.awaits();
        for id in &ids {
            self.watching.add(id);
        }
        let rows = self.shared.promises(&ids).await?;
        let mut missing = Vec::new();
        for (id, row) in ids.iter().zip(rows) {
            match row {
                Some(row) if self.is_own(&row.promise) => self.told(&row.promise),
                // A promise that somebody else made under this id completes no command: making it is refused.
                Some(_) | None => missing.push(id.clone()),
            }
        }
        if replayed {
            let actions = self.recorder().pending_actions(|id| missing.contains(id));
            if !actions.is_empty() {
                let batch = Batch { actions, ..Batch::default() };
                self.commit_batch(batch).await?;
            }
        }
        Ok(())
    }

    /// Tells the guest what there is to tell, commits what it answers, and waits, until there is an end.
    async fn live(&mut self) -> Result<LiveEnd, Stopped> {
        loop {
            if self.held.abort.is_cancelled() {
                return Err(Stopped::Lost);
            }
            if self.recorder().finished().is_some() {
                return self.finish().await;
            }
            let now = self.shared.now();
            let result = self.recorder().next_result(now);
            if let Some(event) = result {
                // A result of a `run` is durable before the guest sees it.
                self.commit().await?;
                self.instance.resume(self.recorder.clone(), event).await?;
                continue;
            }
            if self.cancel_due() {
                self.cancel_told = true;
                self.ready.push_front(Event::Cancelled);
            }
            if let Some(event) = self.ready.pop_front() {
                let admitted = self.recorder().admit(event, now);
                if let Some(event) = admitted {
                    self.instance.resume(self.recorder.clone(), event).await?;
                    if self.recorder().batch().records.len() >= BATCH_RECORDS {
                        self.commit().await?;
                    }
                }
                continue;
            }
            if let Some(end) = self.wait().await? {
                return Ok(end);
            }
        }
    }

    /// Nothing can be told now: stays warm for a moment, or suspends.
    async fn wait(&mut self) -> Result<Option<LiveEnd>, Stopped> {
        self.look_for_signal().await?;
        if !self.ready.is_empty() {
            return Ok(None);
        }
        let awaits = self.awaits();
        if awaits.is_empty() && !self.recorder().open().has_immediate() {
            return Err(Halt::new(
                "waits-for-nothing",
                "the workflow neither ended nor waits for anything: every command it issued has completed or was \
                 dropped, and it takes no signals",
            )
            .into());
        }
        let stay = self.worth_staying() && !self.shared.is_draining();
        if !stay && !self.recorder().open().has_immediate() {
            return self.suspend(awaits).await;
        }
        let was_dirty = !self.recorder().batch().is_empty();
        self.commit().await?;
        if !self.ready.is_empty() {
            return Ok(None);
        }
        if was_dirty {
            // What the commit made may have settled already; nothing is missed, since it was watched before.
            self.drain_settled().await?;
            if !self.ready.is_empty() {
                return Ok(None);
            }
        }
        let hot_wait =
            self.shared.host.surroundings.runtime.sleep(self.shared.host.config.hot_wait);
        let cancel_told = self.cancel_told;
        tokio::select! {
            biased;
            () = self.held.abort.cancelled() => Err(Stopped::Lost),
            () = self.held.cancel_request(), if !cancel_told => Ok(None),
            id = self.watching.next() => {
                self.read(id).await?;
                Ok(None)
            }
            () = self.shared.draining.cancelled() => self.suspend(awaits).await,
            () = hot_wait => self.suspend(awaits).await,
        }
    }

    async fn suspend(&mut self, awaits: Vec<PromiseId>) -> Result<Option<LiveEnd>, Stopped> {
        let Batch { records, logs, actions } = self.recorder().take_batch();
        let claim = self.held.claim.clone();
        let mut commands = Vec::with_capacity(2);
        let awaits = awaits.into_iter().collect();
        if actions.is_empty() {
            commands.push(Command::TaskSuspend { claim, records, logs, awaits });
        } else {
            commands.push(Command::TaskFence { claim: claim.clone(), records, logs, actions });
            commands.push(Command::TaskSuspend {
                claim,
                records: Vec::new(),
                logs: Vec::new(),
                awaits,
            });
        }
        let mut replies = self.submit(commands).await?;
        let suspended = replies.pop();
        if let Some(fenced) = replies.pop() {
            // Refused as a whole, for example since an id is taken: then nothing was suspended either.
            self.fenced(fenced)?;
        }
        match suspended {
            Some(Reply::Suspended) => Ok(Some(LiveEnd::Suspended)),
            Some(Reply::Ready { settled, cancelled }) => {
                if cancelled {
                    self.held.request_cancel();
                }
                let rows = self.shared.promises(&settled).await?;
                for row in rows.into_iter().flatten() {
                    self.told(&row.promise);
                }
                Ok(None)
            }
            // A promise of this very batch was refused; the guest is told so first.
            Some(Reply::Refused(Refusal::Unprocessable(_))) if !self.ready.is_empty() => Ok(None),
            Some(Reply::Refused(refusal)) => Err(Stopped::refused(refusal)),
            _ => Err(Stopped::Lost),
        }
    }

    async fn finish(&mut self) -> Result<LiveEnd, Stopped> {
        let closed = self.recorder().close();
        let (batch, finished, outcome) = closed.expect("only a finished workflow comes here");
        let claim = self.held.claim.clone();
        let Batch { mut records, logs, actions } = batch;
        let (verdict, value) = convention::verdict(&outcome);
        let mut commands = Vec::with_capacity(2);
        if actions.is_empty() {
            records.push(finished);
            commands.push(Command::TaskFulfill { claim, records, logs, verdict, value });
        } else {
            commands.push(Command::TaskFence { claim: claim.clone(), records, logs, actions });
            commands.push(Command::TaskFulfill {
                claim,
                records: vec![finished],
                logs: Vec::new(),
                verdict,
                value,
            });
        }
        let mut replies = self.submit(commands).await?;
        let fulfilled = replies.pop();
        match (replies.pop(), fulfilled) {
            (_, Some(Reply::Promise { .. })) => Ok(LiveEnd::Finished),
            // The first refusal says why; what it was refused with cannot continue the journal.
            (Some(Reply::Refused(refusal)), _) | (_, Some(Reply::Refused(refusal))) => {
                Err(Stopped::refused(refusal))
            }
            _ => Err(Stopped::Lost),
        }
    }

    async fn commit(&mut self) -> Result<(), Stopped> {
        let batch = self.recorder().take_batch();
        if batch.is_empty() {
            return Ok(());
        }
        self.commit_batch(batch).await
    }

    async fn commit_batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        let Batch { records, logs, actions } = batch;
        for FenceAction { act, .. } in &actions {
            if let Some(id) = act.promise() {
                self.watching.add(id);
            }
        }
        self.held.advance(records.len() as u64);
        let claim = self.held.claim.clone();
        let fence = Command::TaskFence { claim, records, logs, actions };
        let reply = self.submit(vec![fence]).await?.pop().unwrap_or(Reply::Done);
        self.fenced(reply)
    }

    /// Turns what became of a batch's actions into events.
    fn fenced(&mut self, reply: Reply) -> Result<(), Stopped> {
        let outcomes = match reply {
            Reply::Fenced { outcomes, .. } => outcomes,
            Reply::Refused(refusal) => return Err(Stopped::refused(refusal)),
            _ => return Err(Stopped::Lost),
        };
        for (index, acted) in outcomes {
            let Some(kind) = self.recorder().open().get(index.0).map(|open| open.kind) else {
                continue;
            };
            let outcome = match (kind, acted) {
                (_, Err(refusal)) => Outcome::Failure(Failure {
                    code: u32::from(refusal.code()),
                    message: refusal.to_string(),
                    details: None,
                }),
                (CommandKind::Send, Ok(_)) => {
                    let id = self.promise.id().command(index);
                    Outcome::Success(Payload::Json(
                        serde_json::Value::from(id.as_str()).to_string(),
                    ))
                }
                (CommandKind::Settle | CommandKind::Cancel | CommandKind::Publish, Ok(_)) => {
                    outcome::null()
                }
                (_, Ok(Acted::Promise { promise, .. })) => {
                    self.told(&promise);
                    continue;
                }
                (_, Ok(Acted::Done)) => continue,
            };
            self.ready.push_back(Event::Completed(Completion { command: index.0, outcome }));
        }
        Ok(())
    }

    /// Queues the event that this promise's settlement means, if it has settled.
    fn told(&mut self, promise: &Promise) {
        let Some(settlement) = promise.settlement() else { return };
        if self.next_signal().is_some_and(|next| next == *promise.id()) {
            let value = settlement.value.clone().unwrap_or_default();
            let name = value.headers.get(tags::SIGNAL_HEADER).cloned().unwrap_or_default();
            self.signals += 1;
            self.signal_unread = true;
            let mut value = value;
            value.headers.remove(tags::SIGNAL_HEADER);
            self.ready
                .push_back(Event::Signal(Signal { name, payload: convention::payload(&value) }));
            return;
        }
        // A promise may be heard of twice; only the first event finds its command open.
        let commands = self.recorder().open().commands_of(promise.id());
        for command in commands {
            let outcome = convention::outcome(settlement);
            self.ready.push_back(Event::Completed(Completion { command, outcome }));
        }
    }

    /// Reads the next signal once it is watched for: it may have come before.
    async fn look_for_signal(&mut self) -> Result<(), Stopped> {
        while std::mem::take(&mut self.signal_unread)
            && let Some(next) = self.next_signal()
        {
            self.watching.add(&next);
            self.read(next).await?;
        }
        Ok(())
    }

    /// Whether this invocation made the promise.
    fn is_own(&self, promise: &Promise) -> bool {
        promise.birth.made_by.as_ref() == Some(self.promise.id())
    }

    async fn read(&mut self, first: PromiseId) -> Result<(), Stopped> {
        let mut ids = vec![first];
        while let Some(id) = self.watching.try_next() {
            ids.push(id);
        }
        let rows = self.shared.promises(&ids).await?;
        for row in rows.into_iter().flatten() {
            self.told(&row.promise);
        }
        Ok(())
    }

    async fn drain_settled(&mut self) -> Result<(), Stopped> {
        match self.watching.try_next() {
            Some(id) => self.read(id).await,
            None => Ok(()),
        }
    }

    fn cancel_due(&self) -> bool {
        !self.cancel_told && self.held.cancel_requested()
    }

    /// Whether something is likely to happen within the hot wait.
    fn worth_staying(&self) -> bool {
        let soon = self.shared.now() + self.shared.host.config.hot_wait;
        self.recorder().open().iter().any(|(_, open)| match open.kind {
            CommandKind::Call | CommandKind::Http => true,
            CommandKind::Sleep => open.due.is_some_and(|due| due <= soon),
            _ => false,
        })
    }

    fn next_signal(&self) -> Option<PromiseId> {
        self.function.signals.then(|| self.promise.id().signal(self.signals))
    }

    fn awaits(&self) -> Vec<PromiseId> {
        let mut awaits: Vec<PromiseId> = self.recorder().open().promises().cloned().collect();
        awaits.extend(self.next_signal());
        awaits
    }

    async fn submit(&mut self, commands: Vec<Command>) -> Result<Vec<Reply>, Stopped> {
        self.shared.submit(commands).await
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stored_len(&self) -> u32 {
        self.recorder().stored_len()
    }

    /// Keeps the instance of a suspended workflow for its next claim.
    fn end(self, end: LiveEnd) -> End {
        match end {
            LiveEnd::Finished => End::Finished,
            LiveEnd::Suspended => {
                let Self { shared, held, module, recorder, instance, signals, promise, .. } = self;
                let journal_len =
                    recorder.lock().unwrap_or_else(PoisonError::into_inner).stored_len();
                let version = held.claim.version;
                shared.warm.put(
                    promise.id().clone(),
                    Warm { instance, recorder, version, journal_len, module, signals },
                );
                End::Suspended
            }
        }
    }
}

/// How a live execution ended well.
enum LiveEnd {
    Finished,
    Suspended,
}

/// What the guest is told of its own invocation: the same in every replay.
pub fn context(promise: &Promise, at: Timestamp, seed: Seed) -> Context {
    Context {
        invocation: promise.id().as_str().to_owned(),
        parent: promise.birth.tags.get(tags::PARENT).cloned(),
        started_at_ms: u64::try_from(at.0).unwrap_or(0),
        seed: seed.0.to_vec(),
    }
}

fn stopped(stop: Stop) -> Stopped {
    Stopped::Guest(GuestError::Stopped { stop, backtrace: None })
}
