//! Getting ready: a warm instance, a new one, or one brought to the end of its journal.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use segno_core::{
    invocation::{Outcome as Stored, Record, RecordBody, Seed},
    promise::CancelState,
    reply::TaskReply,
    time::Timestamp,
};

use super::{Execution, context, stopped};
use crate::{
    guest::{Completion, Event, FunctionDescription, Payload},
    traces::Replayed,
    worker::{
        batch::Batch,
        claims::Held,
        convention,
        failure::{Halt, Stopped},
        outcome,
        recorder::{Identity, Recorder, StoredEvent},
        shared::Shared,
        warm::Warm,
        watching::Watching,
    },
};

impl Execution {
    /// A warm instance, or a new one brought to the end of the journal. A replay that fails leaves its `recorder`, which
    /// knows the first difference.
    pub(super) async fn prepare(
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
                signal_unread: false,
                ready: VecDeque::new(),
            };
            execution.look_around(false).await?;
            return Ok(execution);
        }

        let identity = Identity {
            id: task.id.clone(),
            module: crate::worker::module_name(&promise),
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
            let clock = execution.shared.host.surroundings.clock.clone();
            let began = clock.elapsed();
            execution.replay().await?;
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
    pub(super) async fn look_around(&mut self, replayed: bool) -> Result<(), Stopped> {
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
}
