//! Making what was collected durable, and what its actions came to.

use segno_core::{
    command::{Command, FenceAction},
    invocation::CommandKind,
    reply::{Acted, Reply},
};

use super::{Execution, LiveEnd};
use crate::worker::{batch::Batch, convention, failure::ExecutionError, outcome};
use segno_guest::{Completion, Event, Failure, Outcome, Payload};

impl Execution {
    pub(super) async fn finish(&mut self) -> Result<LiveEnd, ExecutionError> {
        let closed = self.recorder().close();
        let (batch, finished, outcome) = closed.expect("only a finished workflow comes here");
        let claim = self.held.claim.clone();
        let Batch { mut records, logs, actions, .. } = batch;
        let (verdict, value) = convention::verdict(&outcome);
        let mut commands = Vec::with_capacity(2);
        if actions.is_empty() {
            records.push(finished);
            commands.push(Command::TaskFulfill { claim, records, logs, verdict, value });
        } else {
            commands.push(Command::TaskFence { claim: claim.clone(), records, logs, actions });
            commands.push(Command::TaskFulfill {
                claim,
                records: vec![finished],
                logs: Vec::new(),
                verdict,
                value,
            });
        }
        let mut replies = self.submit(commands).await?;
        let fulfilled = replies.pop();
        match (replies.pop(), fulfilled) {
            (_, Some(Reply::Promise { .. })) => Ok(LiveEnd::Finished),
            // The first refusal says why; what it was refused with cannot continue the journal.
            (Some(Reply::Refused(refusal)), _) | (_, Some(Reply::Refused(refusal))) => {
                Err(ExecutionError::refused(refusal))
            }
            _ => Err(ExecutionError::Lost),
        }
    }

    pub(super) async fn commit(&mut self) -> Result<(), ExecutionError> {
        if !self.recorder().batch().is_pressing() {
            return Ok(());
        }
        let batch = self.recorder().take_batch();
        self.commit_batch(batch).await
    }

    pub(super) async fn commit_batch(&mut self, batch: Batch) -> Result<(), ExecutionError> {
        let Batch { records, logs, actions, .. } = batch;
        for FenceAction { act, .. } in &actions {
            if let Some(id) = act.promise() {
                self.watching.add(id);
            }
        }
        self.held.advance(records.len() as u64);
        let claim = self.held.claim.clone();
        let fence = Command::TaskFence { claim, records, logs, actions };
        let reply = self.submit(vec![fence]).await?.pop().unwrap_or(Reply::Done);
        self.fenced(reply)
    }

    /// Turns what became of a batch's actions into events.
    pub(super) fn fenced(&mut self, reply: Reply) -> Result<(), ExecutionError> {
        let outcomes = match reply {
            Reply::Fenced { outcomes, .. } => outcomes,
            Reply::Refused(refusal) => return Err(ExecutionError::refused(refusal)),
            _ => return Err(ExecutionError::Lost),
        };
        for (index, acted) in outcomes {
            let Some(kind) = self.recorder().open().get(index.0).map(|open| open.kind) else {
                continue;
            };
            let outcome = match (kind, acted) {
                (_, Err(refusal)) => Outcome::Failure(Failure {
                    code: u32::from(refusal.code()),
                    message: refusal.to_string(),
                    details: None,
                }),
                (CommandKind::Send, Ok(_)) => {
                    let id = self.promise.id().command(index);
                    Outcome::Success(Payload::Json(
                        serde_json::Value::from(id.as_str()).to_string(),
                    ))
                }
                (CommandKind::Settle | CommandKind::Cancel | CommandKind::Publish, Ok(_)) => {
                    outcome::null()
                }
                (_, Ok(Acted::Promise { promise, .. })) => {
                    self.told(&promise);
                    continue;
                }
                (_, Ok(Acted::Done)) => continue,
            };
            self.ready.push_back(Event::Completed(Completion { command: index.0, outcome }));
        }
        Ok(())
    }

    pub(super) async fn submit(
        &mut self,
        commands: Vec<Command>,
    ) -> Result<Vec<Reply>, ExecutionError> {
        self.birth.submit(&self.shared, &self.held, commands).await
    }
}
