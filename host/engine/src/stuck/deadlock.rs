//! Detection of deadlocks: invocations that wait for each other in a circle.
//!
//! A suspended invocation continues when *any* of the promises that it waits for settles. Therefore
//! it is deadlocked, until one of the invocations is ended by hand, if every promise that it waits
//! for belongs to a deadlocked invocation. Promises that people, timers or workers may still settle
//! break the circle.
//!
//! An invocation that waits behind a full limit continues when *any* of the admitted invocations
//! settles, so it counts as waiting for those.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    fork::born_with,
    id::PromiseId,
    limit::{LimitPositionState, PartitionId},
    promise::TaskStatus,
    tags,
};
use segno_store::{InvocationFilter, PromiseRow, Store, StoreError};

/// Maximum number of invocations that are read. A larger circle is not found.
const LOOKED_AT: usize = 500;
/// Maximum number of promises that one of them may wait for.
const AWAITS: u32 = 100;
/// Maximum number of suspended executions of a function among which admitted ones are searched.
const LISTED: u32 = 1_000;

/// The circle in which `of` is deadlocked, or that it waits for. Each entry waits for the next, and
/// the last one for the first. Empty if there is none.
///
/// # Errors
/// The store did not answer.
pub async fn circle(store: &dyn Store, of: &PromiseId) -> Result<Vec<PromiseId>, StoreError> {
    let mut waits: BTreeMap<PromiseId, Vec<PromiseId>> = BTreeMap::new();
    let mut free: BTreeSet<PromiseId> = BTreeSet::new();
    let mut next = vec![of.clone()];
    while !next.is_empty() {
        if waits.len() + next.len() > LOOKED_AT {
            return Ok(Vec::new());
        }
        let found = store.call_tree().neighbours(&next, 0, AWAITS).await?;
        let mut awaited = BTreeSet::new();
        for (id, found) in next.into_iter().zip(found) {
            let mut awaits = found.map(|found| found.awaits).unwrap_or_default();
            if awaits.is_empty() {
                awaits = admitted_before(store, &id).await?;
            }
            // At the limit, there may be an unread promise that can still settle.
            if awaits.len() >= AWAITS as usize {
                free.insert(id.clone());
            }
            awaited.extend(awaits.iter().cloned());
            waits.insert(id, awaits);
        }
        let unknown: Vec<PromiseId> =
            awaited.into_iter().filter(|id| !waits.contains_key(id)).collect();
        let rows = store.read().promises(&unknown).await?;
        next = Vec::new();
        for (id, row) in unknown.into_iter().zip(rows) {
            match row.is_some_and(|row| waits_for_others(&row)) {
                true => next.push(id),
                false => drop(free.insert(id)),
            }
        }
    }
    Ok(circle_in(&waits, free, of))
}

/// The admitted executions that fill the limit behind which this one waits. Empty if it does not
/// wait, if the limit has room, or if the admitted executions are not all known.
async fn admitted_before(store: &dyn Store, id: &PromiseId) -> Result<Vec<PromiseId>, StoreError> {
    let place = store.read().place(id, 0).await?;
    let Some((place, _)) = place.filter(|(place, _)| place.state == LimitPositionState::Waiting)
    else {
        return Ok(Vec::new());
    };
    let name = place.partition.limit();
    let limit = store.read().limit(&name).await?.unwrap_or_default();
    let key = store.read().partition(&place.partition).await?.unwrap_or_default();
    let rule = limit.rule().cloned().unwrap_or_default();
    let is_full = |most: Option<u32>, running| most.is_some_and(|most| running >= u64::from(most));
    let of_key = is_full(rule.of_key().concurrency, key.running);
    if !of_key && !is_full(rule.total.concurrency, limit.running) {
        return Ok(Vec::new());
    }
    let running = if of_key { key.running } else { limit.running };
    let takes_room = |other: &PartitionId| match of_key {
        true => *other == place.partition,
        false => other.limit() == name,
    };
    // The last part of a limit's name is the function, whatever the target.
    let function = name.as_str().rsplit('/').next().map(str::to_owned);
    let state = Some(TaskStatus::Suspended.to_string());
    let filter = InvocationFilter { function, state, limit: LISTED, ..InvocationFilter::default() };
    // An execution that was not admitted has no journal.
    let suspended = store.read().list(&filter).await?.items.into_iter().filter(|row| {
        let tags = &row.promise.spec.tags;
        row.journal_len > born_with(&row.promise)
            && tags::limit(tags).is_some_and(|(key, _)| takes_room(&key))
    });
    let found: Vec<PromiseId> = suspended.map(|row| row.promise.id().clone()).collect();
    Ok(if found.len() as u64 == running { found } else { Vec::new() })
}

/// True for an execution that waits for promises.
pub(super) fn waits_for_others(row: &PromiseRow) -> bool {
    let status = row.task.as_ref().map(|task| task.status());
    row.promise.is_pending() && status == Some(TaskStatus::Suspended)
}

/// The circle reachable from `of`, if everything that `of` waits for is deadlocked.
fn circle_in(
    waits: &BTreeMap<PromiseId, Vec<PromiseId>>,
    mut free: BTreeSet<PromiseId>,
    of: &PromiseId,
) -> Vec<PromiseId> {
    loop {
        let freed: Vec<&PromiseId> = waits
            .iter()
            .filter(|(id, awaits)| {
                !free.contains(*id)
                    && (awaits.is_empty() || awaits.iter().any(|id| free.contains(id)))
            })
            .map(|(id, _)| id)
            .collect();
        if freed.is_empty() {
            break;
        }
        free.extend(freed.into_iter().cloned());
    }
    if free.contains(of) {
        return Vec::new();
    }
    let mut path = vec![of];
    loop {
        let here = path[path.len() - 1];
        // Everything that a deadlocked invocation waits for is deadlocked, and it waits for
        // something.
        let Some(next) = waits.get(here).and_then(|awaits| awaits.first()) else {
            return Vec::new();
        };
        if let Some(begin) = path.iter().position(|id| *id == next) {
            return path[begin..].iter().map(|id| (*id).clone()).collect();
        }
        path.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(waits: &[(&str, &[&str])], free: &[&str], of: &str) -> Vec<String> {
        let ids = |ids: &[&str]| ids.iter().map(|id| PromiseId::from(*id)).collect::<Vec<_>>();
        let waits = waits.iter().map(|(id, awaits)| (PromiseId::from(*id), ids(awaits)));
        let free = ids(free).into_iter().collect();
        let found = circle_in(&waits.collect(), free, &PromiseId::from(of));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn who_waits_for_nothing_but_each_other_is_stuck() {
        let two: &[(&str, &[&str])] = &[("a", &["b"]), ("b", &["a"])];
        assert_eq!(circle(two, &[], "a"), ["a", "b"]);
        let behind: &[(&str, &[&str])] = &[("c", &["a"]), ("a", &["b"]), ("b", &["a"])];
        assert_eq!(circle(behind, &[], "c"), ["a", "b"], "what it waits for is the circle");
        assert_eq!(circle(&[("a", &["a"])], &[], "a"), ["a"]);
    }

    #[test]
    fn who_may_go_on_by_anything_else_is_not() {
        let two: &[(&str, &[&str])] = &[("a", &["b"]), ("b", &["a", "timer"])];
        assert_eq!(circle(two, &["timer"], "a"), [""; 0]);
        assert_eq!(circle(&[("a", &["b"]), ("b", &[])], &[], "a"), [""; 0]);
        assert_eq!(circle(&[("a", &["b"])], &["b"], "a"), [""; 0]);
    }
}
