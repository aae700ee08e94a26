//! Commits recorded commands, and turns their results into further records.

use segno_core::{
    address::Address,
    command::FenceOperation,
    id::{CommandIndex, PromiseId},
    promise::Promise,
    reply::{Conflict, FenceResult, Refusal},
    tags,
    value::Payload,
};
use segno_engine::{
    claim::{ActionResults, ClaimBatch},
    metrics::ClaimEnd,
    values::{self, code, journals},
};
use segno_guest::{Failure, Outcome};
use segno_restate::{
    immutable::{Notification, NotificationResult},
    wire,
};

use super::{AttemptFailure, InvocationStop, ServiceRun, journal::JournalBatch, record::FollowUp};
use crate::deployments::{ids::HandlerTarget, outcome};

/// The error message for a promise that another party has settled before.
const COMPLETED: &str = "promise was already completed";
/// The error message for a workflow that another caller has run before.
const INVOKED: &str = "the workflow method was already invoked";

impl ServiceRun {
    /// Commits recorded commands, then executes their follow-up actions `then`, and commits the
    /// resulting records as well. Returns the notifications for the deployment, in order.
    pub(super) async fn commit(
        &mut self,
        then: Vec<(CommandIndex, FollowUp)>,
    ) -> Result<Vec<Notification>, InvocationStop> {
        let outcomes = self.fence().await?;
        let mut told = Vec::new();
        let mut refused = None;
        for (index, then) in then {
            if let FollowUp::Awaits(id) = &then
                && let Some(promise) = self.read(id).await?
            {
                told.append(&mut self.settled(&promise));
                continue;
            }
            let outcome = outcomes.iter().filter(|(of, _)| *of == index).map(|(_, done)| done);
            // A one-way call has no result that could carry the refusal, and the id of the callee
            // would refer to nothing. Therefore the attempt fails, and the next one issues the call
            // again.
            if let (FollowUp::Sent(id), Some(Err(refusal))) = (&then, outcome.clone().next())
                && run_before(refusal).is_none()
            {
                refused.get_or_insert_with(|| not_sent(id, refusal));
                continue;
            }
            let result = self.result(index, then, outcome.cloned().collect()).await?;
            let now = self.session.now();
            told.extend(result.and_then(|result| self.journal.complete(index, result, now)));
        }
        self.fence().await?;
        match refused {
            Some(refused) => Err(refused.into()),
            None => Ok(told),
        }
    }

    /// The immediate result of a command. `None` if it has none.
    async fn result(
        &mut self,
        index: CommandIndex,
        then: FollowUp,
        outcomes: Vec<Result<FenceResult, Refusal>>,
    ) -> Result<Option<NotificationResult>, InvocationStop> {
        let store = self.session.host().store.clone();
        Ok(match (then, &self.handler.object) {
            (FollowUp::ReadState(name), Some(object)) => {
                Some(super::state::value(&*store, object, &name).await?)
            }
            (FollowUp::ReadNames, Some(object)) => {
                Some(super::state::names(&*store, object).await?)
            }
            (FollowUp::ReadState(_), None) => Some(NotificationResult::Void),
            (FollowUp::ReadNames, None) => Some(NotificationResult::StateKeys(Vec::new())),
            (FollowUp::Peek(id), _) => Some(match self.read(&id).await? {
                Some(promise) => match values::told(&promise) {
                    Some(told) => outcome::of_guest(&told).into(),
                    None => NotificationResult::Void,
                },
                None => NotificationResult::Void,
            }),
            (FollowUp::Awaits(id), _) => {
                tracing::debug!(%id, "there is no such invocation");
                Some(failed(code::NOT_FOUND, "not found"))
            }
            (FollowUp::Settled(_), _) => Some(match outcomes.last() {
                Some(Ok(FenceResult::Promise { changed: true, .. })) => NotificationResult::Void,
                Some(Ok(_)) | None => failed(409, COMPLETED),
                Some(Err(refusal)) => failed(code::REFUSED, refusal.to_string()),
            }),
            (FollowUp::Called(id), _) => {
                self.watch.add(&id);
                match outcomes.first() {
                    Some(Ok(FenceResult::Promise { promise, .. }))
                        if !self.is_callee(promise, index) =>
                    {
                        Some(failed(409, INVOKED))
                    }
                    Some(Ok(FenceResult::Promise { promise, .. })) => {
                        values::told(promise).map(|told| outcome::of_guest(&told).into())
                    }
                    Some(Ok(FenceResult::Held(_) | FenceResult::Done)) | None => None,
                    Some(Err(refusal)) => Some(refused(refusal)),
                }
            }
            (FollowUp::Sent(id), _) => {
                let refusal = outcomes.first().and_then(|done| done.as_ref().err());
                let id = refusal.and_then(run_before).unwrap_or(&id);
                Some(NotificationResult::InvocationId(id.to_string()))
            }
            (FollowUp::Answered(_) | FollowUp::Nothing, _) => None,
        })
    }

    /// True if this command may use the callee: it created it, or the callee is not the run of a
    /// workflow key. Each key has one run, whereas a call with an idempotency key accepts an
    /// existing invocation.
    fn is_callee(&self, callee: &Promise, index: CommandIndex) -> bool {
        let by = callee.spec.param.headers.get(crate::deployments::BY);
        let called = by.is_some_and(|by| *by == self.id.command(index).to_string());
        called || !callee.target().is_some_and(|target| is_run(callee.id(), target))
    }

