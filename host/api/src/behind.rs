//! The limit that an execution is behind, and why it waits there.

use segno_core::{
    limit::{PartitionId, PlaceState},
    promise::Promise,
    tags,
    time::Timestamp,
};
use segno_store::{Store, StoreError};

use super::{
    limits::{debounced_until, tokens},
    model::{BehindLimit, LimitWait},
};

/// How many of those before an execution are counted.
const COUNTED: u32 = 1_000;

/// The limit that an execution is behind, if there is one.
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
    let before = place.filter(|(place, _)| place.state == PlaceState::Waiting);
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
    })
}
