//! Who is admitted next: the pure heart of a limit.
//!
//! A [`Round`] begins with a page of partitions, those whose turn is next, and serves them one by one.
//! What a decision has to load for it follows from the same round, so both see the same picks.

use std::collections::{BTreeMap, BTreeSet};

use super::{Limit, Partition, PartitionId, Room, Rule, Standing};
use crate::time::Timestamp;

/// Who is served.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pick {
    /// Of which key.
    pub partition: PartitionId,
    /// In which lane; the first who waits there.
    pub priority: u8,
}

/// A round of admissions.
#[derive(Debug)]
pub struct Round {
    /// The limit as it is after what was done.
    pub limit: Limit,
    /// The partitions as they are.
    pub partitions: BTreeMap<PartitionId, Partition>,
    rule: Rule,
    now: Timestamp,
    ready: BTreeSet<(u8, u64, PartitionId)>,
}

impl Round {
    /// Begins with these partitions, and looks at those whose time has come.
    pub fn new(limit: Limit, partitions: BTreeMap<PartitionId, Partition>, now: Timestamp) -> Self {
        let rule = limit.rule().cloned().unwrap_or_default();
        let mut round = Self { limit, partitions, rule, now, ready: BTreeSet::new() };
        for id in round.partitions.keys().cloned().collect::<Vec<_>>() {
            round.wake(&id);
        }
        round
    }

    /// Who is next; none: nobody may be admitted now.
    pub fn next(&self) -> Option<Pick> {
        if self.limit.room(&self.rule.total, self.now) != Room::Now {
            return None;
        }
        let (_, _, partition) = self.ready.first()?;
        let priority = self.partitions.get(partition)?.next(&self.rule)?;
        Some(Pick { partition: partition.clone(), priority })
    }

    /// Admits the pick.
    pub fn admit(&mut self, pick: &Pick) {
        let weight = self.rule.weight(pick.partition.key(), pick.priority);
        self.change(&pick.partition, |partition, limit, rule, now| {
            let turn = partition.serve(pick.priority, weight);
            partition.admit(rule, now);
            limit.waiting = limit.waiting.saturating_sub(1);
            limit.turn = limit.turn.max(turn);
            limit.admit(&rule.total, now);
        });
    }

    /// One that was admitted, or waited in this lane, has settled, and is not counted any more.
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

    /// Nobody of those that are counted is there: they have left, and messages are owed that say so.
    pub fn pass_over(&mut self, pick: &Pick) {
        if let Some(partition) = self.partitions.get_mut(&pick.partition) {
            remove(&mut self.ready, &pick.partition, partition);
            partition.standing = Standing::Rest;
        }
    }

    /// Looks at a partition anew.
    pub fn look(&mut self, id: &PartitionId) {
        self.change(id, |_, _, _, _| {});
    }

    /// Says when the limit is to be looked at next. `beyond`: there may be partitions that have
    /// their turn, or whose time has come, and that are not here.
    pub fn end(&mut self, beyond: bool) {
        let Self { limit, partitions, rule, now, ready } = self;
        let (limit, now) = (limit, *now);
        limit.due_at = None;
        let timed = partitions.values().filter_map(|partition| match partition.standing {
            Standing::At(at) => Some(at),
            Standing::Rest | Standing::Ready { .. } => None,
        });
        timed.min().into_iter().for_each(|at| limit.look_at(at.max(now)));
        if !ready.is_empty() || beyond {
            match limit.room(&rule.total, now) {
                Room::Now => limit.look_at(now),
                Room::At(at) => limit.look_at(at),
                // Who leaves looks at it.
                Room::Full => {}
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
            Standing::At(at) if at > *now => {}
            Standing::Rest => {}
            // The rule may have changed since it was looked at.
            Standing::At(_) | Standing::Ready { .. } => partition.stand(rule, limit, *now),
        }
        insert(ready, id, partition);
    }

    fn change(
        &mut self,
        id: &PartitionId,
        change: impl FnOnce(&mut Partition, &mut Limit, &Rule, Timestamp),
    ) {
        let Self { limit, partitions, rule, now, ready } = self;
        let Some(partition) = partitions.get_mut(id) else { return };
        remove(ready, id, partition);
        change(partition, limit, rule, *now);
        partition.stand(rule, limit, *now);
        insert(ready, id, partition);
    }
}

/// Who would be admitted of these partitions at this instant or later, at most `most`.
pub fn plan(round: &mut Round, most: usize) -> Vec<Pick> {
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
    if let Standing::Ready { class, turn } = partition.standing {
        ready.insert((class, turn, id.clone()));
    }
}

fn remove(ready: &mut BTreeSet<(u8, u64, PartitionId)>, id: &PartitionId, partition: &Partition) {
    if let Standing::Ready { class, turn } = partition.standing {
        ready.remove(&(class, turn, id.clone()));
    }
}
