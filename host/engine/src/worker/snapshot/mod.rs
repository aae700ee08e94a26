//! Snapshots: a workflow with a long journal continues from the saved memory of an instance at some
//! record, and only the later records are replayed.
//!
//! A snapshot is made in the background for a suspended workflow, from its journal and never from
//! the instance that runs it. It is verified before it is kept ([`make`]), compared with the
//! journal before it is used ([`restore`]), and discarded at the first doubt, since the journal has
//! all its information.

mod kept;
mod make;
mod maker;
mod restore;
mod resumed;

use std::sync::{Arc, atomic::Ordering};

use segno_core::id::{Digest, PromiseId};
use segno_guest::{SnapshotFiles, SnapshotKey};

use self::make::SnapshotRefusal;
pub(super) use self::{
    maker::{SnapshotMaker, SuspendedWorkflow},
    restore::restored,
    resumed::ResumedInstance,
};
use super::context::WorkerContext;
use crate::metrics::SnapshotEvent;

/// Makes a snapshot of this workflow, if one is due and no other is being made.
pub(super) fn consider(worker: &Arc<WorkerContext>, suspended: SuspendedWorkflow<'_>) {
    let Some(files) = worker.host.guests.snapshots() else { return };
    let snapshots = &worker.snapshots;
    if !snapshots.is_due(files, suspended) || snapshots.busy.swap(true, Ordering::AcqRel) {
        return;
    }
    let SuspendedWorkflow { id, module, len, .. } = suspended;
    let key = SnapshotKey { id: id.clone(), module };
    let (files, making) = (files.clone(), SnapshotGuard(worker.clone()));
    let work = async move {
        tokio::select! {
            biased;
            () = making.0.draining.cancelled() => {}
            () = keep(&making.0, files, key, len) => {}
        }
    };
    worker.host.env.runtime.spawn("snapshot", Box::pin(work));
}

/// Marks that a snapshot is being made, until dropped.
struct SnapshotGuard(Arc<WorkerContext>);

impl Drop for SnapshotGuard {
    fn drop(&mut self) {
        self.0.snapshots.busy.store(false, Ordering::Release);
    }
}

async fn keep(worker: &WorkerContext, files: Arc<SnapshotFiles>, key: SnapshotKey, len: u32) {
    let snapshots = &worker.snapshots;
    snapshots.note(&key.id, len);
    let (id, module) = (&key.id, key.module);
    let event = match make::make(&worker.host, &key, len).await {
        Ok(kept) => {
            let (bytes, compressed) = (kept.change.bytes(), kept.encode());
            let stored = tokio::task::spawn_blocking(move || files.store(&key, &compressed)).await;
            match stored {
                Ok(Ok(())) => {
                    tracing::debug!(target: "segno::snapshots", records = len, bytes, "made");
                    SnapshotEvent::Made
                }
                Ok(Err(error)) => return tracing::warn!("a snapshot cannot be written: {error}"),
                Err(_) => return,
            }
        }
        Err(SnapshotRefusal::Unequal(what)) => {
            tracing::error!(
                %id, %module,
                "a snapshot of this execution differs from its journal: {what}. The host discards it, and makes no more of this module; executions are replayed from their journals. Please report this"
            );
            snapshots.refused().insert(module);
            SnapshotEvent::Unequal
        }
        Err(SnapshotRefusal::Inaccessible(error)) => {
            tracing::info!(%module, "long executions are replayed as a whole, without snapshots: {error}");
            snapshots.refused().insert(module);
            SnapshotEvent::Refused
        }
        Err(SnapshotRefusal::NotNow(why)) => {
            return tracing::debug!(target: "segno::snapshots", %id, %why, "not made");
        }
    };
    worker.host.metrics.worker.snapshot(event);
}

/// Discards the snapshot of an execution whose guest failed after it had continued from it. The
/// next attempt replays the whole journal.
pub(super) fn suspect(worker: &WorkerContext, id: &PromiseId, module: Digest) {
    tracing::debug!(target: "segno::snapshots", %id, "thrown away: the guest failed");
    worker.host.metrics.worker.snapshot(SnapshotEvent::Discarded);
    forget(worker, id, module);
}

/// Removes the snapshot of an execution that has ended.
pub(super) fn forget(worker: &WorkerContext, id: &PromiseId, module: Digest) {
    let known = worker.snapshots.last().remove(id).is_some();
    if let Some(files) = worker.host.guests.snapshots()
        && known
    {
        files.remove(&SnapshotKey { id: id.clone(), module });
    }
}
