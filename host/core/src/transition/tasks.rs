//! Operations on a task: acquire, suspend, fulfill, release, halt, continue.

use std::collections::BTreeSet;

use super::{
    append::{is_untold, progressed},
    create::{PromiseCreator, holder_fits, settled_at},
    draft::{DecisionDraft, wrong_state},
    promises::{for_clients, record},
    requeue::LOST,
};
use crate::{
    address::is_internal,
    command::ClaimRequest,
    config::ExhaustionPolicy,
    id::{Claim, PromiseId},
    invocation::{LogLine, Record},
    promise::{
        CancelState, HaltReason, Lease, NewPromise, Note, Promise, ReleaseReason, RepeatedTrap,
        Settlement, Task, TaskState, TrapKey, Verdict, backoff,
    },
    reply::{Conflict, Refusal, Reply, TaskReply},
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};

pub(super) fn get(draft: &mut DecisionDraft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    shown(draft, id, false)
}

pub(super) fn create(
    draft: &mut DecisionDraft<'_>,
    new: &NewPromise,
    request: &ClaimRequest,
) -> Result<Reply, Refusal> {
    Lease::check(request.ttl).map_err(Refusal::BadRequest)?;
    draft.touch(&new.id);
    let is_new = draft.promise(&new.id).is_none();
    let target = tags::target(&new.tags).filter(|_| !tags::is_timer(&new.tags));
    let is_outside = target.is_some_and(|target| !is_internal(target));
    if is_new && is_outside && new.tags.contains_key(tags::BUDGET) {
        // The account must be open before an attempt begins.
        draft.make(new, PromiseCreator::Client, None)?;
    } else if draft.make_held(new, PromiseCreator::Client, request)? {
        return shown(draft, &new.id, true);
    }
    let Some(task) = draft.task(&new.id) else {
        return Err(Refusal::Unprocessable(format!("`{}` exists and has no task", new.id)));
    };
    draft.may_take(&new.id, request)?;
    match &task.state {
        TaskState::Fulfilled => {}
        TaskState::Pending { .. } => {
            if let Some(parked) = draft.may_run(&new.id) {
                return Ok(parked);
            }
            if draft.begin_outside(&new.id)? {
                draft.take(&new.id, request, None);
            }
        }
        TaskState::Acquired { .. } => {
            if draft.held_version(&new.id, Some(request)).is_none() {
                return Err(Conflict::NotHolder(new.id.clone()).into());
            }
        }
        TaskState::Suspended | TaskState::Halted { .. } => return Err(wrong_state(task).into()),
    }
    shown(draft, &new.id, is_new)
}

pub(super) fn acquire(
    draft: &mut DecisionDraft<'_>,
    claim: &Claim,
    request: &ClaimRequest,
    stall_limit: Option<Millis>,
) -> Result<Reply, Refusal> {
    Lease::check(request.ttl).map_err(Refusal::BadRequest)?;
    draft.touch(&claim.id);
    // The reply to the first attempt was lost: it is given again.
    if draft.held_version(&claim.id, Some(request)) == Some(claim.version.next()) {
        return shown(draft, &claim.id, false);
    }
    let task = draft.existing_task(&claim.id)?;
    draft.may_take(&claim.id, request)?;
    match &task.state {
        TaskState::Pending { .. } if task.version == claim.version => {}
        TaskState::Pending { .. } => {
            let (offered, current) = (claim.version, task.version);
            return Err(Conflict::StaleVersion { id: claim.id.clone(), offered, current }.into());
        }
        TaskState::Fulfilled => return Err(Conflict::PromiseSettled(claim.id.clone()).into()),
        TaskState::Acquired { .. } | TaskState::Suspended | TaskState::Halted { .. } => {
            return Err(wrong_state(task).into());
        }
    }
    if let Some(parked) = draft.may_run(&claim.id) {
        return Ok(parked);
    }
    if !draft.begin_outside(&claim.id)? {
        return Ok(Reply::Parked { behind: None });
    }
    draft.take(&claim.id, request, stall_limit);
    shown(draft, &claim.id, false)
}

