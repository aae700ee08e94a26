//! Waiting without deliverable events: the instance stays warm for a short time, or suspends.

use segno_core::{
    command::Command,
    id::PromiseId,
    invocation::CommandKind,
    reply::{Refusal, Reply},
};

use super::{ClaimWriter, LiveEnd, LiveExecution};
use crate::{
    target,
    worker::{
        commands::CompletionEvent,
        error::{ExecutionError, HaltReport},
        recording::CommitBatch,
    },
};

impl LiveExecution {
    /// Waits for an event: stays warm for a short time, or suspends.
    pub(super) async fn wait(
        &mut self,
        writer: &mut dyn ClaimWriter,
    ) -> Result<Option<LiveEnd>, ExecutionError> {
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
            return self.suspend(writer, awaits).await;
        }
        let was_dirty = self.recorder().batch().is_pressing();
        self.commit(writer).await?;
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
        let settled = tokio::select! {
            biased;
            () = self.active.abort.cancelled() => return Err(ExecutionError::Lost),
            () = self.active.cancel_request(), if !cancel_told => None,
            id = self.watch.next() => Some(id),
            () = self.worker.draining.cancelled() => return self.suspend(writer, awaits).await,
            () = hot_wait => return self.suspend(writer, awaits).await,
        };
        let module = target::module_of(&self.promise);
        self.permit = Some(self.worker.run_limiter.permit(&module).await);
        if let Some(id) = settled {
            self.read(id).await?;
        }
        Ok(None)
    }

    pub(super) async fn suspend(
        &mut self,
        writer: &mut dyn ClaimWriter,
        awaits: Vec<PromiseId>,
    ) -> Result<Option<LiveEnd>, ExecutionError> {
        if self.recorder().batch().sends_signals() {
            // The guest receives the refusal of a signal before it suspends.
            let mut batch = self.recorder().take_batch();
            self.check_signals(&mut batch.actions).await?;
            self.recorder().restore(batch);
            if !self.ready.is_empty() {
                self.commit(writer).await?;
                return Ok(None);
            }
        }
        if self.recorder().batch().stands_alone(&awaits) {
            self.commit(writer).await?;
            if !self.ready.is_empty() {
                return Ok(None);
            }
        }
        let batch = self.recorder().take_batch();
        let is_divisible = batch.is_divisible();
        let CommitBatch { mut records, logs, actions, .. } = batch;
        let claim = self.active.claim.clone();
        let mut commands = Vec::with_capacity(2);
        let awaits = awaits.into_iter().collect();
        let mut last = Vec::new();
        if actions.is_empty() {
            commands.push(Command::TaskSuspend { claim, records, logs, awaits });
        } else {
            // If the fence is refused as a whole, the suspension is refused as well, since its
            // record cannot continue the journal. If the batch is not divisible, the suspension
            // awaits a promise that the fence creates, so that it is refused too.
            if is_divisible {
                last = records.split_off(records.len() - 1);
            }
            commands.push(Command::TaskFence { claim: claim.clone(), records, logs, actions });
            let (records, logs) = (last.clone(), Vec::new());
            commands.push(Command::TaskSuspend { claim, records, logs, awaits });
        }
        let mut replies = writer.submit(commands).await?;
        let suspended = replies.pop();
        if let Some(fenced) = replies.pop() {
            self.fenced(fenced)?;
        }
        match suspended {
            Some(Reply::Suspended) => Ok(Some(LiveEnd::Suspended)),
            Some(Reply::Ready { settled, .. }) => {
                let rows = self.worker.promises(&settled).await?;
                for row in rows.into_iter().flatten() {
                    self.tell(&row.promise);
                }
                Ok(None)
            }
            // A promise of this batch was refused. The guest receives the refusal first.
            Some(Reply::Refused(Refusal::Unprocessable(_))) if !self.ready.is_empty() => {
                self.recorder().put_back(last);
                Ok(None)
            }
            Some(Reply::Refused(refusal)) => Err(ExecutionError::refused(refusal)),
            _ => Err(ExecutionError::Lost),
        }
    }

    pub(super) fn cancel_due(&self) -> bool {
        !self.cancel_told && self.active.cancel_requested()
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
