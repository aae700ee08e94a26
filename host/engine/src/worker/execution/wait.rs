//! Waiting without deliverable events: the instance stays warm for a short time, or suspends.

use segno_core::{id::PromiseId, invocation::CommandKind, time::Timestamp};
use segno_env::Env;

use super::{LiveEnd, LiveExecution};
use crate::{
    claim::{ClaimBatch, ExecutionError, HaltReport, LocalOutcomes, SuspensionResult},
    target,
    worker::{commands::CompletionEvent, recording::CommitBatch},
};

/// Completes when a call has ended on this host. Never completes for an execution that takes no
/// outcomes.
async fn call_ended(outcomes: &mut Option<LocalOutcomes>) {
    match outcomes {
        Some(outcomes) => outcomes.arrived().await,
        None => std::future::pending().await,
    }
}

/// Completes when this instant has come. Never completes without one.
async fn until_due(env: &Env, due: Option<Timestamp>) {
    let Some(due) = due else { return std::future::pending().await };
    while env.clock.now() < due {
        env.runtime.sleep(due.since(env.clock.now())).await;
    }
}

impl LiveExecution {
    /// Waits for an event: stays warm for a short time, or suspends.
    pub(super) async fn wait(&mut self) -> Result<Option<LiveEnd>, ExecutionError> {
        self.look_for_signal().await?;
        if !self.ready.is_empty() {
            return Ok(None);
        }
        let awaits = self.awaits();
        if awaits.is_empty() && !self.recorder().open().has_committed() {
            return Err(HaltReport::new(
                "waits-for-nothing",
                "the workflow neither ended nor waits for anything: every command it issued has completed or was \
                 dropped, and it takes no signals",
            )
            .into());
        }
        let stay = self.worth_staying() && !self.worker.is_draining();
        if !stay && !self.recorder().open().has_committed() {
            return self.suspend(awaits).await;
        }
        let was_dirty = self.recorder().batch().is_pressing();
        self.commit().await?;
        if !self.ready.is_empty() {
            return Ok(None);
        }
        if was_dirty {
            // The promises of the commit may have settled already. No settlement is missed, since
            // they were watched before.
            self.drain_settled().await?;
            if !self.ready.is_empty() {
                return Ok(None);
            }
        }
        let hot_wait = self.worker.host.env.runtime.sleep(self.worker.host.config.hot_wait);
        let cancel_told = self.cancel_told;
        self.permit = None;
        self.take_outcomes();
        let mut timer = self.first_timer();
        let ended = until_due(&self.worker.host.env, timer.as_ref().map(|timer| timer.due));
        let mut elapsed = false;
        let settled = tokio::select! {
            biased;
            () = self.session.active.abort.cancelled() => return Err(ExecutionError::Lost),
            () = self.session.active.cancel_request(), if !cancel_told => None,
            () = call_ended(&mut self.outcomes) => None,
            settled = self.watch.next() => Some(settled),
            () = ended => {
                elapsed = true;
                None
            }
            () = self.worker.draining.cancelled() => return self.suspend(awaits).await,
            () = hot_wait => return self.suspend(awaits).await,
        };
        let module = target::module_of(&self.promise);
        self.permit = Some(self.worker.run_limiter.permit(&module).await);
        if let Some(settled) = settled {
            self.tell_settled(settled).await?;
        }
        if let Some(timer) = timer.take_if(|_| elapsed) {
            self.take_timer(timer).await?;
        }
        Ok(None)
    }

    pub(super) async fn suspend(
        &mut self,
        awaits: Vec<PromiseId>,
    ) -> Result<Option<LiveEnd>, ExecutionError> {
        if self.recorder().batch().sends_signals() {
            // The guest receives the refusal of a signal before it suspends.
            let mut batch = self.recorder().take_batch();
            self.check_signals(&mut batch.actions).await?;
            self.recorder().restore(batch);
            if !self.ready.is_empty() {
                self.commit().await?;
                return Ok(None);
            }
        }
        if self.recorder().batch().stands_alone(&awaits) {
            self.commit().await?;
            if !self.ready.is_empty() {
                return Ok(None);
            }
        }
        let batch = self.recorder().take_batch();
        let is_divisible = batch.is_divisible();
        let CommitBatch { mut records, logs, actions, .. } = batch;
        let (mut batches, mut last) = (Vec::with_capacity(2), Vec::new());
        if actions.is_empty() {
            batches.push(ClaimBatch { records, logs, actions });
        } else {
            // If the fence is refused as a whole, the suspension is refused as well, since its
            // record cannot continue the journal. If the batch is not divisible, the suspension
            // awaits a promise that the fence creates, so that it is refused too.
            if is_divisible {
                last = records.split_off(records.len() - 1);
            }
            batches.push(ClaimBatch { records, logs, actions });
            batches.push(ClaimBatch { records: last.clone(), ..ClaimBatch::default() });
        }
        let awaits = awaits.into_iter().collect();
        let (results, suspended) = self.session.suspend(batches, awaits).await?;
        self.outcomes_stored();
        self.fenced(results);
        match suspended? {
            SuspensionResult::Suspended => Ok(Some(LiveEnd::Suspended)),
            SuspensionResult::Ready(settled) => {
                let rows = self.worker.promises(&settled).await?;
                for row in rows.into_iter().flatten() {
                    self.tell(&row.promise);
                }
                Ok(None)
            }
            // A promise of this batch was refused. The guest receives the refusal first.
            SuspensionResult::Refused(_) if !self.ready.is_empty() => {
                self.recorder().put_back(last);
                Ok(None)
            }
            SuspensionResult::Refused(refusal) => Err(ExecutionError::refused(refusal)),
        }
    }

    pub(super) fn cancel_due(&self) -> bool {
        !self.cancel_told && self.session.active.cancel_requested()
    }

    /// True if an event is likely within the hot wait.
    fn worth_staying(&self) -> bool {
        let soon = self.worker.now() + self.worker.host.config.hot_wait;
        self.recorder().open().iter().any(|open| match (open.kind, &open.completion) {
            (CommandKind::Call | CommandKind::Http, _) => true,
            (_, CompletionEvent::Timer(_, due)) => *due <= soon,
            _ => false,
        })
    }

    pub(super) fn next_signal(&self) -> Option<PromiseId> {
        self.function.signals.then(|| self.promise.id().signal(self.signals))
    }

    pub(super) fn awaits(&self) -> Vec<PromiseId> {
        let mut awaits: Vec<PromiseId> = self.recorder().open().promises().cloned().collect();
        awaits.extend(self.next_signal());
        awaits
    }
}