pub(super) fn suspend(
    draft: &mut DecisionDraft<'_>,
    claim: &Claim,
    records: &[Record],
    logs: &[LogLine],
    awaits: &BTreeSet<PromiseId>,
) -> Result<Reply, Refusal> {
    if awaits.is_empty() || awaits.contains(&claim.id) {
        let message =
            format!("`{}` must wait for at least one promise, and not for itself", claim.id);
        return Err(Refusal::BadRequest(message));
    }
    draft.touch(&claim.id);
    awaits.iter().for_each(|id| draft.touch(id));
    let mut task = draft.claimed(claim)?;
    awaits.iter().try_for_each(|id| draft.within_rights(&claim.id, id))?;
    // A module's function may wait for a signal that was not sent yet; external workers have no
    // signals.
    let outside = draft.is_outside(&claim.id);
    let next_signal = (!outside).then(|| claim.id.signal(task.signals));
    let is_next = |id: &PromiseId| next_signal.as_ref() == Some(id);
    if let Some(missing) = awaits.iter().find(|id| draft.promise(id).is_none() && !is_next(id)) {
        return Err(Refusal::Unprocessable(format!(
            "`{}` waits for `{missing}`, which does not exist",
            claim.id
        )));
    }
    if outside {
        awaits.iter().try_for_each(|id| draft.may_await(id, Some(&claim.id)))?;
    }
    // If an execution on a host, with or without a module, awaits an id below its own, it must have
    // created that promise. External workers may await any promise.
    let mut own = awaits.iter().filter(|id| !outside || is_next(id));
    if let Some(id) = own.find(|id| draft.is_taken(id, &claim.id)) {
        return Err(Refusal::IdTaken { id: id.clone() });
    }
    let batch = draft.append(&claim.id, records, logs)?;
    progressed(&mut task, batch, records);
    let unsent = next_signal.filter(|id| awaits.contains(id) && draft.promise(id).is_none());
    if let Some(next_signal) = unsent {
        draft.make_own(&task, &next_signal)?;
        task.children = true;
    }
    draft.forget_consumed(&claim.id);
    let settled: Vec<PromiseId> =
        awaits.iter().filter(|id| !draft.is_pending(id)).cloned().collect();
    let cancelled = task.cancel == CancelState::Requested;
    if !settled.is_empty() || cancelled {
        draft.put_task(task);
        return Ok(Reply::Ready { settled, cancelled });
    }
    awaits.iter().for_each(|awaited| draft.await_promise(awaited, &claim.id));
    let attempt = if outside { 0 } else { task.attempt };
    task.note.take_if(|note| note.kind.as_str() == LOST);
    draft.put_task(Task { state: TaskState::Suspended, attempt, losses: 0, ..task });
    Ok(Reply::Suspended)
}

pub(super) fn fulfill(
    draft: &mut DecisionDraft<'_>,
    claim: &Claim,
    records: &[Record],
    logs: &[LogLine],
    verdict: Verdict,
    value: &Value,
) -> Result<Reply, Refusal> {
    for_clients(verdict)?;
    draft.touch(&claim.id);
    if is_repeated(draft, claim, verdict, value) {
        return record(draft, &claim.id, false);
    }
    let mut task = draft.claimed(claim)?;
    if is_untold(&task, records) && records.iter().any(|record| record.body.is_other_event()) {
        return Ok(Reply::Ready { settled: Vec::new(), cancelled: true });
    }
    let settled_at = settled_at(draft.existing(&claim.id)?, draft.now);
    let batch = draft.append(&claim.id, records, logs)?;
    progressed(&mut task, batch, records);
    draft.put_task(task);
    let settlement = Settlement { verdict, value: Some(value.clone()), settled_at };
    draft.settle(&claim.id, settlement, Some(claim.version));
    record(draft, &claim.id, true)
}

