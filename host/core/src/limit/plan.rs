//! Selection of the next execution to admit: the pure core of a limit.
//!
//! A [`AdmissionRound`] begins with a page of partitions, those with the next turns, and serves them one by
//! one. The rows that a decision has to load are determined by the same round, so both make the
//! same picks.

use std::collections::{BTreeMap, BTreeSet};

use super::{AdmissionCapacity, AdmissionRule, Limit, Partition, PartitionId, PartitionReadiness};
use crate::time::Timestamp;

/// An execution selected for admission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AdmissionPick {
    pub partition: PartitionId,
    /// Lane in the partition. The pick is its first waiting execution.
    pub priority: u8,
}

#[derive(Debug)]
pub struct AdmissionRound {
    /// The limit, with the changes so far.
    pub limit: Limit,
    /// The partitions, with the changes so far.
    pub partitions: BTreeMap<PartitionId, Partition>,
    rule: AdmissionRule,
    now: Timestamp,
    ready: BTreeSet<(u8, u64, PartitionId)>,
}

impl AdmissionRound {
    /// Begins a round with these partitions, and evaluates those that are due.
    pub fn new(limit: Limit, partitions: BTreeMap<PartitionId, Partition>, now: Timestamp) -> Self {
        let rule = limit.rule().cloned().unwrap_or_default();
        let mut round = Self { limit, partitions, rule, now, ready: BTreeSet::new() };
        for id in round.partitions.keys().cloned().collect::<Vec<_>>() {
            round.wake(&id);
        }
        round
    }

    /// The next pick. `None` if no execution may be admitted now.
    pub fn next(&self) -> Option<AdmissionPick> {
        if self.limit.room(&self.rule.total, self.now) != AdmissionCapacity::Now {
            return None;
        }
        let (_, _, partition) = self.ready.first()?;
        let priority = self.partitions.get(partition)?.next(&self.rule)?;
        Some(AdmissionPick { partition: partition.clone(), priority })
    }

    pub fn admit(&mut self, pick: &AdmissionPick) {
        let weight = self.rule.weight(pick.partition.key(), pick.priority);
        self.change(&pick.partition, |partition, limit, rule, now| {
            let turn = partition.serve(pick.priority, weight);
            partition.admit(rule, now);
            limit.waiting = limit.waiting.saturating_sub(1);
            limit.turn = limit.turn.max(turn);
            limit.admit(&rule.total, now);
        });
    }

    /// Removes a settled execution, which was admitted or waited in this lane, from the counts.
    pub fn leave(&mut self, id: &PartitionId, priority: u8, admitted: bool) {
        let of_limit = match admitted {
            true => &mut self.limit.running,
            false => &mut self.limit.waiting,
        };
        *of_limit = of_limit.saturating_sub(1);
        self.change(id, |partition, _, _, _| match admitted {
            true => partition.running = partition.running.saturating_sub(1),
            false => partition.leave(priority),
        });
    }

    /// Skips a lane whose counted executions have all left. Pending messages will remove them from
    /// the counts.
    pub fn pass_over(&mut self, pick: &AdmissionPick) {
        if let Some(partition) = self.partitions.get_mut(&pick.partition) {
            remove(&mut self.ready, &pick.partition, partition);
            partition.standing = PartitionReadiness::Rest;
        }
    }

    /// Evaluates a partition again.
    pub fn look(&mut self, id: &PartitionId) {
        self.change(id, |_, _, _, _| {});
    }

    /// Sets the next due time of the limit. `beyond` is true if partitions outside the round may be
    /// ready or due.
    pub fn end(&mut self, beyond: bool) {
        let Self { limit, partitions, rule, now, ready } = self;
        let (limit, now) = (limit, *now);
        limit.due_at = None;
        let timed = partitions.values().filter_map(|partition| match partition.standing {
            PartitionReadiness::At(at) => Some(at),
            PartitionReadiness::Rest | PartitionReadiness::Ready { .. } => None,
        });
        timed.min().into_iter().for_each(|at| limit.look_at(at.max(now)));
        if !ready.is_empty() || beyond {
            match limit.room(&rule.total, now) {
                AdmissionCapacity::Now => limit.look_at(now),
                AdmissionCapacity::At(at) => limit.look_at(at),
                // An execution that leaves triggers the evaluation.
                AdmissionCapacity::Full => {}
            }
        }
        if limit.sweep.is_some() {
            limit.look_at(now);
        }
    }

    fn wake(&mut self, id: &PartitionId) {
        let Self { limit, partitions, rule, now, ready } = self;
        let Some(partition) = partitions.get_mut(id) else { return };
        match partition.standing {
            PartitionReadiness::At(at) if at > *now => {}
            PartitionReadiness::Rest => {}
            // The rule may have changed since the last evaluation.
            PartitionReadiness::At(_) | PartitionReadiness::Ready { .. } => {
                partition.stand(rule, limit, *now)
            }
        }
        insert(ready, id, partition);
    }

    fn change(
        &mut self,
        id: &PartitionId,
        change: impl FnOnce(&mut Partition, &mut Limit, &AdmissionRule, Timestamp),
    ) {
        let Self { limit, partitions, rule, now, ready } = self;
        let Some(partition) = partitions.get_mut(id) else { return };
        remove(ready, id, partition);
        change(partition, limit, rule, *now);
        partition.stand(rule, limit, *now);
        insert(ready, id, partition);
    }
}

/// Admits up to `most` executions of these partitions, and returns the picks.
pub fn plan(round: &mut AdmissionRound, most: usize) -> Vec<AdmissionPick> {
    let mut picks = Vec::new();
    while picks.len() < most
        && let Some(pick) = round.next()
    {
        round.admit(&pick);
        picks.push(pick);
    }
    picks
}

fn insert(ready: &mut BTreeSet<(u8, u64, PartitionId)>, id: &PartitionId, partition: &Partition) {
    if let PartitionReadiness::Ready { class, turn } = partition.standing {
        ready.insert((class, turn, id.clone()));
    }
}

fn remove(ready: &mut BTreeSet<(u8, u64, PartitionId)>, id: &PartitionId, partition: &Partition) {
    if let PartitionReadiness::Ready { class, turn } = partition.standing {
        ready.remove(&(class, turn, id.clone()));
    }
}
