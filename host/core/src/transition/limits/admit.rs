//! Rounds of admissions: when a limit is due, and when a counted execution has left.
//!
//! The rows that a decision loads for a round and the admissions it makes both follow from
//! [`planned`], which uses a past instant. An execution that could be admitted then can be admitted
//! now.

use std::collections::{BTreeMap, BTreeSet};

use super::super::draft::DecisionDraft;
use crate::{
    effect::Metric,
    id::PromiseId,
    limit::{
        AdmissionPick, AdmissionRound, LimitName, LimitPosition, LimitPositionState, PartitionId,
        PartitionReadiness, Sweep, plan,
    },
    promise::{Promise, TaskState},
    tags,
    time::Timestamp,
    view::{NextPartitions, View},
};

/// Maximum number of admissions, and of evaluated partitions, when a limit is due.
pub(crate) const ROUND: u32 = 64;
/// The same when an execution leaves: usually one other takes its place.
pub(crate) const LEAVE_ROUND: u32 = 4;
/// Number of partitions per step of a sweep after a rule change.
pub(crate) const SWEEP: u32 = 64;

/// Trigger of a round.
pub(crate) struct RoundTrigger {
    /// A past instant.
    at: Timestamp,
    /// Maximum number of admissions.
    pub(crate) most: u32,
    /// The execution that leaves the counts: its partition, its lane, and true if it was admitted.
    pub(crate) left: Option<(PartitionId, u8, bool)>,
}

impl RoundTrigger {
    /// The limit is due; no execution leaves.
    pub(crate) fn due(at: Timestamp) -> Self {
        Self { at, most: ROUND, left: None }
    }

    /// An execution has left since this instant.
    pub(crate) fn of(promise: Option<&Promise>, admitted: bool, at: Timestamp) -> Self {
        let limit = promise.and_then(|promise| tags::limit(&promise.spec.tags));
        let left = limit.map(|(partition, priority)| (partition, priority, admitted));
        Self { at, most: LEAVE_ROUND, left }
    }
}

/// A round in progress, with the loaded partitions.
struct LoadedRound {
    round: AdmissionRound,
    next: NextPartitions,
}

/// The admissions that follow from the partitions of the view.
pub(crate) fn planned(view: &View, name: &LimitName, leaving: &RoundTrigger) -> Vec<AdmissionPick> {
    let begun = begin(view, name, leaving, leaving.at);
    begun.map(|mut begun| plan(&mut begun.round, leaving.most as usize)).unwrap_or_default()
}

fn begin(
    view: &View,
    name: &LimitName,
    leaving: &RoundTrigger,
    now: Timestamp,
) -> Option<LoadedRound> {
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
    let mut round = AdmissionRound::new(limit.clone(), partitions, now);
    if limit.sweep.is_some() {
        swept.iter().for_each(|id| round.look(id));
        let after = swept.last().filter(|_| swept.len() == SWEEP as usize);
        round.limit.sweep = after.map(|after| Sweep { after: Some(after.clone()) });
    }
    if let Some((partition, priority, admitted)) = &leaving.left {
        round.leave(partition, *priority, *admitted);
    }
    Some(LoadedRound { round, next })
}

impl DecisionDraft<'_> {
    /// Removes an execution from the counts, and admits others.
    pub(in super::super) fn left_limit(
        &mut self,
        id: &PromiseId,
        name: &LimitName,
        admitted: bool,
        at: Timestamp,
    ) {
        let leaving = RoundTrigger::of(self.promise(id), admitted, at);
        self.admit(name, &leaving);
    }

    /// Runs a round of admissions.
    pub(super) fn admit(&mut self, name: &LimitName, leaving: &RoundTrigger) {
        let picks = planned(self.view, name, leaving);
        let Some(LoadedRound { mut round, next }) = begin(self.view, name, leaving, self.now)
        else {
            return;
        };
        let mut lanes: BTreeMap<AdmissionPick, std::vec::IntoIter<PromiseId>> = BTreeMap::new();
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
            matches!(standing, Some(PartitionReadiness::At(at)) if at > self.now)
        };
        let beyond =
            is_page(&next.ready) || (is_page(&next.timed) && !next.timed.iter().any(waits));
        round.end(beyond);
        for (id, partition) in round.partitions {
            self.put_partition(&id, partition);
        }
        self.put_limit(name, round.limit);
    }

    /// Admits a waiting execution. A halted one begins when it is continued.
    fn admitted(&mut self, id: &PromiseId) {
        if let Some(place) = self.place(id).cloned() {
            self.put_place(id, LimitPosition { state: LimitPositionState::Admitted, ..place });
        }
        let woken = self.task(id).is_some_and(|task| task.state == TaskState::Suspended);
        self.count(Metric::Admitted { woken });
        if woken {
            self.pend(id);
            self.execute(id);
        }
    }
}
