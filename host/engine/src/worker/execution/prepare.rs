//! Preparation of an instance: a warm one, a new one, or one that replays its journal to the end.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use segno_core::{
    id::{Digest, PromiseId},
    invocation::{JournalHead, Outline, RecordBody, Seed},
    promise::{CancelState, Promise},
    reply::TaskReply,
    transition::turn_in,
};
use segno_guest::{SnapshotKey, Workflow};
use segno_store::ExecutionHistory;

use super::{ExecutionInputs, LiveExecution};
use crate::{
    claim::{Claimed, ExecutionError, HaltReport, SettlementWatch},
    target,
    traces::FinishedReplay,
    values::{self, journals},
    worker::{
        commands::InvocationFacts,
        recording::{CommitBatch, Recorder, SharedRecorder},
        replay::{JournalReadError, Replayer, StartParameters, StoredJournal},
        snapshot::{self, ResumedInstance},
        warm::WarmInstance,
    },
};

/// An instance that has reached the end of its journal.
struct PreparedInstance {
    instance: Box<dyn Workflow>,
    recorder: SharedRecorder,
    /// Number of signals in the journal.
    signals: u32,
    /// Number of records that were replayed.
    replayed: u32,
}

impl LiveExecution {
    /// Prepares a warm instance, a new one, or one that replays its journal. After a failed replay,
    /// `recorder` has the first difference.
    ///
    /// # Errors
    /// The guest failed, the journal cannot be read, or the claim is lost.
    pub(crate) async fn prepare(
        mut preparation: ExecutionInputs,
        recorder: &mut Option<SharedRecorder>,
    ) -> Result<Self, ExecutionError> {
        let module = module(&preparation)?;
        let (task, head) = (&preparation.claimed.acquired.task, &preparation.claimed.acquired.head);
        let warm = preparation.worker.warm.take(&task.id, task.version, module, head.len);
        if let Some(warm) = warm {
            *recorder = Some(warm.recorder.clone());
            return Self::resume_warm(preparation, module, warm).await;
        }
        match head.len {
            0 => Self::start_new(preparation, recorder).await,
            len => {
                let began = preparation.worker.host.env.clock.elapsed();
                let history = preparation.claimed.prefetched.history.take();
                // Only short journals are read ahead.
                let restored = match &history {
                    None => Self::restore(&preparation, module, len).await?,
                    Some(_) => None,
                };
                let prepared = match restored {
                    Some(restored) => restored,
                    None => Self::replay(&preparation, module, history, recorder).await?,
                };
                *recorder = Some(prepared.recorder.clone());
                Self::go_on(preparation, module, prepared, began).await
            }
        }
    }

    async fn resume_warm(
        mut preparation: ExecutionInputs,
        module: Digest,
        warm: WarmInstance,
    ) -> Result<Self, ExecutionError> {
        let WarmInstance { instance, recorder, signals, .. } = warm;
        preparation.worker.host.metrics.worker.warm_start();
        preparation.worker.show_warm();
        let settled = std::mem::take(&mut preparation.claimed.prefetched.settled);
        let mut execution = Self::of(preparation, module, recorder, instance);
        execution.signals = signals;
        execution.look_around(false, settled).await?;
        Ok(execution)
    }

    /// A new instance, for an invocation that begins now.
    ///
    /// # Errors
    /// The guest failed.
    pub(crate) async fn start_new(
        preparation: ExecutionInputs,
        recorder: &mut Option<SharedRecorder>,
    ) -> Result<Self, ExecutionError> {
        let module = module(&preparation)?;
        let (worker, now) = (preparation.worker.clone(), preparation.worker.now());
        let promise = preparation.claimed.acquired.promise.clone();
        let mut new = Recorder::begin(identity(&preparation, module).await?, now);
        let at = now.max(promise.spec.created_at);
        let input = values::input(&promise.spec.param);
        let seed = Seed::of(promise.id(), promise.spec.created_at);
        let started = RecordBody::Started {
            function: target::path_of(&promise).into(),
            input: journals::payload(&input),
            module,
            seed,
            engine: worker.host.guests.engine_facts(),
        };
        new.started(started, at);
        let instance = worker.host.guests.instantiate(module, None).await?;
        let new = Arc::new(Mutex::new(new));
        *recorder = Some(new.clone());
        let mut execution = Self::of(preparation, module, new, instance);
        execution.signal_unread = true;
        let start = StartParameters::new(&promise, target::path_of(&promise), input, at, seed);
        start.run(&mut *execution.instance, &execution.recorder).await?;
        Ok(execution)
    }

    /// An instance restored from a snapshot. `None` if no snapshot is kept.
    async fn restore(
        preparation: &ExecutionInputs,
        module: Digest,
        len: u32,
    ) -> Result<Option<PreparedInstance>, ExecutionError> {
        let (worker, active) = (&preparation.worker, &preparation.claimed.session.active);
        let id = preparation.claimed.acquired.promise.id().clone();
        let identity = identity(preparation, module).await?;
        let key = SnapshotKey { id, module };
        let restored = snapshot::restored(worker, identity, key, len, || active.advance(1)).await?;
        Ok(restored.map(|ResumedInstance { instance, recorder, outline, replayed }| {
            PreparedInstance { instance, recorder, signals: outline.signals(), replayed }
        }))
    }

