//! Reads of limits from the model.

use segno_core::{
    id::PromiseId,
    limit::{LimitName, LimitPosition, LimitPositionState, Partition, PartitionId},
    promise::TaskStatus,
};

use super::kept::MemoryContent;
use crate::{AdmittedFilter, LimitFilter, LimitRow, Page, PartitionFilter, limits};

pub(super) fn page(kept: &MemoryContent, filter: &LimitFilter) -> Page<LimitRow, LimitName> {
    let limit = limits::page_limit(filter.limit) as usize;
    let after = |name: &LimitName| filter.after.as_ref().is_none_or(|after| name > after);
    let rows = kept.model.limits().filter(|(name, _)| after(name));
    let row = |(name, limit): (&LimitName, &_)| LimitRow {
        name: name.clone(),
        limit: Clone::clone(limit),
    };
    Page::of_limits(rows.map(row).take(limit + 1).collect(), limit)
}

pub(super) fn keys(
    kept: &MemoryContent,
    filter: &PartitionFilter,
) -> Page<(PartitionId, Partition), PartitionId> {
    let limit = limits::page_limit(filter.limit) as usize;
    let rows = kept.model.partitions_of(&filter.name, filter.after.as_ref());
    let rows = rows.map(|(id, row)| (id.clone(), row.clone())).take(limit + 1);
    Page::of_partitions(rows.collect(), limit)
}

pub(super) fn place(
    kept: &MemoryContent,
    id: &PromiseId,
    most: u32,
) -> Option<(LimitPosition, u64)> {
    let place = kept.model.place(id)?;
    Some((place.clone(), ahead_of(kept, place, most)))
}

pub(super) fn ahead_of(kept: &MemoryContent, place: &LimitPosition, most: u32) -> u64 {
    let waiting = kept.model.waiting(&place.partition, place.priority);
    let seq = |id: &&PromiseId| kept.model.place(id).is_some_and(|other| other.seq < place.seq);
    waiting.into_iter().filter(seq).take(most as usize).count() as u64
}

pub(super) fn admitted(
    kept: &MemoryContent,
    filter: &AdmittedFilter,
) -> Vec<(PromiseId, LimitPosition)> {
    let (first, last) = filter.bounds();
    let is_here = |place: &LimitPosition| {
        let partition = place.partition.as_str();
        place.state == LimitPositionState::Admitted && *first <= *partition && *partition <= *last
    };
    let found = kept.model.places().filter(|(_, place)| is_here(place));
    let mut found: Vec<_> = found.map(|(id, place)| (id.clone(), place.clone())).collect();
    found.sort_by_key(|(id, place)| {
        let halted = kept.model.task(id).is_some_and(|task| task.status() == TaskStatus::Halted);
        (!halted, place.seq)
    });
    found.truncate(limits::page_limit(filter.limit) as usize);
    found
}