    /// Commits the collected batch.
    pub(super) async fn fence(&mut self) -> Result<ActionResults, InvocationStop> {
        if !self.journal.is_dirty() {
            return Ok(Vec::new());
        }
        let JournalBatch { records, actions } = self.journal.take_batch();
        let made = actions.iter().filter_map(|action| match &action.act {
            FenceOperation::Create { new, .. } => Some(&new.id),
            _ => None,
        });
        made.for_each(|id| self.watch.add(id));
        self.session.active.advance(records.len() as u64);
        let batch = ClaimBatch { records, actions, logs: Vec::new() };
        Ok(self.session.fence(batch).await?)
    }

    /// Ends the invocation.
    pub(super) async fn finish(&mut self, outcome: &Outcome) -> Result<ClaimEnd, InvocationStop> {
        self.journal.finish(outcome, self.session.now());
        let JournalBatch { mut records, actions } = self.journal.take_batch();
        let mut batches = Vec::new();
        if !actions.is_empty() {
            let last = records.split_off(records.len() - 1);
            batches.push(ClaimBatch { records, actions, logs: Vec::new() });
            records = last;
        }
        batches.push(ClaimBatch { records, ..ClaimBatch::default() });
        let verdict = values::verdict(outcome);
        let next = match &self.handler.turn {
            Some(object) => self.session.successor(object).await,
            None => None,
        };
        match next {
            Some(next) => self.session.fulfil_and_pass(batches, verdict, next).await?,
            None => self.session.fulfil(batches, verdict).await?,
        }
        Ok(ClaimEnd::Finished)
    }

    /// Records the results of commands that the settlement of a promise completes, and conflicts of
    /// calls whose run another caller began. Returns the notifications for the deployment.
    pub(super) fn settled(&mut self, promise: &Promise) -> Vec<Notification> {
        let told = values::told(promise);
        let open =
            self.journal.open().filter(|(_, open)| open.awaits.as_ref() == Some(promise.id()));
        let results = open.filter_map(|(index, open)| {
            // The result that the attempt with the call would have recorded if it had continued.
            if open.wish.is_call() && !self.is_callee(promise, index) {
                return Some((index, failed(409, INVOKED)));
            }
            let told = told.as_ref()?;
            Some((
                index,
                match open.kind == segno_restate::immutable::NotificationKind::Sleep {
                    true => NotificationResult::Void,
                    false => outcome::of_guest(told).into(),
                },
            ))
        });
        let results: Vec<(CommandIndex, NotificationResult)> = results.collect();
        let now = self.session.now();
        let told = results.into_iter();
        told.filter_map(|(index, result)| self.journal.complete(index, result, now)).collect()
    }

    /// Records the signals that have arrived. Returns the notifications for the deployment.
    pub(super) async fn read_signals(&mut self) -> Result<Vec<Notification>, InvocationStop> {
        let mut notifications = Vec::new();
        while std::mem::take(&mut self.signal_unread) {
            let next = self.id.signal(self.journal.signals());
            self.watch.add(&next);
            let Some(promise) = self.read(&next).await? else { break };
            let Some(settlement) = promise.settlement() else { break };
            let mut value = settlement.value.clone().unwrap_or_default();
            let name = value.headers.remove(tags::SIGNAL_HEADER).unwrap_or_default();
            let payload: Payload = journals::payload(&values::payload(&value));
            let payload = match value.data.is_empty() {
                true => Payload::Bytes(value.data),
                false => payload,
            };
            notifications.extend(self.journal.signal(name.into(), payload, self.session.now()));
            self.signal_unread = true;
        }
        Ok(notifications)
    }

    pub(super) async fn read(&self, id: &PromiseId) -> Result<Option<Promise>, InvocationStop> {
        let rows = self.session.promises(std::slice::from_ref(id)).await?;
        Ok(rows.into_iter().flatten().next().map(|row| row.promise))
    }
}

fn failed(code: u32, message: impl Into<String>) -> NotificationResult {
    NotificationResult::Failure(wire::Failure {
        code,
        message: message.into(),
        metadata: Vec::new(),
    })
}

/// True if the id is that of the run of a workflow key.
fn is_run(id: &PromiseId, target: &str) -> bool {
    let Ok(address) = Address::parse(target) else { return false };
    HandlerTarget::of(&address).is_some_and(|called| called.key.is_some() && called.run() == *id)
}

/// The run of a workflow key that was begun under another id.
fn run_before(refusal: &Refusal) -> Option<&PromiseId> {
    match refusal {
        Refusal::Conflict(Conflict::RanAlready { run, .. }) => Some(run),
        _ => None,
    }
}

/// The failure of an attempt whose one-way call was refused.
fn not_sent(id: &PromiseId, refusal: &Refusal) -> AttemptFailure {
    let code = match refusal {
        Refusal::Unprocessable(_) => code::NOT_FOUND,
        _ => code::REFUSED,
    };
    AttemptFailure::new(code, format!("the one-way call that begins `{id}` is refused: {refusal}"))
}

fn refused(refusal: &Refusal) -> NotificationResult {
    let failure = match refusal {
        Refusal::Conflict(Conflict::RanAlready { .. }) => return failed(409, INVOKED),
        Refusal::Unprocessable(_) => {
            Failure { code: code::NOT_FOUND, message: refusal.to_string(), details: None }
        }
        other => Failure { code: code::REFUSED, message: other.to_string(), details: None },
    };
    NotificationResult::Failure(outcome::told(&failure))
}
