//! Getting ready: a warm instance, a new one, or one brought to the end of its journal.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use segno_core::{
    id::PromiseId,
    invocation::{Outcome as Stored, Outline, Record, RecordBody, Seed},
    promise::{CancelState, Promise},
    reply::TaskReply,
    time::Timestamp,
};

use super::{Execution, context, stopped};
use crate::{
    traces::Replayed,
    worker::{
        batch::Batch,
        birth::Birth,
        claims::Held,
        concurrency::Turn,
        convention,
        failure::{Halt, Stopped},
        outcome,
        pages::{NotRead, Pages},
        recorder::{Identity, Recorder, StoredEvent},
        shared::Shared,
        taking::Ahead,
        warm::Warm,
        watching::Watching,
    },
};
use segno_guest::{Completion, Event, FunctionDescription, Payload};
use segno_store::History;

impl Execution {
    /// A warm instance, or a new one brought to the end of the journal. A replay that fails leaves its `recorder`, which
    /// knows the first difference.
    pub async fn prepare(
        shared: Arc<Shared>,
        held: Arc<Held>,
        acquired: TaskReply,
        function: FunctionDescription,
        ahead: Ahead,
        turn: Turn,
        replayed: &mut Option<Arc<Mutex<Recorder>>>,
    ) -> Result<Self, Stopped> {
        let TaskReply { task, promise, head, .. } = acquired;
        let module = task.module.ok_or_else(|| Halt::new("damaged", "the task names no module"))?;
        if task.cancel == CancelState::Requested {
            held.request_cancel();
        }
        let cancel_told = task.cancel == CancelState::Delivered;
        let turn = Some(turn);
        let watching = Watching::new(shared.host.hub.clone());
        if let Some(warm) = shared.warm.take(&task.id, task.version, module, head.len) {
            let Warm { instance, recorder, signals, .. } = warm;
            shared.host.hub.metrics().worker.warm_start();
            shared.show_warm();
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
                turn,
                birth: Birth::Stored,
                signal_unread: false,
                ready: VecDeque::new(),
            };
            execution.look_around(false, ahead.settled).await?;
            return Ok(execution);
        }

        let identity = Identity {
            id: task.id.clone(),
            module: crate::worker::module_name(&promise),
            functions: shared.host.guests.describe(module).await?,
            outbound: Some(shared.host.outbound.clone()),
        };
        let Ahead { history, settled } = ahead;
        let is_new = head.len == 0;
        let (outline, records, stored_lines) = match history {
            Some(History { records, lines }) => {
                (Outline::of(&records).map_err(NotRead::Refused)?, records, lines)
            }
            None if is_new => (Outline::default(), Vec::new(), 0),
            None => {
                let mut pages = Pages::new(&*shared.host.store, &task.id, head.len);
                let (outline, first) = pages.outline().await?;
                (outline, first, shared.host.store.read().log_count(&task.id).await?)
            }
        };
        let now = shared.now();
        let signals = outline.signals();
        let mut recorder = match is_new {
            true => Recorder::begin(identity, now),
            false => Recorder::over(identity, outline, false).with_stored_lines(stored_lines),
        };
        recorder.feed(records);
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
            turn,
            birth: Birth::Stored,
            signal_unread: true,
            signals,
            ready: VecDeque::new(),
        };
        if is_new {
            execution.begin(now).await?;
        } else {
            let clock = execution.shared.host.surroundings.clock.clone();
            let journal_len = head.len as usize;
            let began = clock.elapsed();
            execution.replay(head.len).await?;
            let took = clock.elapsed().saturating_sub(began);
            execution.shared.host.hub.metrics().worker.replayed(journal_len, took);
            let id = execution.promise.id();
            if let Some(traces) = execution.shared.host.hub.traces() {
                traces.replayed(Replayed {
                    id: id.clone(),
                    version: execution.held.claim.version.0,
                    at: execution.shared.now(),
                    took,
                    records: journal_len,
                });
            }
            tracing::debug!(target: "segno::replays", %id, records = journal_len, ?took, "replayed");
            execution.look_around(true, settled).await?;
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

    pub(super) async fn start(
        &mut self,
        input: Payload,
        at: Timestamp,
        seed: Seed,
    ) -> Result<(), Stopped> {
        let context = context(&self.promise, at, seed);
        let name = self.function.name.clone();
        self.instance.start(self.recorder.clone(), &name, input, context).await?;
        Ok(())
    }

    async fn replay(&mut self, len: u32) -> Result<(), Stopped> {
        let started = self.recorder().started_record();
        let Some(Record { at, body: RecordBody::Started { input, seed, .. }, .. }) = started else {
            return Err(Halt::new("damaged", "the journal does not begin with `started`").into());
        };
        let (store, id) = (self.shared.host.store.clone(), self.promise.id().clone());
        let pages = Pages::new(&*store, &id, len);
        pages.fill(&self.recorder).await?;
        self.start(outcome::guest_payload(&input), at, seed).await?;
        loop {
            pages.fill(&self.recorder).await?;
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

    /// Reads what became of the open commands while nobody ran, but of those `settled` that is known; watches those
    /// still pending. `replayed`: the actions of those may never have been done, and are done again.
    pub(super) async fn look_around(
        &mut self,
        replayed: bool,
        settled: Vec<Promise>,
    ) -> Result<(), Stopped> {
        self.signal_unread = false;
        let ids = self.awaits();
        let mut found: HashMap<PromiseId, Promise> =
            settled.into_iter().map(|promise| (promise.id().clone(), promise)).collect();
        let unknown: Vec<PromiseId> =
            ids.iter().filter(|id| !found.contains_key(*id)).cloned().collect();
        for id in &unknown {
            self.watching.add(id);
        }
        let rows = self.shared.promises(&unknown).await?;
        found.extend(rows.into_iter().flatten().map(|row| (row.promise.id().clone(), row.promise)));
        let mut missing = Vec::new();
        for id in ids {
            match found.get(&id) {
                Some(promise) if self.is_own(promise) => self.told(promise),
                // A promise that somebody else made under this id completes no command: making it is refused.
                Some(_) | None => missing.push(id),
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
}