    /// A new instance that replays the whole journal.
    async fn replay(
        preparation: &ExecutionInputs,
        module: Digest,
        history: Option<ExecutionHistory>,
        replayed: &mut Option<SharedRecorder>,
    ) -> Result<PreparedInstance, ExecutionError> {
        let (worker, promise) = (&preparation.worker, &preparation.claimed.acquired.promise);
        let JournalHead { len, .. } = preparation.claimed.acquired.head;
        let identity = identity(preparation, module).await?;
        let mut journal = StoredJournal::new(&*worker.host.store, promise.id(), len);
        let (outline, records, stored_lines) = match history {
            Some(ExecutionHistory { records, lines }) => {
                (Outline::of(&records).map_err(JournalReadError::Refused)?, records, lines)
            }
            None => {
                let (outline, first) = journal.outline().await?;
                (outline, first, worker.host.store.read().log_count(promise.id()).await?)
            }
        };
        let signals = outline.signals();
        let start = outline.started().and_then(|record| StartParameters::recorded(promise, record));
        let start = start.ok_or_else(|| {
            HaltReport::new("damaged", "the journal does not begin with `started`")
        })?;
        let mut recorder = Recorder::over(identity, outline, false).with_stored_lines(stored_lines);
        recorder.feed(records);
        let facts = recorder.engine_facts();
        let mut instance = worker.host.guests.instantiate(module, facts).await?;
        let recorder = Arc::new(Mutex::new(recorder));
        *replayed = Some(recorder.clone());
        let replayer = Replayer { recorder: &recorder, source: &journal };
        // A long replay counts as progress, so that the lease is extended.
        replayer
            .run(&mut *instance, start, || preparation.claimed.session.active.advance(1))
            .await?;
        Ok(PreparedInstance { instance, recorder, signals, replayed: len })
    }

    /// Continues from the end of the journal, after the preparation that started at `began`.
    async fn go_on(
        mut preparation: ExecutionInputs,
        module: Digest,
        prepared: PreparedInstance,
        began: Duration,
    ) -> Result<Self, ExecutionError> {
        let worker = preparation.worker.clone();
        let settled = std::mem::take(&mut preparation.claimed.prefetched.settled);
        let PreparedInstance { instance, recorder, signals, replayed } = prepared;
        let mut execution = Self::of(preparation, module, recorder, instance);
        (execution.signals, execution.signal_unread) = (signals, true);

        let took = worker.host.env.clock.elapsed().saturating_sub(began);
        let (id, records) = (execution.promise.id(), replayed as usize);
        worker.host.metrics.worker.replayed(records, took);
        if let Some(traces) = worker.host.traces() {
            let version = execution.session.active.claim.version.0;
            traces.replayed(FinishedReplay {
                id: id.clone(),
                version,
                at: worker.now(),
                took,
                records,
            });
        }
        tracing::debug!(target: "segno::replays", %id, records, ?took, "replayed");
        execution.look_around(true, settled).await?;
        Ok(execution)
    }

    fn of(
        preparation: ExecutionInputs,
        module: Digest,
        recorder: SharedRecorder,
        instance: Box<dyn Workflow>,
    ) -> Self {
        let ExecutionInputs { worker, claimed, function, permit } = preparation;
        let Claimed { acquired: TaskReply { task, promise, .. }, session, .. } = claimed;
        if task.cancel == CancelState::Requested {
            session.active.request_cancel();
        }
        Self {
            watch: SettlementWatch::new(worker.host.notifier.clone()),
            outcomes: None,
            ending: Vec::new(),
            held: Vec::new(),
            worker,
            session,
            promise,
            module,
            function,
            recorder,
            instance,
            ready: VecDeque::new(),
            state_reads: VecDeque::new(),
            signals: 0,
            signal_unread: false,
            cancel_told: task.cancel == CancelState::Delivered,
            permit: Some(permit),
        }
    }

    /// Completes open commands whose promises settled while the workflow was not running, and
    /// watches the others. Promises in `settled` are not read again. If `replayed`, the actions of
    /// the missing promises may never have been executed, and are executed again.
    async fn look_around(
        &mut self,
        replayed: bool,
        settled: Vec<Promise>,
    ) -> Result<(), ExecutionError> {
        self.signal_unread = false;
        let ids = self.awaits();
        let mut found: HashMap<PromiseId, Promise> =
            settled.into_iter().map(|promise| (promise.id().clone(), promise)).collect();
        let unknown: Vec<PromiseId> =
            ids.iter().filter(|id| !found.contains_key(*id)).cloned().collect();
        for id in &unknown {
            self.watch.add(id);
        }
        let rows = self.worker.promises(&unknown).await?;
        found.extend(rows.into_iter().flatten().map(|row| (row.promise.id().clone(), row.promise)));
        let mut missing = Vec::new();
        for id in ids {
            match found.get(&id) {
                Some(promise) if self.is_own(promise) => self.tell(promise),
                // A promise of another owner under this id completes no command, since its creation
                // is refused.
                Some(_) | None => missing.push(id),
            }
        }
        if replayed {
            let actions = self.recorder().pending_actions(|id| missing.contains(id));
            if !actions.is_empty() {
                let batch = CommitBatch { actions, ..CommitBatch::default() };
                self.commit_batch(batch).await?;
            }
        }
        Ok(())
    }
}

fn module(preparation: &ExecutionInputs) -> Result<Digest, HaltReport> {
    let module = preparation.claimed.acquired.task.module;
    module.ok_or_else(|| HaltReport::new("damaged", "the task names no module"))
}

async fn identity(
    preparation: &ExecutionInputs,
    module: Digest,
) -> Result<InvocationFacts, ExecutionError> {
    let (host, promise) = (&preparation.worker.host, &preparation.claimed.acquired.promise);
    Ok(InvocationFacts {
        id: promise.id().clone(),
        made_at: promise.spec.created_at,
        module: target::module_of(promise),
        object: target::object_of(promise).map(|object| (object, turn_in(promise).is_some())),
        functions: host.guests.describe(module).await?,
        outbound: Some(host.outbound.clone()),
    })
}