pub(super) fn release(
    draft: &mut DecisionDraft<'_>,
    claim: &Claim,
    reason: &ReleaseReason,
) -> Result<Reply, Refusal> {
    draft.touch(&claim.id);
    let task = Task { losses: 0, ..draft.claimed(claim)? };
    let given_up = match reason {
        ReleaseReason::Yield | ReleaseReason::Shutdown => Some("its worker gave it back"),
        ReleaseReason::Failed { .. } => Some("its attempt failed without an outcome"),
        ReleaseReason::NoRoom { .. } | ReleaseReason::Halt { .. } => None,
    };
    if given_up.is_some_and(|reason| draft.ends_unknown(&claim.id, reason)) {
        return Ok(Reply::Done);
    }
    match reason {
        ReleaseReason::Yield | ReleaseReason::Shutdown => draft.given_back(task),
        ReleaseReason::NoRoom { wait } => draft.pend_until(task, Some(draft.now + *wait)),
        ReleaseReason::Failed { retry_after, error, trap } => {
            draft.failed(task, *retry_after, error, trap.as_ref());
        }
        ReleaseReason::Halt { report } => {
            draft.stop(task, HaltReason::Reported, Some(report.clone()))
        }
    }
    Ok(Reply::Done)
}

pub(super) fn halt(draft: &mut DecisionDraft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    let task = draft.existing_task(id)?.clone();
    match &task.state {
        TaskState::Fulfilled => return Err(wrong_state(&task).into()),
        TaskState::Halted { .. } => return Ok(Reply::Done),
        TaskState::Pending { .. } | TaskState::Acquired { .. } | TaskState::Suspended => {}
    }
    draft.interrupt(&task);
    draft.stop(task, HaltReason::Requested, None);
    Ok(Reply::Done)
}

/// Executes `TaskContinue`: offers a halted task again, with its failure counts cleared.
pub(super) fn resume(draft: &mut DecisionDraft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    let task = draft.halted_task(id)?;
    draft.offer_again(task);
    Ok(Reply::Done)
}

