//! The commands under a claim that write: they append records, execute actions, and end the claim.

use std::collections::BTreeSet;

use segno_core::{
    command::{Command, Fulfillment},
    id::{Claim, PromiseId},
    invocation::{LogLine, Record},
    promise::{Promise, Verdict},
    reply::{Refusal, Reply},
    time::Millis,
    value::Value,
};
use segno_guest::Outcome;

use super::{
    ActionResults, ClaimBatch, ClaimSession, ExecutionError, SuspensionResult, TurnSuccessor,
};
use crate::{metrics::ClaimEnd, values};

/// Maximum number of records that a called task hands to its caller. Longer batches have a commit of
/// their own, so that the caller's batch stays within its bounds.
const HANDED_RECORDS: usize = 64;

impl ClaimSession {
    /// Commits a batch. The claim continues.
    ///
    /// # Errors
    /// The batch was refused, the claim is lost, or the store did not answer.
    pub async fn fence(&self, batch: ClaimBatch) -> Result<ActionResults, ExecutionError> {
        let reply = self.submit(vec![self.fence_of(batch)]).await?.pop();
        fenced(reply)
    }

    /// Commits `batches`, and suspends the task until one of the awaited promises settles. Returns
    /// the results of all actions, and the state of the claim after them.
    ///
    /// # Errors
    /// A batch was refused, the claim is lost, or the store did not answer. If only the suspension
    /// failed, the error comes with the results.
    pub async fn suspend(
        &self,
        batches: Vec<ClaimBatch>,
        awaits: BTreeSet<PromiseId>,
    ) -> Result<(ActionResults, Result<SuspensionResult, ExecutionError>), ExecutionError> {
        let commands = self.ending(batches, |claim, records, logs| Command::TaskSuspend {
            claim,
            records,
            logs,
            awaits,
        });
        let mut replies = self.submit(commands).await?;
        let suspended = replies.pop();
        let mut results = ActionResults::new();
        // The refusal of a fence is the reason why the suspension is refused.
        for reply in replies {
            results.append(&mut fenced(Some(reply))?);
        }
        let suspended = match suspended {
            Some(Reply::Suspended) => Ok(SuspensionResult::Suspended),
            Some(Reply::Ready { settled, .. }) => Ok(SuspensionResult::Ready(settled)),
            Some(Reply::Refused(refusal @ Refusal::Unprocessable(_))) => {
                Ok(SuspensionResult::Refused(refusal))
            }
            Some(Reply::Refused(refusal)) => Err(ExecutionError::refused(refusal)),
            _ => Err(ExecutionError::Lost),
        };
        Ok((results, suspended))
    }

    /// Commits `batches`, and settles the task. The claim has then ended.
    ///
    /// # Errors
    /// [`ExecutionError::Asked`], a batch or the settlement was refused, the claim is lost, or the
    /// store did not answer.
    pub async fn fulfil(
        &self,
        batches: Vec<ClaimBatch>,
        (verdict, value): (Verdict, Value),
    ) -> Result<(), ExecutionError> {
        let end =
            |claim, records, logs| Command::TaskFulfill { claim, records, logs, verdict, value };
        self.finish(self.ending(batches, end)).await
    }

    /// Commits `batches`, settles the task, and claims the execution that gets its turn, which then
    /// runs here. The claim of this session has then ended.
    ///
    /// # Errors
    /// As [`ClaimSession::fulfil`].
    pub async fn fulfil_and_pass(
        &self,
        batches: Vec<ClaimBatch>,
        (verdict, value): (Verdict, Value),
        next: TurnSuccessor,
    ) -> Result<(), ExecutionError> {
        let end =
            |claim, records, logs| Command::TaskFulfill { claim, records, logs, verdict, value };
        let mut commands = self.ending(batches, end);
        commands.push(next.acquire());
        self.store().await?;
        let slots = self.host().slots();
        let run = move |replies: &mut Vec<Reply>| {
            let claimed = replies.pop().and_then(|acquired| next.claimed(acquired));
            if let (Some(claimed), Some(slots)) = (claimed, slots) {
                slots.run_now(vec![claimed]);
            }
        };
        ended(self.submit_with(commands, run).await?)
    }

