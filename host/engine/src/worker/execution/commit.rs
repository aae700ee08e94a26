//! Commits the collected batch, and turns the results of its actions into events.

use segno_core::{
    command::{FenceAction, FenceOperation},
    reply::FenceResult,
};
use segno_guest::{Event, Failure, Outcome, Payload};

use super::{LiveEnd, LiveExecution};
use crate::{
    claim::{ActionResults, ClaimBatch, ExecutionError},
    values::{self, journals},
    worker::{
        commands::{CommitResult, CompletionEvent},
        recording::CommitBatch,
    },
};

impl LiveExecution {
    pub(super) async fn finish(&mut self) -> Result<LiveEnd, ExecutionError> {
        let closed = self.recorder().close();
        let (batch, finished, outcome) = closed.expect("only a finished workflow comes here");
        let CommitBatch { mut records, logs, mut actions, .. } = batch;
        self.check_signals(&mut actions).await?;
        let can_be_told = records.iter().any(|record| record.body.is_other_event());
        let batches = if actions.is_empty() {
            records.push(finished);
            vec![ClaimBatch { records, logs, actions }]
        } else {
            if can_be_told {
                let index = actions[0].index;
                actions.insert(0, FenceAction { index, act: FenceOperation::UnlessAsked });
            }
            let last = ClaimBatch { records: vec![finished], ..ClaimBatch::default() };
            vec![ClaimBatch { records, logs, actions }, last]
        };
        let next = self.recorder().next_generation().map(|(next, unread)| {
            let param = values::param_again(&self.promise.spec.param, &next.input);
            (param, next.same_code, unread.to_vec())
        });
        // A caller needs a permit to take the outcome.
        self.permit.take_if(|_| self.promise.spec.made_by.is_some());
        let session = &self.session;
        match next {
            Some(next) => session.hand_over(batches, next).await?,
            None => session.fulfil_call(&self.promise, batches, values::verdict(&outcome)).await?,
        }
        self.outcomes_stored();
        Ok(LiveEnd::Finished)
    }

    pub(super) async fn commit(&mut self) -> Result<(), ExecutionError> {
        if !self.recorder().batch().is_pressing() {
            return Ok(());
        }
        let batch = self.recorder().take_batch();
        self.commit_batch(batch).await
    }

    pub(super) async fn commit_batch(&mut self, batch: CommitBatch) -> Result<(), ExecutionError> {
        let CommitBatch { records, logs, mut actions, .. } = batch;
        self.check_signals(&mut actions).await?;
        for FenceAction { act, .. } in &actions {
            if let Some(id) = act.promise().filter(|_| !act.stores_outcome()) {
                self.watch.add(id);
            }
        }
        // The first call may end before this execution waits.
        self.take_outcomes();
        self.session.active.advance(records.len() as u64);
        let results = self.session.fence(ClaimBatch { records, logs, actions }).await?;
        self.outcomes_stored();
        self.fenced(results);
        Ok(())
    }

    /// Removes the signals from a batch that their receivers do not take. Their commands complete
    /// with the reasons.
    pub(super) async fn check_signals(
        &mut self,
        actions: &mut Vec<FenceAction>,
    ) -> Result<(), ExecutionError> {
        let mut refused = Vec::new();
        for FenceAction { index, act } in &*actions {
            let FenceOperation::Signal { invocation, name, payload } = act else { continue };
            let host = &self.worker.host;
            if let Some(failure) = host.signal_refusal(invocation, name, payload).await? {
                tracing::warn!(id = %self.promise.id(), "a signal is not sent: {}", failure.message);
                refused.push((*index, failure));
            }
        }
        actions.retain(|action| refused.iter().all(|(index, _)| *index != action.index));
        for (index, failure) in refused {
            let (command, outcome) = (index.0, Outcome::Failure(failure));
            self.ready.push_back(Event::Completed(segno_guest::Completion { command, outcome }));
        }
        Ok(())
    }

    /// Turns the results of a batch's actions into events.
    pub(super) fn fenced(&mut self, results: ActionResults) {
        for (index, acted) in results {
            let Some(completion) =
                self.recorder().open().get(index.0).map(|open| open.completion.clone())
            else {
                continue;
            };
            let outcome = match (completion, acted) {
                (_, Err(refusal)) => Outcome::Failure(Failure {
                    code: u32::from(refusal.code()),
                    message: refusal.to_string(),
                    details: None,
                }),
                (CompletionEvent::Commit(CommitResult::StartedId), Ok(_)) => {
                    let id = self.promise.id().command(index);
                    let id = serde_json::Value::from(id.as_str()).to_string();
                    Outcome::Success(Payload::Json(id))
                }
                (CompletionEvent::Commit(CommitResult::Nothing), Ok(_)) => journals::null(),
                (
                    CompletionEvent::Commit(CommitResult::Settled),
                    Ok(FenceResult::Promise { changed, promise }),
                ) => match changed {
                    true => Outcome::Success(Payload::Json("true".into())),
                    false => Outcome::Failure(Failure {
                        code: 409,
                        message: format!("the promise `{}` was settled before", promise.id()),
                        details: None,
                    }),
                },
                (_, Ok(FenceResult::Promise { promise, .. })) => {
                    self.tell(&promise);
                    continue;
                }
                // Tasks born under a claim run already.
                (_, Ok(FenceResult::Held(_) | FenceResult::Done)) => continue,
            };
            let command = index.0;
            self.ready.push_back(Event::Completed(segno_guest::Completion { command, outcome }));
        }
    }
}
