//! Restores an execution from its snapshot.

use segno_guest::SnapshotKey;
use segno_store::StoreError;

use super::{
    kept::StoredSnapshot,
    make::record,
    resumed::{RestoreParameters, ResumedInstance},
};
use crate::{
    metrics::SnapshotEvent,
    worker::{
        commands::InvocationFacts,
        context::WorkerContext,
        replay::{JournalReadError, ReplayFailure, StoredJournal},
    },
};

/// Restores the execution from its snapshot. Its journal has `len` records. `None` if no snapshot
/// fits. `told` is called after each replayed event.
///
/// # Errors
/// The store did not answer.
pub(crate) async fn restored(
    worker: &WorkerContext,
    identity: InvocationFacts,
    key: SnapshotKey,
    len: u32,
    told: impl Fn() + Send,
) -> Result<Option<ResumedInstance>, StoreError> {
    let guests = &worker.host.guests;
    let files = guests.snapshots().filter(|files| files.policy.records <= len).cloned();
    let Some(files) = files else { return Ok(None) };
    let loading = (files.clone(), key.clone());
    let loaded = tokio::task::spawn_blocking(move || loading.0.load(&loading.1)).await;
    let Ok(Some(bytes)) = loaded else { return Ok(None) };
    let why = match StoredSnapshot::decode(&bytes) {
        None => "another version of this program made it".to_owned(),
        Some(kept) if !fits(worker, &key, &kept, len).await? => {
            "its journal is another one now".to_owned()
        }
        Some(kept) => match resume(worker, identity, &key, len, kept, told).await {
            Ok(resumed) => {
                worker.host.metrics.worker.snapshot(SnapshotEvent::Restored);
                worker.snapshots.note(&key.id, len - resumed.replayed);
                return Ok(Some(resumed));
            }
            Err(ReplayFailure::Unread(JournalReadError::Store(error))) => return Err(error),
            Err(ReplayFailure::Unread(not_read)) => format!("{not_read:?}"),
            Err(ReplayFailure::Guest(error)) if error.is_of_guest() => error.to_string(),
            Err(ReplayFailure::Guest(error)) => {
                // A failure of the host says nothing about the snapshot.
                tracing::debug!(target: "segno::snapshots", id = %key.id, %error, "not used");
                return Ok(None);
            }
        },
    };
    tracing::warn!(id = %key.id, "its snapshot is thrown away, and its journal replayed: {why}");
    worker.host.metrics.worker.snapshot(SnapshotEvent::Discarded);
    let _ = tokio::task::spawn_blocking(move || files.remove(&key)).await;
    Ok(None)
}

/// True if the snapshot belongs to the beginning of this journal.
async fn fits(
    worker: &WorkerContext,
    key: &SnapshotKey,
    kept: &StoredSnapshot,
    len: u32,
) -> Result<bool, StoreError> {
    let store = &*worker.host.store;
    if kept.len() == 0 || kept.len() > len {
        return Ok(false);
    }
    let first = record(store, &key.id, 0).await?;
    let last = record(store, &key.id, kept.len() - 1).await?;
    Ok(first.as_ref() == kept.place.outline().started() && last.as_ref() == Some(&kept.last))
}

async fn resume(
    worker: &WorkerContext,
    identity: InvocationFacts,
    key: &SnapshotKey,
    len: u32,
    kept: StoredSnapshot,
    told: impl Fn() + Send,
) -> Result<ResumedInstance, ReplayFailure> {
    let store = &*worker.host.store;
    let lines = store.read().log_count(&key.id).await.map_err(JournalReadError::Store)?;
    let (host, module, lines) = (&worker.host, key.module, Some(lines));
    let StoredSnapshot { place, change, .. } = kept;
    let resumption = RestoreParameters { host, module, identity, lines, place, change: &change };
    let mut journal = StoredJournal::new(store, &key.id, len);
    resumption.run(&mut journal, told).await
}
