//! The state of an object, for handlers that are sent it along, and for those that ask.

use bytes::Bytes;
use segno_core::{id::ObjectId, value::Text};
use segno_restate::{immutable::NotificationResult, wire::StateEntry};
use segno_store::{Store, StoreError};

use crate::deployments::state_names;

/// The most bytes of state that are sent along: more is read when it is asked for.
const MOST_BYTES: u64 = 4 << 20;

/// All state of an object; none: there is too much of it.
pub async fn all(
    store: &dyn Store,
    object: &ObjectId,
) -> Result<Option<Vec<StateEntry>>, StoreError> {
    // One read: a shared handler is sent what was there at one instant, whoever writes meanwhile.
    let whole = store.read().object_whole(object, MOST_BYTES).await?;
    let entry = |(name, value): (Text, segno_core::value::Payload)| StateEntry {
        key: state_names::key(&name),
        value: Bytes::copy_from_slice(value.as_bytes()),
    };
    Ok(whole.map(|values| values.into_iter().map(entry).collect()))
}

/// The value of a name, as a read of it is told.
pub async fn value(
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

/// The names, as a read of them is told.
pub async fn names(store: &dyn Store, object: &ObjectId) -> Result<NotificationResult, StoreError> {
    let sizes = store.read().object_names(object).await?;
    let keys = sizes.iter().map(|size| state_names::key(&size.name));
    Ok(NotificationResult::StateKeys(keys.collect()))
}
