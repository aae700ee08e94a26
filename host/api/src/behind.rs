//! The limit that applies to an execution, and why the execution waits for it.

use segno_core::{
    id::PromiseId,
    limit::{LimitName, LimitPosition, LimitPositionState, PartitionId},
    promise::Promise,
    tags,
    time::Timestamp,
};
use segno_store::{AdmittedFilter, PromiseRow, Store, StoreError};

use super::{
    limits::{debounced_until, tokens},
    model::{BehindLimit, LimitHolder, LimitWait},
    view,
};

/// Maximum number of preceding executions that are counted.
const COUNTED: u32 = 1_000;
/// Maximum number of listed executions that occupy places.
pub(super) const HOLDERS: u32 = 10;

/// Returns the limit that applies to the execution; `None` if there is none.
pub(super) async fn limit(
    store: &dyn Store,
    promise: &Promise,
    now: Timestamp,
) -> Result<Option<BehindLimit>, StoreError> {
    let Some((partition, priority)) = tags::limit(&promise.spec.tags) else { return Ok(None) };
    let place = match promise.is_pending() {
        true => store.read().place(promise.id(), COUNTED + 1).await?,
        false => None,
    };
    let before = place.filter(|(place, _)| place.state == LimitPositionState::Waiting);
    let waits = match before {
        Some((_, before)) => Some(wait(store, &partition, before, now).await?),
        None => None,
    };
    Ok(Some(BehindLimit {
        limit: partition.limit().to_string(),
        key: Some(partition.key().to_owned()).filter(|key| !key.is_empty()),
        priority: Some(priority).filter(|priority| *priority > 0),
        waits,
    }))
}

async fn wait(
    store: &dyn Store,
    id: &PartitionId,
    before: u64,
    now: Timestamp,
) -> Result<LimitWait, StoreError> {
    let limit = store.read().limit(&id.limit()).await?.unwrap_or_default();
    let partition = store.read().partition(id).await?.unwrap_or_default();
    let rule = limit.rule().cloned().unwrap_or_default();
    let (_, next_token_at_ms) = tokens(rule.of_key(), partition.bucket, now);
    let (_, total_next_token_at_ms) = tokens(rule.total, limit.bucket, now);
    let is_full =
        |running: u64, most: Option<u32>| most.is_some_and(|most| running >= u64::from(most));
    let key = match is_full(partition.running, rule.of_key().concurrency) {
        true => Some(Some(id.clone())),
        false => is_full(limit.running, rule.total.concurrency).then_some(None),
    };
    let holders = match key {
        Some(key) => holders(store, &id.limit(), key, HOLDERS).await?,
        None => Vec::new(),
    };
    Ok(LimitWait {
        before: before.min(COUNTED.into()),
        before_more: before > COUNTED.into(),
        running: partition.running,
        concurrency: rule.of_key().concurrency,
        total_running: limit.running,
        total_concurrency: rule.total.concurrency,
        next_token_at_ms,
        total_next_token_at_ms,
        debounced_until_ms: debounced_until(&partition, now),
        holders: holders.into_iter().map(|(_, holder)| holder).collect(),
    })
}

/// Returns the executions admitted by a limit, for one key or for all: halted ones first.
pub(super) async fn holders(
    store: &dyn Store,
    limit: &LimitName,
    key: Option<PartitionId>,
    most: u32,
) -> Result<Vec<(PartitionId, LimitHolder)>, StoreError> {
    let filter = AdmittedFilter { name: limit.clone(), key, limit: most };
    let (ids, places): (Vec<PromiseId>, Vec<LimitPosition>) =
        store.read().admitted(&filter).await?.into_iter().unzip();
    let rows = store.read().promises(&ids).await?;
    let holders = rows.into_iter().zip(places).filter_map(|(row, place)| {
        let PromiseRow { promise, task } = row?;
        let state = view::state(&promise, &task?);
        // The execution may have settled since.
        let holder = LimitHolder { id: promise.id().to_string(), state };
        (!state.is_settled()).then_some((place.partition, holder))
    });
    Ok(holders.collect())
}
