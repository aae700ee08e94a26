//! Waiting for attempts that were begun: first with the claim for a short time, then without it.

use segno_core::command::FenceOperation;

use super::{ClaimedRun, RunStop, commit::parts};
use crate::{
    claim::{ExecutionError, SuspensionResult},
    metrics::ClaimEnd,
    notifier::SettlementNotice,
};

impl ClaimedRun {
    /// Commits the acts of the turn, and waits until a promise settles. Returns the end of the
    /// claim if the run was suspended.
    pub(super) async fn wait(&mut self) -> Result<Option<ClaimEnd>, RunStop> {
        let acts = self.coordinator.take_acts();
        if self.worker.is_draining() || !self.coordinator.is_busy() {
            return self.suspend(acts).await;
        }
        if !acts.is_empty() {
            self.commit(acts).await?;
            if self.coordinator.has_acts() || self.take_settled() {
                return Ok(None);
            }
        }
        let hot_wait = self.worker.host.env.runtime.sleep(self.worker.host.config.hot_wait);
        let settled = tokio::select! {
            biased;
            () = self.session.active.abort.cancelled() => return Err(ExecutionError::Lost.into()),
            () = self.session.active.cancel_request() => None,
            settled = self.watch.next() => Some(settled),
            () = self.worker.draining.cancelled() => return self.suspend(Vec::new()).await,
            () = hot_wait => return self.suspend(Vec::new()).await,
        };
        self.unseen.extend(settled);
        self.take_settled();
        Ok(None)
    }

    /// Takes the promises that have settled by now. Returns true if there is one to read.
    fn take_settled(&mut self) -> bool {
        while let Some(settled) = self.watch.try_next() {
            self.unseen.push_back(settled);
        }
        !self.unseen.is_empty()
    }

    async fn suspend(&mut self, acts: Vec<FenceOperation>) -> Result<Option<ClaimEnd>, RunStop> {
        let mut parts = parts(acts);
        let last = parts.pop();
        self.commit(parts.concat()).await?;
        if self.coordinator.has_acts() {
            // An act was refused, so its node has failed. That is handled first.
            self.commit(last.unwrap_or_default()).await?;
            return Ok(None);
        }
        let awaits = self.coordinator.awaits();
        let batches = last.iter().map(|acts| self.batch(acts)).collect();
        let (results, suspended) = self.session.suspend(batches, awaits).await?;
        self.fenced(last.as_deref().unwrap_or_default(), results)?;
        match suspended? {
            SuspensionResult::Suspended => Ok(Some(ClaimEnd::Suspended)),
            SuspensionResult::Ready(settled) => {
                self.unseen.extend(settled.into_iter().map(SettlementNotice::unread));
                Ok(None)
            }
            // An awaited promise was refused, so its node has failed.
            SuspensionResult::Refused(_) if self.coordinator.has_acts() => Ok(None),
            SuspensionResult::Refused(refusal) => Err(ExecutionError::refused(refusal).into()),
        }
    }
}
