//! The state of an object, both for handlers that receive all of it at their start, and for reads.

use bytes::Bytes;
use segno_core::{id::ObjectId, value::Text};
use segno_restate::{immutable::NotificationResult, wire::StateEntry};
use segno_store::{Store, StoreError};

use crate::deployments::state_names;

/// Maximum size in bytes of state that is sent at the start of an attempt. Larger state is read on
/// demand.
const MOST_BYTES: u64 = 4 << 20;

/// All state of an object. `None` if it exceeds the limit.
pub(super) async fn all(
    store: &dyn Store,
    object: &ObjectId,
) -> Result<Option<Vec<StateEntry>>, StoreError> {
    // One read, so that a shared handler receives a consistent state despite concurrent writes.
    let whole = store.read().object_whole(object, MOST_BYTES).await?;
    let entry = |(name, value): (Text, segno_core::value::Payload)| StateEntry {
        key: state_names::key(&name),
        value: Bytes::copy_from_slice(value.as_bytes()),
    };
    Ok(whole.map(|values| values.into_iter().map(entry).collect()))
}

/// The value of a name, in the form of a read's result.
pub(super) async fn value(
    store: &dyn Store,
    object: &ObjectId,
    name: &Text,
) -> Result<NotificationResult, StoreError> {
    let mut values = store.read().object_state(object, std::slice::from_ref(name)).await?;
    Ok(match values.remove(name) {
        Some(value) => NotificationResult::Value(Bytes::copy_from_slice(value.as_bytes())),
        None => NotificationResult::Void,
    })
}

/// The names, in the form of a read's result.
pub(super) async fn names(
    store: &dyn Store,
    object: &ObjectId,
) -> Result<NotificationResult, StoreError> {
    let sizes = store.read().object_names(object).await?;
    let keys = sizes.iter().map(|size| state_names::key(&size.name));
    Ok(NotificationResult::StateKeys(keys.collect()))
}
