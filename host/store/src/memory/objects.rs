//! Objects, read from the model.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    id::ObjectId,
    value::{Payload, Text},
};

use super::kept::MemoryContent;
use crate::{ObjectFilter, ObjectRow, Page, StateSize, limits};

pub(super) fn state(
    kept: &MemoryContent,
    object: &ObjectId,
    names: &[Text],
) -> BTreeMap<Text, Payload> {
    let state = kept.model.state_of(object).filter(|(name, _)| names.contains(name));
    state.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub(super) fn whole(
    kept: &MemoryContent,
    object: &ObjectId,
    bytes_max: u64,
) -> Option<BTreeMap<Text, Payload>> {
    let state = kept.model.state_of(object);
    let state: BTreeMap<_, _> = state.map(|(name, value)| (name.clone(), value.clone())).collect();
    let bytes = state.iter().map(|(name, value)| name.len() + value.as_bytes().len());
    (bytes.sum::<usize>() as u64 <= bytes_max).then_some(state)
}

pub(super) fn sizes(kept: &MemoryContent, object: &ObjectId) -> Vec<StateSize> {
    let size = |(name, value): (&Text, &Payload)| StateSize {
        name: name.clone(),
        bytes: value.as_bytes().len() as u64,
    };
    kept.model.state_of(object).map(size).collect()
}

pub(super) fn page(kept: &MemoryContent, filter: &ObjectFilter) -> Page<ObjectRow, ObjectId> {
    let limit = limits::page_limit(filter.limit) as usize;
    let of_state = kept.model.states().map(|((object, _), _)| object);
    let all: BTreeSet<&ObjectId> =
        kept.model.lines().map(|(object, _)| object).chain(of_state).collect();
    let prefix = filter.prefix.as_deref().unwrap_or_default();
    let taken = all.into_iter().filter(|object| {
        object.as_str().starts_with(prefix)
            && filter.after.as_ref().is_none_or(|after| *object > after)
    });
    let row = |object: &ObjectId| {
        let sizes = sizes(kept, object);
        ObjectRow {
            object: object.clone(),
            line: kept.model.line(object).cloned(),
            names: sizes.len() as u64,
            bytes: sizes.iter().map(|size| size.bytes).sum(),
        }
    };
    Page::of_objects(taken.map(row).take(limit + 1).collect(), limit)
}
