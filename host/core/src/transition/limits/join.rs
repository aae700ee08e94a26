//! Arrival of an execution at its limit: it is admitted, waits, or is settled without beginning.

use super::{
    super::{
        create::{PromiseCreator, settled_at},
        draft::DecisionDraft,
    },
    declared, limit_name,
};
use crate::{
    address::Address,
    command::ClaimRequest,
    id::{Digest, PromiseId},
    limit::{
        AdmissionCapacity, AdmissionRule, DebounceRule, Limit, LimitInputError, LimitPosition,
        LimitPositionState, Partition, PartitionId, PartitionReadiness, SingletonPolicy, key_of,
        priority_of,
    },
    promise::{CancelState, NewPromise, Promise, Settlement, Task, TaskState, Verdict},
    reply::{Refusal, Reply},
    time::Timestamp,
    value::Value,
};

/// The limit that applies to a new execution.
pub(in super::super) struct ApplicableLimit {
    pub partition: PartitionId,
    /// Priority, which determines the lane.
    pub priority: u8,
}

/// Result of an arrival at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinResult {
    /// The execution may begin, and is counted.
    Admitted,
    Waits,
    /// The execution was settled and does not begin.
    Settled,
}

impl DecisionDraft<'_> {
    /// The limit that applies to a new execution. `None` if it has none.
    ///
    /// # Errors
    /// [`Refusal::Unprocessable`]: its input lacks the value that the limit needs.
    pub(in super::super) fn limited(
        &self,
        new: &NewPromise,
        address: &Address,
        module: Option<&Digest>,
        maker: PromiseCreator<'_>,
    ) -> Result<Option<ApplicableLimit>, Refusal> {
        let caller = match maker {
            PromiseCreator::Invocation(task) => self.promise(&task.id).map(Promise::module_name),
            PromiseCreator::Client
            | PromiseCreator::Starter(_)
            | PromiseCreator::Fork { .. }
            | PromiseCreator::Schedule { .. } => None,
        };
        let Some(name) = limit_name(address, caller.as_deref()) else { return Ok(None) };
        let known = self.limit(&name).cloned();
        let limit = known.unwrap_or_else(|| declared(self.view, &name, module));
        let Some(rule) = limit.rule() else { return Ok(None) };
        let refused = |error: LimitInputError| Refusal::Unprocessable(error.to_string());
        let key = key_of(&name, rule, &new.param).map_err(refused)?;
        let priority = priority_of(&name, rule, &new.param).map_err(refused)?;
        Ok(Some(ApplicableLimit { partition: name.partition(&key), priority }))
    }

    /// Creates the task of a new execution behind a limit.
    pub(in super::super) fn make_limited(
        &mut self,
        id: &PromiseId,
        module: Option<Digest>,
        request: Option<&ClaimRequest>,
    ) {
        let born = self.view.first_version();
        self.put_task(Task::born(id.clone(), born, TaskState::Suspended, module));
        match self.join_limit(id) {
            JoinResult::Admitted => self.make_task(id, module, request),
            JoinResult::Waits | JoinResult::Settled => {}
        }
    }

    /// Checks that a pending task has its turn and was admitted. Returns `None` if it may run.
    /// Otherwise the task is parked, or settled if it must not begin, and the reply says so.
    pub(in super::super) fn may_run(&mut self, id: &PromiseId) -> Option<Reply> {
        if let Some(behind) = self.take_turn(id) {
            return Some(Reply::Parked { behind: Some(behind) });
        }
        self.limit_of(id)?;
        let joined = match self.place(id).map(|place| place.state) {
            Some(LimitPositionState::Admitted | LimitPositionState::Left) => JoinResult::Admitted,
            // It was halted while waiting, and was continued.
            Some(LimitPositionState::Waiting) => JoinResult::Waits,
            None | Some(LimitPositionState::Expected) if self.is_asked_to_stop(id) => {
                self.settle_unbegun(id, Verdict::Canceled, Value::default());
                JoinResult::Settled
            }
            None | Some(LimitPositionState::Expected) => self.join_limit(id),
        };
        match joined {
            JoinResult::Admitted => None,
            JoinResult::Settled => Some(Reply::Parked { behind: None }),
            JoinResult::Waits => {
                self.withdraw(id);
                self.forget_consumed(id);
                if let Some(task) = self.task(id).cloned() {
                    self.put_task(Task { state: TaskState::Suspended, ..task });
                }
                Some(Reply::Parked { behind: None })
            }
        }
    }

    /// Admits an execution, or makes it wait.
    fn join_limit(&mut self, id: &PromiseId) -> JoinResult {
        let Some((partition_id, priority)) = self.limit_of(id) else { return JoinResult::Admitted };
        let name = partition_id.limit();
        let module = self.task(id).and_then(|task| task.module);
        let known = self.limit(&name).cloned();
        let mut limit = known.unwrap_or_else(|| declared(self.view, &name, module.as_ref()));
        let rule = limit.rule().cloned().unwrap_or_default();
        let mut partition = self.partition(&partition_id).cloned().unwrap_or_default();
        if let Some(other) = self.other_of(&partition, &partition_id, id)
            && self.give_way(&rule, &other, id) == JoinResult::Settled
        {
            return JoinResult::Settled;
        }
        if rule.singleton.is_some() || rule.debounce.is_some() {
            partition.latest = Some(id.clone());
        }
        if let Some(debounce) = rule.debounce {
            hold_back(&mut partition, debounce, self.now);
        }
        let seq = limit.joined;
        limit.joined += 1;
        let joined = count(&mut limit, &mut partition, &rule, priority, self.now);
        let state = match joined {
            JoinResult::Admitted => LimitPositionState::Admitted,
            JoinResult::Waits | JoinResult::Settled => LimitPositionState::Waiting,
        };
        self.put_place(id, LimitPosition { partition: partition_id.clone(), priority, seq, state });
        self.put_partition(&partition_id, partition);
        self.put_limit(&name, limit);
        joined
    }

    /// Reserves a place for an execution that arrives at its limit later.
    pub(in super::super) fn expect_at_limit(&mut self, id: &PromiseId) {
        if let Some((partition, priority)) = self.limit_of(id) {
            let place =
                LimitPosition { partition, priority, seq: 0, state: LimitPositionState::Expected };
            self.put_place(id, place);
        }
    }

    /// The latest execution of the key, if it is another one and is pending.
    fn other_of(
        &mut self,
        partition: &Partition,
        partition_id: &PartitionId,
        id: &PromiseId,
    ) -> Option<PromiseId> {
        let latest = partition.latest.as_ref().filter(|latest| *latest != id)?;
        // The id may have been reused for another execution.
        self.limit_of(latest).filter(|(key, _)| key == partition_id)?;
        self.touch(latest);
        self.is_pending(latest).then(|| latest.clone())
    }

    /// Resolves the conflict with another execution of the key, for singletons and debounced keys.
    fn give_way(&mut self, rule: &AdmissionRule, other: &PromiseId, id: &PromiseId) -> JoinResult {
        match rule.singleton {
            Some(SingletonPolicy::Skip) => {
                let why = format!(
                    "`{id}` does not begin: `{other}` is under way, and its key has one at a time"
                );
                self.settle_unbegun(id, Verdict::Rejected, gave_way(&why, other));
                return JoinResult::Settled;
            }
            Some(SingletonPolicy::Replace) => self.ask_to_stop(other),
            None if rule.debounce.is_some() && self.waits_behind_limit(other) => {
                let why =
                    format!("`{other}` does not begin: `{id}` came after it, and takes its place");
                self.settle_unbegun(other, Verdict::Rejected, gave_way(&why, id));
            }
            None => {}
        }
        JoinResult::Waits
    }

    fn settle_unbegun(&mut self, id: &PromiseId, verdict: Verdict, value: Value) {
        let settled_at = self.promise(id).map_or(self.now, |promise| settled_at(promise, self.now));
        self.settle(id, Settlement { verdict, value: Some(value), settled_at }, None);
    }

    fn is_asked_to_stop(&self, id: &PromiseId) -> bool {
        self.task(id).is_some_and(|task| task.cancel != CancelState::None)
    }
}

