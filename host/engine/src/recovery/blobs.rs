//! Removes blobs whose owner does not exist.
//!
//! When a root is removed, its blobs are as well. A sweep finds those that are left: the place did
//! not answer then, a host ended in between, or a blob was stored for an execution that never began.
//! It lists the owners, and removes those without an execution that have been quiet for a day.

use futures::StreamExt as _;
use segno_blobs::{BlobError, BlobStore};
use segno_core::{
    id::PromiseId,
    time::{Millis, Timestamp},
};
use segno_store::StoreError;

use super::next_turn::NextTurn;
use crate::{host::Host, metrics::BlobRemoval};

/// The delay between two sweeps.
pub const PERIOD: Millis = Millis(3_600_000);
/// The delay after a sweep that failed.
const FAILED: Millis = Millis(300_000);
/// Time for which the blobs of an execution that does not exist are kept, and unfinished uploads.
const QUIET: Millis = Millis(86_400_000);
/// Maximum number of owners that are removed concurrently.
pub const CONCURRENT: usize = 16;

/// One sweep.
pub(super) async fn turn(host: Host) -> Result<NextTurn, StoreError> {
    let Some(blobs) = host.blobs().cloned() else { return Ok(NextTurn::After(PERIOD)) };
    match sweep(&host, &blobs).await? {
        Ok(()) => Ok(NextTurn::After(PERIOD)),
        Err(error) => {
            host.metrics.blobs.failed();
            tracing::warn!(%error, "blobs without an owner were not removed; the host repeats it");
            Ok(NextTurn::After(FAILED))
        }
    }
}

async fn sweep(host: &Host, blobs: &BlobStore) -> Result<Result<(), BlobError>, StoreError> {
    let before = Timestamp(host.env.clock.now().0.saturating_sub(QUIET.0));
    match blobs.remove_uploads(before).await {
        Ok(count) => host.metrics.blobs.removed(BlobRemoval::Upload, count),
        Err(error) => return Ok(Err(error)),
    }
    let owners = match blobs.owners().await {
        Ok(owners) => owners,
        Err(error) => return Ok(Err(error)),
    };
    for found in owners.into_iter().filter(|found| found.newest < before) {
        if host.store.read().promise(&found.owner).await?.is_some() {
            continue;
        }
        // What was stored since then is for an execution that may begin.
        match blobs.remove_owner(&found.owner, found.newest).await {
            Ok(count) => {
                tracing::info!(owner = %found.owner, count, "blobs without an execution were removed");
                host.metrics.blobs.removed(BlobRemoval::Sweep, count);
            }
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(()))
}

/// Removes the blobs of roots that were removed, as far as they were stored at `until` or earlier: its
/// id may be in use again. What cannot be removed is left to the sweep.
pub async fn owners_removed(host: &Host, roots: Vec<(PromiseId, Timestamp)>) {
    let Some(blobs) = host.blobs() else { return };
    let removals = futures::stream::iter(roots).for_each_concurrent(CONCURRENT, |(root, until)| {
        async move {
            // A large tree may be removed in part, and its root stays to the last.
            if !matches!(host.store.read().promise(&root).await, Ok(None)) {
                return;
            }
            match blobs.remove_owner(&root, until).await {
                Ok(count) => host.metrics.blobs.removed(BlobRemoval::Owner, count),
                Err(error) => {
                    host.metrics.blobs.failed();
                    tracing::warn!(%root, %error, "the blobs of a removed execution are left to the sweep");
                }
            }
        }
    });
    removals.await;
}