impl DecisionDraft<'_> {
    /// The task, which must be halted.
    pub(super) fn halted_task(&self, id: &PromiseId) -> Result<Task, Refusal> {
        let task = self.existing_task(id)?;
        match &task.state {
            TaskState::Halted { .. } => Ok(task.clone()),
            TaskState::Pending { .. }
            | TaskState::Acquired { .. }
            | TaskState::Suspended
            | TaskState::Fulfilled => Err(wrong_state(task).into()),
        }
    }

    /// Offers a task that was halted, with its failure counts and note cleared.
    pub(super) fn offer_again(&mut self, task: Task) {
        let id = task.id.clone();
        self.pend_until(Task { attempt: 0, losses: 0, traps: None, note: None, ..task }, None);
        self.execute(&id);
    }

    /// Creates a promise whose task is acquired by `request`. Returns false if the promise exists.
    pub(super) fn make_held(
        &mut self,
        new: &NewPromise,
        maker: PromiseCreator<'_>,
        request: &ClaimRequest,
    ) -> Result<bool, Refusal> {
        if tags::target(&new.tags).is_none() || tags::is_timer(&new.tags) {
            let message = format!(
                "`{}` has no task to acquire: it needs a target and must not be a timer",
                new.id
            );
            return Err(Refusal::BadRequest(message));
        }
        if self.promise(&new.id).is_some() {
            return Ok(false);
        }
        if request.holder.worker_pid().is_some() && tags::target(&new.tags).is_some_and(is_internal)
        {
            return Err(Conflict::Hosted(new.id.clone()).into());
        }
        self.make(new, maker, Some(request))?;
        Ok(true)
    }

    /// Refuses to let an external worker acquire a task that hosts execute.
    fn may_take(&self, id: &PromiseId, request: &ClaimRequest) -> Result<(), Refusal> {
        holder_fits(request)?;
        match request.holder.worker_pid() {
            Some(_) if !self.is_outside(id) => Err(Conflict::Hosted(id.clone()).into()),
            Some(_) | None => Ok(()),
        }
    }

    /// Lets a holder acquire a pending task.
    pub(super) fn take(
        &mut self,
        id: &PromiseId,
        request: &ClaimRequest,
        stall_limit: Option<Millis>,
    ) {
        if let Some(task) = self.task(id).cloned() {
            let acquired = self.held(task, request, stall_limit);
            self.put_task(acquired);
            self.withdraw(id);
            self.forget_consumed(id);
        }
    }

    /// Removes consumed callbacks: the run that begins, or the check of the awaited promises, sees
    /// settled promises itself.
    pub(super) fn forget_consumed(&mut self, awaiter: &PromiseId) {
        for (awaited, consumed) in self.callbacks_by(awaiter) {
            if consumed {
                self.put_callback(awaited, awaiter.clone(), None);
            }
        }
    }

    fn failed(
        &mut self,
        task: Task,
        retry_after: Option<Millis>,
        error: &Note,
        trap: Option<&TrapKey>,
    ) {
        let id = task.id.clone();
        let attempt = task.attempt.saturating_add(1);
        let traps = counted(task.traps.as_ref(), trap);
        let task = Task { attempt, traps, note: Some(error.clone()), ..task };
        if task.traps.as_ref().is_some_and(|traps| traps.count >= self.config.trap_limit) {
            return self.stop(task, HaltReason::Trapped, None);
        }
        if self.config.attempt_limit.is_some_and(|limit| attempt >= limit) {
            return match self.config.on_exhausted {
                ExhaustionPolicy::Halt => self.stop(task, HaltReason::Exhausted, None),
                ExhaustionPolicy::Reject => self.exhausted(task, error),
            };
        }
        // An activity with a stop request is not retried: offer it now, so that it is notified
        // without waiting for the back-off.
        let has_policy = retry_after.is_some();
        if has_policy && task.cancel == CancelState::Requested && self.head(&id).len == 0 {
            self.pend_until(task, None);
            return self.execute(&id);
        }
        // The policy of the call takes precedence over the host's back-off.
        let host_wait = || backoff(self.config.backoff, attempt, &id, task.version);
        let retry_at: Timestamp = self.now + retry_after.unwrap_or_else(host_wait);
        self.pend_until(task, Some(retry_at));
    }

    fn exhausted(&mut self, task: Task, error: &Note) {
        let (id, version) = (task.id.clone(), task.version);
        self.put_task(task);
        let settled_at =
            self.promise(&id).map_or(self.now, |promise| settled_at(promise, self.now));
        let value = Some(Value { headers: Tags::new(), data: error.details.clone() });
        self.settle(
            &id,
            Settlement { verdict: Verdict::Rejected, value, settled_at },
            Some(version),
        );
    }
}

fn counted(before: Option<&RepeatedTrap>, trap: Option<&TrapKey>) -> Option<RepeatedTrap> {
    let key = trap?;
    let before = before.filter(|traps| traps.key == *key).map_or(0, |traps| traps.count);
    Some(RepeatedTrap { key: key.clone(), count: before.saturating_add(1) })
}

/// True if this same claim settled the promise with this same outcome, in a command whose reply was
/// lost.
fn is_repeated(draft: &DecisionDraft<'_>, claim: &Claim, verdict: Verdict, value: &Value) -> bool {
    let by_this_claim =
        draft.task(&claim.id).is_some_and(|task| task.fulfilled_by == Some(claim.version));
    let settlement = draft.promise(&claim.id).and_then(Promise::settlement);
    by_this_claim
        && settlement
            .is_some_and(|stored| stored.verdict == verdict && stored.value.as_ref() == Some(value))
}

fn shown(draft: &DecisionDraft<'_>, id: &PromiseId, created: bool) -> Result<Reply, Refusal> {
    Ok(Reply::Task(Box::new(described(draft, id, created)?)))
}

pub(super) fn described(
    draft: &DecisionDraft<'_>,
    id: &PromiseId,
    created: bool,
) -> Result<TaskReply, Refusal> {
    let (task, promise) = (draft.existing_task(id)?.clone(), draft.existing(id)?.clone());
    let resumes = draft.callbacks_by(id).iter().filter(|(_, consumed)| *consumed).count() as u32;
    Ok(TaskReply { task, promise, head: draft.head(id), resumes, created })
}