/// Counts an execution: as admitted if there is capacity that no other execution is entitled to,
/// otherwise as waiting.
fn count(
    limit: &mut Limit,
    partition: &mut Partition,
    rule: &AdmissionRule,
    priority: u8,
    now: Timestamp,
) -> JoinResult {
    let has_room = limit.room(&rule.total, now) == AdmissionCapacity::Now
        && partition.room(rule, now) == AdmissionCapacity::Now;
    // Other executions may be entitled to the capacity already, and just not be notified yet.
    let is_free = limit.due_at.is_none_or(|due_at| due_at > now) && partition.waiting() == 0;
    let joined = if has_room && is_free {
        partition.admit(rule, now);
        limit.admit(&rule.total, now);
        JoinResult::Admitted
    } else {
        partition.join(priority, limit);
        limit.waiting += 1;
        JoinResult::Waits
    };
    partition.stand(rule, limit, now);
    match (partition.standing, limit.room(&rule.total, now)) {
        (PartitionReadiness::At(at), _)
        | (PartitionReadiness::Ready { .. }, AdmissionCapacity::At(at)) => limit.look_at(at),
        (PartitionReadiness::Ready { .. }, AdmissionCapacity::Now) => limit.look_at(now),
        // An admitted execution must settle first.
        (PartitionReadiness::Ready { .. }, AdmissionCapacity::Full)
        | (PartitionReadiness::Rest, _) => {}
    }
    joined
}

/// Extends the debounce: executions of the key wait until no other has arrived for some time.
fn hold_back(partition: &mut Partition, debounce: DebounceRule, now: Timestamp) {
    let since = *partition.debounced_since.get_or_insert(now);
    let quiet = now + debounce.period_ms;
    partition.not_before = debounce.longest_ms.map_or(quiet, |longest| quiet.min(since + longest));
}

/// Failure value of an execution that does not begin because of `other`, in the common format of
/// failures.
fn gave_way(why: &str, other: &PromiseId) -> Value {
    let failure = serde_json::json!({
        "__type": "error", "code": 409, "message": why, "details": { "other": other.as_str() }
    });
    Value::of(failure.to_string().into_bytes())
}
