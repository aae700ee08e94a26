//! Limits, their partitions, and the places of executions.

use super::View;
use crate::{
    delta::Delta,
    footprint::Footprint,
    id::PromiseId,
    limit::{
        Limit, LimitName, LimitPosition, LimitPositionState, Partition, PartitionId,
        PartitionReadiness,
    },
};

/// The partitions that a round of admissions begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextPartitions {
    /// Partitions with the next turns.
    pub ready: Vec<PartitionId>,
    /// Partitions with the next due times.
    pub timed: Vec<PartitionId>,
}

impl View {
    pub fn limit(&self, name: &LimitName) -> Option<&Limit> {
        self.limits.get(name)
    }

    pub fn partition(&self, id: &PartitionId) -> Option<&Partition> {
        self.lookups.places.partitions.get(id)
    }

    /// Place of an execution behind its limit.
    pub fn place(&self, id: &PromiseId) -> Option<&LimitPosition> {
        self.lookups.places.places.get(id)
    }

    pub fn limits(&self) -> impl Iterator<Item = (&LimitName, &Limit)> {
        self.limits.iter()
    }

    pub fn partitions(&self) -> impl Iterator<Item = (&PartitionId, &Partition)> {
        self.lookups.places.partitions.iter()
    }

    pub fn places(&self) -> impl Iterator<Item = (&PromiseId, &LimitPosition)> {
        self.lookups.places.places.iter()
    }

    /// The `most` partitions of a limit with the next turns, and the `most` with the next due
    /// times, in order.
    pub fn next_partitions(&self, name: &LimitName, most: u32) -> NextPartitions {
        let (mut ready, mut timed) = (Vec::new(), Vec::new());
        for (id, partition) in self.partitions_of(name, None) {
            match partition.standing {
                PartitionReadiness::Rest => {}
                PartitionReadiness::Ready { class, turn } => ready.push((class, turn, id)),
                PartitionReadiness::At(at) => timed.push((at, id)),
            }
        }
        ready.sort();
        timed.sort();
        NextPartitions {
            ready: ready.into_iter().take(most as usize).map(|(_, _, id)| id.clone()).collect(),
            timed: timed.into_iter().take(most as usize).map(|(_, id)| id.clone()).collect(),
        }
    }

    /// The partitions of a limit after this one, by id.
    pub fn partitions_of(
        &self,
        name: &LimitName,
        after: Option<&PartitionId>,
    ) -> impl Iterator<Item = (&PartitionId, &Partition)> {
        let first = name.partition("");
        let from = after.filter(|after| **after >= first).cloned();
        let rows = self.lookups.places.partitions.range(from.clone().unwrap_or(first)..);
        let of_limit = rows.take_while(|(id, _)| id.limit() == *name);
        of_limit.filter(move |(id, _)| from.as_ref() != Some(id))
    }

    /// The executions that wait in a lane, in order of arrival.
    pub fn waiting(&self, partition: &PartitionId, priority: u8) -> Vec<&PromiseId> {
        let in_lane = |place: &LimitPosition| {
            place.state == LimitPositionState::Waiting
                && place.priority == priority
                && place.partition == *partition
        };
        let mut found: Vec<_> = self.places().filter(|(_, place)| in_lane(place)).collect();
        found.sort_by_key(|(_, place)| place.seq);
        found.into_iter().map(|(id, _)| id).collect()
    }

    pub fn put_limit(&mut self, name: LimitName, limit: Limit) {
        self.limits.insert(name, limit);
    }

    pub fn put_partition(&mut self, id: PartitionId, partition: Partition) {
        self.lookups.places.partitions.insert(id, partition);
    }

    pub fn put_place(&mut self, id: PromiseId, place: LimitPosition) {
        self.lookups.places.places.insert(id, place);
    }

    pub(super) fn write_limits(&mut self, delta: &Delta) {
        for (name, limit) in &delta.limits {
            match limit {
                Some(limit) => drop(self.limits.insert(name.clone(), limit.clone())),
                None => drop(self.limits.remove(name)),
            }
        }
        self.lookups.places.write(delta);
    }

    /// Copies the wanted limits, partitions and places into another view.
    pub(crate) fn load_limits(&self, wanted: &Footprint, to: &mut View) {
        for name in &wanted.limits {
            let limit = self.limit(name);
            limit.into_iter().for_each(|limit| to.put_limit(name.clone(), limit.clone()));
        }
        let mut partitions: Vec<_> = wanted.partitions.iter().cloned().collect();
        for (name, most) in &wanted.rounds {
            let NextPartitions { ready, timed } = self.next_partitions(name, *most);
            partitions.extend(ready.into_iter().chain(timed));
        }
        for (name, page) in &wanted.sweeps {
            let swept = self.partitions_of(name, page.after.as_ref()).take(page.limit as usize);
            partitions.extend(swept.map(|(id, _)| id.clone()));
        }
        for id in partitions {
            let row = self.partition(&id);
            row.into_iter().for_each(|row| to.put_partition(id.clone(), row.clone()));
        }
        let lanes = wanted.lanes.iter().flat_map(|((partition, priority), most)| {
            self.waiting(partition, *priority).into_iter().take(*most as usize)
        });
        for id in lanes.chain(&wanted.places) {
            let place = self.place(id);
            place.into_iter().for_each(|place| to.put_place(id.clone(), place.clone()));
        }
    }
}
