//! A round of admissions: when a limit is due, and when one of those that it counts has left.
//!
//! What a decision loads for a round is what it does with it: both follow from [`planned`], which
//! reckons with an instant that has passed. Whoever may be admitted then may be admitted now.

use std::collections::{BTreeMap, BTreeSet};

use super::super::draft::Draft;
use crate::{
    effect::Metric,
    id::PromiseId,
    limit::{LimitName, PartitionId, Pick, Place, PlaceState, Round, Standing, Sweep, plan},
    promise::{Promise, TaskState},
    tags,
    time::Timestamp,
    view::{NextPartitions, View},
};

/// How many are admitted at most when a limit is due, and how many partitions are looked at.
pub(crate) const ROUND: u32 = 64;
/// The same when one leaves: mostly another takes its place.
pub(crate) const LEAVE_ROUND: u32 = 4;
/// How many partitions are looked at again at a time, after the rule changed.
pub(crate) const SWEEP: u32 = 64;

/// Why a round begins.
pub(crate) struct Leaving {
    /// An instant that has passed.
    at: Timestamp,
    /// How many are admitted at most.
    pub(crate) most: u32,
    /// Who is counted no more: of which key, in which lane, and whether as admitted.
    pub(crate) left: Option<(PartitionId, u8, bool)>,
}

impl Leaving {
    /// Its time has come.
    pub(crate) fn nobody(at: Timestamp) -> Self {
        Self { at, most: ROUND, left: None }
    }

    /// An execution has left since this instant.
    pub(crate) fn of(promise: Option<&Promise>, admitted: bool, at: Timestamp) -> Self {
        let limit = promise.and_then(|promise| tags::limit(&promise.spec.tags));
        let left = limit.map(|(partition, priority)| (partition, priority, admitted));
        Self { at, most: LEAVE_ROUND, left }
    }
}

/// A round that has begun.
struct Begun {
    round: Round,
    next: NextPartitions,
}

/// Who is admitted, as far as that is clear from the partitions of the view.
pub(crate) fn planned(view: &View, name: &LimitName, leaving: &Leaving) -> Vec<Pick> {
    let begun = begin(view, name, leaving, leaving.at);
    begun.map(|mut begun| plan(&mut begun.round, leaving.most as usize)).unwrap_or_default()
}

fn begin(view: &View, name: &LimitName, leaving: &Leaving, now: Timestamp) -> Option<Begun> {
    let limit = view.limit(name)?;
    let next = view.next_partitions(name, leaving.most);
    let swept: Vec<PartitionId> = match &limit.sweep {
        Some(sweep) => {
            let after = view.partitions_of(name, sweep.after.as_ref());
            after.take(SWEEP as usize).map(|(id, _)| id.clone()).collect()
        }
        None => Vec::new(),
    };
    let mut ids: BTreeSet<&PartitionId> =
        next.ready.iter().chain(&next.timed).chain(&swept).collect();
    ids.extend(leaving.left.iter().map(|(partition, ..)| partition));
    let row = |id: &PartitionId| Some((id.clone(), view.partition(id)?.clone()));
    let partitions = ids.into_iter().filter_map(row).collect();
    let mut round = Round::new(limit.clone(), partitions, now);
    if limit.sweep.is_some() {
        swept.iter().for_each(|id| round.look(id));
        let after = swept.last().filter(|_| swept.len() == SWEEP as usize);
        round.limit.sweep = after.map(|after| Sweep { after: Some(after.clone()) });
    }
    if let Some((partition, priority, admitted)) = &leaving.left {
        round.leave(partition, *priority, *admitted);
    }
    Some(Begun { round, next })
}

impl Draft<'_> {
    /// Counts an execution no more, and admits who is next.
    pub(in super::super) fn left_limit(
        &mut self,
        id: &PromiseId,
        name: &LimitName,
        admitted: bool,
        at: Timestamp,
    ) {
        let leaving = Leaving::of(self.promise(id), admitted, at);
        self.admit(name, &leaving);
    }

    /// Admits who is next.
    pub(super) fn admit(&mut self, name: &LimitName, leaving: &Leaving) {
        let picks = planned(self.view, name, leaving);
        let Some(Begun { mut round, next }) = begin(self.view, name, leaving, self.now) else {
            return;
        };
        let mut lanes: BTreeMap<Pick, std::vec::IntoIter<PromiseId>> = BTreeMap::new();
        for pick in picks {
            let lane = lanes.entry(pick.clone()).or_insert_with(|| {
                let waiting = self.view.waiting(&pick.partition, pick.priority).into_iter();
                waiting.cloned().collect::<Vec<_>>().into_iter()
            });
            match lane.next() {
                Some(id) => {
                    round.admit(&pick);
                    self.admitted(&id);
                }
                None => round.pass_over(&pick),
            }
        }
        let is_page = |ids: &[PartitionId]| ids.len() == leaving.most as usize;
        let waits = |id: &PartitionId| {
            let standing = round.partitions.get(id).map(|partition| partition.standing);
            matches!(standing, Some(Standing::At(at)) if at > self.now)
        };
        let beyond =
            is_page(&next.ready) || (is_page(&next.timed) && !next.timed.iter().any(waits));
        round.end(beyond);
        for (id, partition) in round.partitions {
            self.put_partition(&id, partition);
        }
        self.put_limit(name, round.limit);
    }

    /// An execution that waited may begin. One that is halted may when it goes on.
    fn admitted(&mut self, id: &PromiseId) {
        if let Some(place) = self.place(id).cloned() {
            self.put_place(id, Place { state: PlaceState::Admitted, ..place });
        }
        let woken = self.task(id).is_some_and(|task| task.state == TaskState::Suspended);
        self.count(Metric::Admitted { woken });
        if woken {
            self.pend(id);
            self.execute(id);
        }
    }
}