    /// Commits `batches`, and settles a task that may have been called. If its caller runs on this
    /// host and the task ends without actions, the caller stores the outcome in one commit with what
    /// follows from it. If that takes longer than `run_gather`, this session stores it. The claim
    /// has then ended.
    ///
    /// # Errors
    /// As [`ClaimSession::fulfil`].
    pub(crate) async fn fulfil_call(
        &self,
        promise: &Promise,
        batches: Vec<ClaimBatch>,
        (verdict, value): (Verdict, Value),
    ) -> Result<(), ExecutionError> {
        let patience = self.host().config.run_gather;
        if let [batch] = &batches[..]
            && batch.actions.is_empty()
            && batch.records.len() <= HANDED_RECORDS
            && patience > Millis::ZERO
            && !self.is_pending()
            && !self.active.cancel_requested()
        {
            let fulfillment = Fulfillment {
                claim: self.active.claim.clone(),
                records: batch.records.clone(),
                logs: batch.logs.clone(),
                verdict,
                value: value.clone(),
            };
            if let Some(mut stored) = self.worker.callers.hand(promise, fulfillment, self.now()) {
                let in_time = self.host().env.within(patience, &mut stored).await;
                let is_stored = match in_time {
                    Some(stored) => stored.is_ok(),
                    // The commit of the caller is under way.
                    None if self.active.is_ending() => stored.await.is_ok(),
                    None => false,
                };
                if is_stored {
                    self.worker.note_appended(&batch.records, &batch.logs, true);
                    return Ok(());
                }
            }
        }
        self.fulfil(batches, (verdict, value)).await
    }

    /// Commits `batches`, and hands the task over to its next generation: its parameter, `true` if
    /// it runs the same module, and the signals that this one did not read. The claim has then
    /// ended.
    ///
    /// # Errors
    /// As [`ClaimSession::fulfil`].
    pub(crate) async fn hand_over(
        &self,
        batches: Vec<ClaimBatch>,
        (param, same_module, unread): (Value, bool, Vec<u32>),
    ) -> Result<(), ExecutionError> {
        let commands = self.ending(batches, |claim, records, logs| Command::TaskHandOver {
            claim,
            records,
            logs,
            param,
            same_module,
            unread,
        });
        self.finish(commands).await
    }

    /// Settles the task with `outcome`, without a record in its journal. Releases the claim if that
    /// fails.
    pub async fn reject(&self, outcome: &Outcome) -> ClaimEnd {
        match self.fulfil(Vec::new(), values::verdict(outcome)).await {
            Ok(()) => ClaimEnd::Finished,
            Err(stopped) => self.give_back(stopped).await,
        }
    }

    /// Halts the task until an operator resumes it. Returns false if the task has ended.
    ///
    /// # Errors
    /// The claim is lost, or the store did not answer.
    pub async fn halt(&self) -> Result<bool, ExecutionError> {
        let halt = Command::TaskHalt { id: self.active.claim.id.clone() };
        Ok(matches!(self.submit(vec![halt]).await?[..], [Reply::Done]))
    }

    /// The command that commits a batch.
    pub(crate) fn fence_of(&self, ClaimBatch { records, logs, actions }: ClaimBatch) -> Command {
        Command::TaskFence { claim: self.active.claim.clone(), records, logs, actions }
    }

    /// The commands that commit `batches` and end the claim.
    fn ending(
        &self,
        mut batches: Vec<ClaimBatch>,
        end: impl FnOnce(Claim, Vec<Record>, Vec<LogLine>) -> Command,
    ) -> Vec<Command> {
        let last = batches.pop_if(|last| last.actions.is_empty()).unwrap_or_default();
        let end = end(self.active.claim.clone(), last.records, last.logs);
        batches.into_iter().map(|batch| self.fence_of(batch)).chain([end]).collect()
    }

    async fn finish(&self, commands: Vec<Command>) -> Result<(), ExecutionError> {
        ended(self.submit(commands).await?)
    }
}

/// The result of commands that end a claim.
fn ended(replies: Vec<Reply>) -> Result<(), ExecutionError> {
    if let Some(Reply::Promise { .. } | Reply::HandedOver { .. }) = replies.last() {
        return Ok(());
    }
    // The first refusal gives the reason; the refused batch cannot continue the journal.
    for reply in replies {
        match reply {
            Reply::Ready { .. } => return Err(ExecutionError::Asked),
            Reply::Refused(refusal) => return Err(ExecutionError::refused(refusal)),
            _ => {}
        }
    }
    Err(ExecutionError::Lost)
}

fn fenced(reply: Option<Reply>) -> Result<ActionResults, ExecutionError> {
    match reply {
        Some(Reply::Fenced { outcomes, .. }) => Ok(outcomes),
        Some(Reply::Refused(refusal)) => Err(ExecutionError::refused(refusal)),
        _ => Err(ExecutionError::Lost),
    }
}
