//! The check of a page of executions.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    id::{Digest, PromiseId},
    limit::{AdmissionRule, LimitPositionState, PartitionId},
    promise::{Promise, TaskStatus},
    tags,
    time::Timestamp,
};
use segno_store::{InvocationRow, PromiseRow, Store, StoreError};

use super::{
    StuckExecution, StuckReason,
    deadlock::{self, waits_for_others},
    reason::UNSETTLED,
};

/// The states in which an execution may be stuck, in scan order.
pub const STATES: [&str; 3] = ["halted", "pending", "suspended"];
/// Maximum number of awaited promises that are read per execution. An execution at this limit is
/// not reported, since an unread promise may resume it.
const AWAITS: u32 = 16;
/// Maximum number of executions of a page that are checked for deadlocks.
const CIRCLES: usize = 50;

/// The reason for each of these executions why it cannot continue by itself. `None` if it can.
///
/// # Errors
/// The store did not answer.
pub async fn look(
    store: &dyn Store,
    rows: &[InvocationRow],
    now: Timestamp,
) -> Result<Vec<Option<StuckExecution>>, StoreError> {
    let stored = stored_modules(store, rows).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let why = match row.task.module {
            Some(module) if !stored.contains(&module) => {
                Some(format!("the module {module} is not stored"))
            }
            None if row.promise.target().is_some_and(names_a_module) => {
                Some("the module with which it began is not stored".to_owned())
            }
            _ => None,
        };
        found.push(match why {
            Some(why) => Some(StuckExecution::new(StuckReason::ModuleMissing, why)),
            None => StuckExecution::by_row(&row.promise, &row.task, now),
        });
    }
    suspended(store, rows, &mut found, now).await?;
    Ok(found)
}

/// True if a target refers to a module. Executions of such a target need that module.
pub fn names_a_module(target: &str) -> bool {
    target.starts_with("wasm://")
}

/// The modules of these executions that are stored.
async fn stored_modules(
    store: &dyn Store,
    rows: &[InvocationRow],
) -> Result<BTreeSet<Digest>, StoreError> {
    if rows.iter().all(|row| row.task.module.is_none()) {
        return Ok(BTreeSet::new());
    }
    Ok(store.modules().list().await?.into_iter().map(|module| module.digest).collect())
}

/// Adds the findings that follow from the promises that suspended executions wait for.
async fn suspended(
    store: &dyn Store,
    rows: &[InvocationRow],
    found: &mut [Option<StuckExecution>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let places: Vec<usize> = (0..rows.len())
        .filter(|place| found[*place].is_none())
        .filter(|place| rows[*place].task.status() == TaskStatus::Suspended)
        .collect();
    let ids: Vec<PromiseId> =
        places.iter().map(|place| rows[*place].promise.id().clone()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let neighbours = store.call_tree().neighbours(&ids, 0, AWAITS).await?;
    let awaits: Vec<Vec<PromiseId>> = neighbours
        .into_iter()
        .map(|found| found.map(|found| found.awaits).unwrap_or_default())
        .collect();
    let all: BTreeSet<&PromiseId> = awaits.iter().flatten().collect();
    let all: Vec<PromiseId> = all.into_iter().cloned().collect();
    let awaited: BTreeMap<PromiseId, PromiseRow> =
        store.read().promises(&all).await?.into_iter().flatten().map(by_id).collect();
    let mut circles = 0;
    for (place, awaits) in places.into_iter().zip(awaits) {
        let promise = &rows[place].promise;
        let waits: Vec<&PromiseRow> = awaits.iter().filter_map(|id| awaited.get(id)).collect();
        if awaits.len() >= AWAITS as usize {
            continue;
        }
        if waits.is_empty() {
            found[place] = closed_limit(store, promise).await?;
        } else if waits.iter().all(|row| waits_for_others(row)) {
            circles += 1;
            if circles <= CIRCLES {
                found[place] = deadlock(store, promise.id()).await?;
            }
        } else if promise.spec.created_at + UNSETTLED <= now
            && waits.iter().all(|row| is_ownerless(promise, row, now))
        {
            let why = format!(
                "waits for the promise `{}`, which has no owner and no deadline, since {}",
                waits[0].promise.id(),
                waits[0].promise.spec.created_at.in_utc()
            );
            found[place] = Some(StuckExecution::new(StuckReason::Unsettled, why));
        }
    }
    Ok(())
}

fn by_id(row: PromiseRow) -> (PromiseId, PromiseRow) {
    (row.promise.id().clone(), row)
}

/// True if a promise has no known party that settles it, and has been pending for a long time. A
/// signal may arrive at any time, so it does not count.
fn is_ownerless(waiter: &Promise, row: &PromiseRow, now: Timestamp) -> bool {
    let promise = &row.promise;
    let is_signal = promise
        .id()
        .as_str()
        .strip_prefix(waiter.id().as_str())
        .is_some_and(|rest| rest.starts_with("/s/"));
    row.task.is_none()
        && !promise.is_timer()
        && !is_signal
        && promise.spec.timeout_at == Timestamp::NEVER
        && promise.spec.created_at + UNSETTLED <= now
}

async fn deadlock(store: &dyn Store, id: &PromiseId) -> Result<Option<StuckExecution>, StoreError> {
    let circle = deadlock::circle(store, id).await?;
    let Some(first) = circle.first() else { return Ok(None) };
    let names: Vec<&str> = circle.iter().map(PromiseId::as_str).collect();
    let why = format!("waits for itself: {} → {first}; end one of them", names.join(" → "));
    Ok(Some(StuckExecution::new(StuckReason::Deadlocked, why)))
}

/// Finds out if an execution waits behind a limit that admits none.
async fn closed_limit(
    store: &dyn Store,
    promise: &Promise,
) -> Result<Option<StuckExecution>, StoreError> {
    let Some((partition, _)) = tags::limit(&promise.spec.tags) else { return Ok(None) };
    let place = store.read().place(promise.id(), 0).await?;
    if place.is_none_or(|(place, _)| place.state != LimitPositionState::Waiting) {
        return Ok(None);
    }
    let limit = store.read().limit(&partition.limit()).await?.unwrap_or_default();
    let Some(rule) = limit.rule() else { return Ok(None) };
    Ok(closed(rule, &partition))
}

fn closed(rule: &AdmissionRule, partition: &PartitionId) -> Option<StuckExecution> {
    let is_closed = |bounds: segno_core::limit::AdmissionBounds| {
        bounds.concurrency == Some(0) || bounds.rate.is_some_and(|rate| rate.count == 0)
    };
    let name = partition.limit();
    let key = Some(partition.key()).filter(|key| !key.is_empty());
    let why = match (is_closed(rule.total), is_closed(rule.of_key()), key) {
        (true, ..) => format!("the limit `{name}` admits no execution"),
        (false, true, None) => format!("the limit `{name}` admits no execution"),
        (false, true, Some(key)) => {
            format!("the limit `{name}` admits no execution with the key `{key}`")
        }
        (false, false, _) => return None,
    };
    Some(StuckExecution::new(
        StuckReason::LimitClosed,
        format!("{why}: `segno limit set` opens it"),
    ))
}
