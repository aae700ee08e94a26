//! One heartbeat for all claims of this host, apart from their executions: a long replay never loses its lease.

use std::sync::Arc;

use segno_core::{
    command::Command,
    reply::{Beat, Reply},
    time::Millis,
};

use super::shared::Shared;

/// Beats until the worker has stopped.
pub async fn run(shared: Arc<Shared>, stopped: tokio_util::sync::CancellationToken) {
    let period = Millis((shared.host.config.ttl.0.0 / 2).max(1));
    loop {
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            () = shared.host.surroundings.runtime.sleep(period) => {}
        }
        beat(&shared).await;
    }
}

async fn beat(shared: &Shared) {
    let items = shared.claims.beat();
    if items.is_empty() {
        return;
    }
    let claims: Vec<_> = items.iter().map(|item| item.claim.clone()).collect();
    let heartbeat = Command::TaskHeartbeat { holder: shared.holder.clone(), items };
    // One immediate repetition, inside the margin; after that the next beat.
    for _ in 0..2 {
        match shared.host.store.execute(vec![heartbeat.clone()]).await {
            Ok(replies) => {
                if let Some(Reply::Heartbeat(beats)) = replies.into_iter().next() {
                    for (claim, beat) in claims.iter().zip(beats) {
                        match beat {
                            Beat::Extended { cancel: false, .. } => {}
                            Beat::Extended { cancel: true, .. } => {
                                shared.claims.request_cancel(&claim.id)
                            }
                            Beat::Stale | Beat::Stalled => {
                                tracing::warn!(invocation = %claim.id, version = claim.version.0, ?beat, "the claim has ended; its execution is dropped");
                                shared.claims.interrupt(claim);
                            }
                        }
                    }
                }
                return;
            }
            Err(error) => tracing::warn!(%error, "a heartbeat was not stored"),
        }
    }
}
