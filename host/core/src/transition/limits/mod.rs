//! Limits: counting, waiting and admission of executions.
//!
//! All counts of a limit are in its row and in those of its partitions. Every command that changes
//! one of them names the limit, so stores that lock rows lock the limit first. A settlement does
//! not: it leaves a message, which later removes the execution from the counts and admits others.

mod admit;
mod join;
mod rule;

use super::draft::DecisionDraft;
use crate::{
    address::{Address, ModuleRef},
    effect::Effect,
    id::{Digest, PromiseId},
    limit::{Limit, LimitName, LimitPosition, LimitPositionState, Partition, PartitionId},
    promise::{OutboxKey, OutboxMessage, OutboxRow},
    tags,
    time::Timestamp,
    view::View,
};

pub(crate) use self::admit::{LEAVE_ROUND, ROUND, RoundTrigger, SWEEP, planned};
pub(super) use self::{
    join::ApplicableLimit,
    rule::{due, set},
};

/// Name of the limit of the function at this address. `caller` is the calling module, for addresses
/// that name none.
pub(crate) fn limit_name(address: &Address, caller: Option<&str>) -> Option<LimitName> {
    let Address::Wasm { module, function, .. } = address else { return None };
    let module = match module {
        ModuleRef::Alias(alias) => alias.to_string(),
        ModuleRef::Exact(digest) => format!("sha256:{digest}"),
        ModuleRef::Own => caller.filter(|name| !name.is_empty())?.to_owned(),
    };
    Some(LimitName::of(&module, function))
}

/// A limit without a row, with the rule that this module declares, or the module that the name's
/// alias refers to.
pub(crate) fn declared(view: &View, name: &LimitName, module: Option<&Digest>) -> Limit {
    let parts = name.parts();
    let named = parts.and_then(|(module, _)| view.alias(module));
    let facts = module.or(named.as_ref()).and_then(|module| view.module_facts(module));
    let rule = facts.zip(parts).and_then(|(facts, (_, function))| facts.limits.get(function));
    Limit { declared: rule.cloned(), ..Limit::default() }
}

impl DecisionDraft<'_> {
    pub(super) fn limit(&self, name: &LimitName) -> Option<&Limit> {
        match self.delta.limits.get(name) {
            Some(limit) => limit.as_ref(),
            None => self.view.limit(name),
        }
    }

    fn partition(&self, id: &PartitionId) -> Option<&Partition> {
        match self.delta.partitions.get(id) {
            Some(partition) => partition.as_ref(),
            None => self.view.partition(id),
        }
    }

    fn place(&self, id: &PromiseId) -> Option<&LimitPosition> {
        self.delta.places.get(id).or_else(|| self.view.place(id))
    }

    fn put_limit(&mut self, name: &LimitName, limit: Limit) {
        let is_kept = limit.rule().is_some() || !limit.is_idle(self.now);
        limit.due_at.filter(|_| is_kept).into_iter().for_each(|at| self.due(at));
        if !is_kept && self.limit(name).is_none() {
            return;
        }
        if self.limit(name) != Some(&limit) || !is_kept {
            self.delta.limits.insert(name.clone(), Some(limit).filter(|_| is_kept));
        }
    }

    fn put_partition(&mut self, id: &PartitionId, partition: Partition) {
        let kept = Some(partition).filter(|partition| !partition.is_idle(self.now));
        if self.partition(id) != kept.as_ref() {
            self.delta.partitions.insert(id.clone(), kept);
        }
    }

    fn put_place(&mut self, id: &PromiseId, place: LimitPosition) {
        self.delta.places.insert(id.clone(), place);
    }

    /// True if an execution waits for admission.
    pub(super) fn waits_behind_limit(&self, id: &PromiseId) -> bool {
        self.place(id).is_some_and(|place| place.state == LimitPositionState::Waiting)
    }

    /// If the execution is counted when it settles, puts a message in the outbox that removes it
    /// from the counts.
    pub(super) fn leave_limit(&mut self, id: &PromiseId) {
        if self.limit_of(id).is_none() {
            return;
        }
        let Some(place) = self.place(id).cloned() else { return };
        let admitted = match place.state {
            LimitPositionState::Admitted => Some(true),
            LimitPositionState::Waiting => Some(false),
            // It is not counted.
            LimitPositionState::Expected | LimitPositionState::Left => None,
        };
        let name = place.partition.limit();
        self.put_place(id, LimitPosition { state: LimitPositionState::Left, ..place });
        let Some(admitted) = admitted else { return };
        // Due immediately, even at a host whose clock is behind the store's: others wait for the
        // capacity.
        let message = OutboxMessage::LeaveLimit { admitted };
        let row = OutboxRow { next_at: Timestamp::default(), ..OutboxRow::new(message, self.now) };
        let key = OutboxKey::LeaveLimit(id.clone(), name);
        // Timers do not depend on it.
        self.effects.push(Effect::Outbox(key.clone()));
        self.delta.outbox.insert(key, Some(row));
    }

    /// Partition and priority behind the limit of an execution. `None` if it has no limit.
    fn limit_of(&self, id: &PromiseId) -> Option<(PartitionId, u8)> {
        self.promise(id).and_then(|promise| tags::limit(&promise.spec.tags))
    }
}
