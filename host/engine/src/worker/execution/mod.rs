//! A workflow under one claim. A warm, new or replayed instance is polled, and the commands that it
//! issues are committed, until the workflow ends or waits.
//!
//! The order is the guarantee: commands of the guest are collected, then committed with their
//! records, and only then executed. An event is recorded at the position where the guest received
//! it.

mod commit;
mod outcomes;
mod prepare;
mod state;
mod tell;
mod timers;
mod wait;

use std::{
    collections::VecDeque,
    sync::{Arc, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use segno_core::{
    id::Digest,
    promise::Promise,
    tags,
    time::{Millis, Timestamp},
};
use segno_guest::{Event, FunctionDescription, Workflow};
use tokio::sync::oneshot;

use super::{
    context::WorkerContext,
    recording::{Recorder, SharedRecorder},
    run_limiter::RunPermit,
    snapshot::{self, SuspendedWorkflow},
    warm::WarmInstance,
};
use crate::{
    claim::{
        ClaimSession, Claimed, ExecutionError, JournalEnd, LocalOutcomes, SettlementWatch, Target,
    },
    held_timers::HeldTimer,
    metrics::ClaimEnd,
    slots::SlotKind,
    target,
};

/// The inputs of an execution.
pub(super) struct ExecutionInputs {
    pub worker: Arc<WorkerContext>,
    pub claimed: Claimed,
    /// The description of the workflow function.
    pub function: FunctionDescription,
    /// The permit to run.
    pub permit: RunPermit,
}

/// An instance and its journal, ready to continue.
pub(super) struct LiveExecution {
    worker: Arc<WorkerContext>,
    session: Arc<ClaimSession>,
    promise: Promise,
    module: Digest,
    function: FunctionDescription,
    recorder: SharedRecorder,
    instance: Box<dyn Workflow>,
    /// Events that may be delivered to the guest now, in this order.
    ready: VecDeque<Event>,
    /// The results of state reads, which are delivered before all other events.
    state_reads: VecDeque<Event>,
    /// Number of signals delivered so far.
    signals: u32,
    /// True if the next signal may have been settled before it was watched.
    signal_unread: bool,
    cancel_told: bool,
    watch: SettlementWatch,
    /// The outcomes of calls that this execution may store. `None` if it takes none.
    outcomes: Option<LocalOutcomes>,
    /// The called tasks whose outcomes are in the batch, to be told when they are stored.
    ending: Vec<oneshot::Sender<()>>,
    /// The timers whose ends are in the batch.
    held: Vec<HeldTimer>,
    /// `None` while the workflow waits.
    permit: Option<RunPermit>,
}

/// Runs this workflow function.
#[derive(Clone)]
pub(super) struct WorkflowCode(pub FunctionDescription);

#[async_trait]
impl Target for WorkflowCode {
    fn slot(&self) -> (SlotKind, usize) {
        (SlotKind::Execution, 1)
    }

    async fn run(self: Arc<Self>, claimed: Claimed) -> ClaimEnd {
        let session = claimed.session.clone();
        let worker = session.worker.clone();
        let journal_len = claimed.acquired.head.len;
        let module = target::module_of(&claimed.acquired.promise);
        let permit = worker.run_limiter.permit(&module).await;
        let mut recorder = None;
        let Self(function) = Arc::unwrap_or_clone(self);
        let preparation = ExecutionInputs { worker, claimed, function, permit };
        let prepared = LiveExecution::prepare(preparation, &mut recorder).await;
        let (error, len) = match prepared {
            Ok(execution) => match execution.go().await {
                Ok(end) => return end,
                Err(stopped) => stopped,
            },
            Err(error) => (error, journal_len),
        };
        let journal = JournalEnd { len, recorder: recorder.as_ref() };
        session.give_back_after(Vec::new(), error, &journal).await
    }
}

impl LiveExecution {
    /// Continues until the claim ends.
    ///
    /// # Errors
    /// The reason why the execution stopped earlier, and the length of its stored journal.
    pub(super) async fn go(mut self) -> Result<ClaimEnd, (ExecutionError, u32)> {
        match self.live().await {
            Ok(LiveEnd::Finished) => {
                snapshot::forget(&self.worker, self.promise.id(), self.module);
                Ok(ClaimEnd::Finished)
            }
            Ok(LiveEnd::Suspended) => {
                self.keep_warm();
                Ok(ClaimEnd::Suspended)
            }
            // The instance is dropped before anything else happens.
            Err(error) => {
                let failed = matches!(error, ExecutionError::Guest(_) | ExecutionError::Halt(_));
                if failed && self.recorder().is_resumed() {
                    snapshot::suspect(&self.worker, self.promise.id(), self.module);
                }
                Err((error, self.stored_len()))
            }
        }
    }

    /// Delivers events to the guest, commits the commands it issues, and waits, until the workflow
    /// ends or suspends.
    async fn live(&mut self) -> Result<LiveEnd, ExecutionError> {
        loop {
            if self.session.active.abort.is_cancelled() {
                return Err(ExecutionError::Lost);
            }
            if self.recorder().finished().is_some() {
                return self.finish().await;
            }
            self.read_state().await?;
            if let Some(event) = self.state_reads.pop_front() {
                self.deliver(event).await?;
                continue;
            }
            let now = self.worker.now();
            let result = self.recorder().next_result(now);
            if let Some(event) = result {
                if self.must_commit(now) {
                    self.commit().await?;
                }
                self.instance.resume(self.recorder.clone(), event).await?;
                continue;
            }
            if self.cancel_due() {
                self.cancel_told = true;
                self.ready.push_front(Event::Cancelled);
            }
            if let Some(event) = self.ready.pop_front() {
                self.deliver(event).await?;
                continue;
            }
            if let Some(outcome) = self.outcomes.as_mut().and_then(LocalOutcomes::try_next) {
                self.take_outcome(outcome).await?;
                continue;
            }
            if let Some(end) = self.wait().await? {
                return Ok(end);
            }
        }
    }

    /// Delivers one event to the guest, if the guest is still waiting for it.
    async fn deliver(&mut self, event: Event) -> Result<(), ExecutionError> {
        let now = self.worker.now();
        let admitted = self.recorder().admit(event, now);
        match admitted {
            Some(event) => self.resume_with(event).await,
            None => Ok(()),
        }
    }

    /// Passes a recorded event to the guest.
    async fn resume_with(&mut self, event: Event) -> Result<(), ExecutionError> {
        self.commit_if_full().await?;
        self.instance.resume(self.recorder.clone(), event).await?;
        self.commit_if_full().await
    }

    /// True if the batch must be committed before the guest receives a result of its recorder. Such
    /// results follow from the journal alone: a host that lost them computes them again. They
    /// gather until something is to leave the host, up to a bound of time and size.
    fn must_commit(&self, now: Timestamp) -> bool {
        let recorder = self.recorder();
        let batch = recorder.batch();
        let first = batch.records.first().map_or(now, |record| record.at);
        let mut patience = self.gather();
        if self.session.is_pending() {
            // Its client waits until the invocation is stored.
            patience = patience.min(ClaimSession::PENDING_TIMEOUT);
        }
        let is_late = now.since(first) >= patience;
        batch.acts() || batch.is_full() || is_late
    }

    /// Maximum time for which results gather before they are committed. Zero if each is committed
    /// before the guest receives it.
    fn gather(&self) -> Millis {
        match self.function.commits_each {
            true => Millis::ZERO,
            false => self.worker.host.config.run_gather,
        }
    }

    /// True if the guest may receive outcomes before they are stored. An execution that is begun
    /// once only receives none: it cannot be replayed.
    fn receives_unstored(&self) -> bool {
        self.gather() > Millis::ZERO && !self.promise.spec.tags.contains_key(tags::ONCE)
    }

    async fn commit_if_full(&mut self) -> Result<(), ExecutionError> {
        let is_due = {
            let mut recorder = self.recorder();
            recorder.batch().is_full() && recorder.may_commit()
        };
        match is_due {
            true => self.commit().await,
            false => Ok(()),
        }
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stored_len(&self) -> u32 {
        self.recorder().stored_len()
    }

    /// Keeps the instance of a suspended workflow for its next claim.
    fn keep_warm(self) {
        if self.instance.is_in_the_way() {
            return;
        }
        self.recorder().forget_state();
        let journal_len = self.stored_len();
        let footprint = self.instance.footprint();
        let Self { worker, session, module, recorder, instance, signals, promise, .. } = self;
        let version = session.active.claim.version;
        let warm = WarmInstance { instance, recorder, version, journal_len, module, signals };
        worker.warm.put(promise.id().clone(), warm);
        worker.show_warm();
        let (id, len) = (promise.id(), journal_len);
        snapshot::consider(&worker, SuspendedWorkflow { id, module, len, footprint });
    }
}

/// The end of a live execution without an error.
enum LiveEnd {
    Finished,
    Suspended,
}
