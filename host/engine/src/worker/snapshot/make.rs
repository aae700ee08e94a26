//! Makes a snapshot, and verifies it before it is kept.
//!
//! ```text
//! the journal, 0 .. N records          replayed by one instance:      memory A
//! the journal, 0 .. M, half of them    replayed by another:           memory of a snapshot
//! the journal, M .. N                  replayed by a third from it:   memory B
//! ```
//! If A and B are equal to the last byte, an instance of this module continues from a snapshot as
//! from its own start. Then the snapshot of A is kept.

use segno_core::{id::PromiseId, invocation::Record};
use segno_guest::{GuestError, Memory, MemoryChange, SnapshotKey, Workflow};
use segno_store::{Store, StoreError};

use super::{
    kept::StoredSnapshot,
    resumed::{RestoreParameters, ResumedInstance},
};
use crate::{
    host::Host,
    worker::{
        ReplayError,
        commands::InvocationFacts,
        recording::RecorderPosition,
        replay::{ReplayFailure, ReplaySetup, StoredJournal},
    },
};

/// Maximum number of records read in one query in search of an event.
const PAGE: u32 = 512;

/// The reason why no snapshot was made.
#[derive(Debug)]
pub(super) enum SnapshotRefusal {
    /// The module keeps state where it cannot be read.
    Inaccessible(GuestError),
    /// An instance that continued from a snapshot differed from the replay. Contains the
    /// difference.
    Unequal(String),
    /// A snapshot is impossible at this point, or a read or replay failed.
    NotNow(String),
}

/// Makes a snapshot after the first `len` records of a journal.
///
/// # Errors
/// [`SnapshotRefusal`].
pub(super) async fn make(
    host: &Host,
    key: &SnapshotKey,
    len: u32,
) -> Result<StoredSnapshot, SnapshotRefusal> {
    let SnapshotKey { id, module } = key;
    let store = &*host.store;
    let mut new = host.guests.accessible(*module, None).await.map_err(inaccessible)?;
    let base = saved(&mut *new).await?;
    drop(new);

    let middle = event_after(store, id, len / 2, len).await?;
    let (half, identity) = repeated(host, key, middle, &base).await?;
    let (whole, _) = repeated(host, key, len, &base).await?;

    let awaited = whole.place.promises();
    let awaited =
        awaited.ok_or_else(|| SnapshotRefusal::NotNow(format!("it is busy at record {len}")))?;
    let rows = store.read().promises(&awaited).await?;
    if rows.iter().any(Option::is_none) {
        return Err(SnapshotRefusal::NotNow(
            "it waits for a promise that is not stored yet".into(),
        ));
    }
    let place = half.place;
    let (module, change) = (*module, &half.change);
    let resumption = RestoreParameters { host, module, identity, lines: None, place, change };
    let mut journal = StoredJournal::new(store, id, len);
    let mut resumed = match resumption.run(&mut journal, || {}).await {
        Ok(resumed) => resumed,
        Err(ReplayFailure::Guest(error)) if error.is_of_guest() => {
            return Err(SnapshotRefusal::Unequal(error.to_string()));
        }
        Err(ReplayFailure::Guest(error)) => return Err(SnapshotRefusal::NotNow(error.to_string())),
        Err(ReplayFailure::Unread(not_read)) => {
            return Err(ReplayError::unread(id, not_read).into());
        }
    };
    compare(&mut resumed, &whole, &base).await?;

    let last = record(store, id, len - 1).await?;
    let last = last.ok_or_else(|| SnapshotRefusal::NotNow("its journal is gone".into()))?;
    Ok(StoredSnapshot::new(last, whole.place, whole.change))
}

/// The position of an instance, and its memory as the difference from a new one.
struct ReplayedInstance {
    place: RecorderPosition,
    change: MemoryChange,
}

/// An instance that repeated the first `len` records.
async fn repeated(
    host: &Host,
    key: &SnapshotKey,
    len: u32,
    base: &Memory,
) -> Result<(ReplayedInstance, InvocationFacts), SnapshotRefusal> {
    let mut rehearsal = ReplaySetup::new(host, &key.id, Some(key.module), Some(len)).await?;
    let engine = rehearsal.engine_facts();
    let instance = host.guests.accessible(key.module, engine).await;
    rehearsal.instance = instance.map_err(inaccessible)?;
    rehearsal.run(|| {}).await.map_err(|stopped| match stopped {
        ReplayFailure::Unread(not_read) => ReplayError::unread(&key.id, not_read).into(),
        ReplayFailure::Guest(error) => SnapshotRefusal::NotNow(error.to_string()),
    })?;
    let identity = rehearsal.identity();
    let ReplaySetup { instance, recorder, outline, .. } = rehearsal;
    let mut stands = ResumedInstance { instance, recorder, outline, replayed: len };
    let place = stands.place();
    let place =
        place.ok_or_else(|| SnapshotRefusal::NotNow(format!("it is further than record {len}")))?;
    let change = saved(&mut *stands.instance).await?.since(base);
    Ok((ReplayedInstance { place, change }, identity))
}

async fn compare(
    resumed: &mut ResumedInstance,
    whole: &ReplayedInstance,
    base: &Memory,
) -> Result<(), SnapshotRefusal> {
    let differs = |what: &str| Err(SnapshotRefusal::Unequal(what.to_owned()));
    if resumed.place().as_ref() != Some(&whole.place) {
        return differs("it waits for something else");
    }
    if saved(&mut *resumed.instance).await?.since(base) != whole.change {
        return differs("its memory differs");
    }
    Ok(())
}

async fn saved(instance: &mut dyn Workflow) -> Result<Memory, SnapshotRefusal> {
    instance.save().await.map_err(inaccessible)
}

/// The reason why an instance cannot be created or read. A full pool is temporary, anything else is
/// permanent.
fn inaccessible(error: GuestError) -> SnapshotRefusal {
    match error {
        GuestError::Crowded { .. } => SnapshotRefusal::NotNow(error.to_string()),
        error => SnapshotRefusal::Inaccessible(error),
    }
}

/// The first position from `from` on at which the guest waited, so that an event comes next.
async fn event_after(
    store: &dyn Store,
    id: &PromiseId,
    from: u32,
    end: u32,
) -> Result<u32, SnapshotRefusal> {
    let mut from = from;
    while from < end {
        let page = store.read().journal(id, from, PAGE.min(end - from)).await?;
        let Some(last) = page.last() else { break };
        if let Some(event) = page.iter().find(|record| record.body.is_event()) {
            return Ok(event.seq);
        }
        from = last.seq + 1;
    }
    Err(SnapshotRefusal::NotNow("no event came in the second half of its journal".into()))
}

/// The record at this position.
pub(super) async fn record(
    store: &dyn Store,
    id: &PromiseId,
    at: u32,
) -> Result<Option<Record>, StoreError> {
    Ok(store.read().journal(id, at, 1).await?.pop())
}

impl From<StoreError> for SnapshotRefusal {
    fn from(error: StoreError) -> Self {
        Self::NotNow(error.to_string())
    }
}

impl From<ReplayError> for SnapshotRefusal {
    fn from(error: ReplayError) -> Self {
        Self::NotNow(error.to_string())
    }
}
