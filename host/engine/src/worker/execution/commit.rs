//! Commits the collected batch, and turns the results of its actions into events.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    reply::{FenceResult, Reply},
};
use segno_guest::{Event, Failure, Outcome, Payload};

use super::{LiveEnd, LiveExecution};
use crate::{
    values::{self, journals},
    worker::{
        commands::{CommitResult, CompletionEvent},
        context::WorkerContext,
        error::ExecutionError,
        recording::CommitBatch,
    },
};

/// The way in which commands are committed under a claim.
#[async_trait]
pub trait ClaimWriter: Send {
    /// Commits `commands` together.
    ///
    /// # Errors
    /// The claim is lost, or the store did not answer.
    async fn submit(&mut self, commands: Vec<Command>) -> Result<Vec<Reply>, ExecutionError>;
}

/// The writer of a stored claim.
pub struct StoredClaim(pub Arc<WorkerContext>);

#[async_trait]
impl ClaimWriter for StoredClaim {
    async fn submit(&mut self, commands: Vec<Command>) -> Result<Vec<Reply>, ExecutionError> {
        self.0.submit(commands).await
    }
}

impl LiveExecution {
    pub(super) async fn finish(
        &mut self,
        writer: &mut dyn ClaimWriter,
    ) -> Result<LiveEnd, ExecutionError> {
        let closed = self.recorder().close();
        let (batch, finished, outcome) = closed.expect("only a finished workflow comes here");
        let claim = self.active.claim.clone();
        let CommitBatch { mut records, logs, mut actions, .. } = batch;
        self.check_signals(&mut actions).await?;
        let can_be_told = records.iter().any(|record| record.body.is_other_event());
        let mut commands = Vec::with_capacity(2);
        let (records, logs) = if actions.is_empty() {
            records.push(finished);
            (records, logs)
        } else {
            if can_be_told {
                let index = actions[0].index;
                actions.insert(0, FenceAction { index, act: FenceOperation::UnlessAsked });
            }
            commands.push(Command::TaskFence { claim: claim.clone(), records, logs, actions });
            (vec![finished], Vec::new())
        };
        let next = self.recorder().next_generation().map(|(next, unread)| {
            let param = values::param_again(&self.promise.spec.param, &next.input);
            (param, next.same_code, unread.to_vec())
        });
        commands.push(match next {
            Some((param, same_module, unread)) => {
                Command::TaskHandOver { claim, records, logs, param, same_module, unread }
            }
            None => {
                let (verdict, value) = values::verdict(&outcome);
                Command::TaskFulfill { claim, records, logs, verdict, value }
            }
        });
        let mut replies = writer.submit(commands).await?;
        let fulfilled = replies.pop();
        match (replies.pop(), fulfilled) {
            (_, Some(Reply::Promise { .. } | Reply::HandedOver { .. })) => Ok(LiveEnd::Finished),
            (Some(Reply::Ready { .. }), _) | (None, Some(Reply::Ready { .. })) => {
                Err(ExecutionError::Asked)
            }
            // The first refusal gives the reason; the refused batch cannot continue the journal.
            (Some(Reply::Refused(refusal)), _) | (_, Some(Reply::Refused(refusal))) => {
                Err(ExecutionError::refused(refusal))
            }
            _ => Err(ExecutionError::Lost),
        }
    }

    pub(super) async fn commit(
        &mut self,
        writer: &mut dyn ClaimWriter,
    ) -> Result<(), ExecutionError> {
        if !self.recorder().batch().is_pressing() {
            return Ok(());
        }
        let batch = self.recorder().take_batch();
        self.commit_batch(writer, batch).await
    }

    pub(super) async fn commit_batch(
        &mut self,
        writer: &mut dyn ClaimWriter,
        batch: CommitBatch,
    ) -> Result<(), ExecutionError> {
        let CommitBatch { records, logs, mut actions, .. } = batch;
        self.check_signals(&mut actions).await?;
        for FenceAction { act, .. } in &actions {
            if let Some(id) = act.promise() {
                self.watch.add(id);
            }
        }
        self.active.advance(records.len() as u64);
        let claim = self.active.claim.clone();
        let fence = Command::TaskFence { claim, records, logs, actions };
        let reply = writer.submit(vec![fence]).await?.pop().unwrap_or(Reply::Done);
        self.fenced(reply)
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
    pub(super) fn fenced(&mut self, reply: Reply) -> Result<(), ExecutionError> {
        let outcomes = match reply {
            Reply::Fenced { outcomes, .. } => outcomes,
            Reply::Refused(refusal) => return Err(ExecutionError::refused(refusal)),
            _ => return Err(ExecutionError::Lost),
        };
        for (index, acted) in outcomes {
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
                (_, Ok(FenceResult::Done)) => continue,
            };
            let command = index.0;
            self.ready.push_back(Event::Completed(segno_guest::Completion { command, outcome }));
        }
        Ok(())
    }
}
