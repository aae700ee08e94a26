//! One heartbeat for all claims of this host, independent of their executions, so that a long
//! replay never loses its lease.

use std::sync::Arc;

use segno_core::{
    command::{Command, HeartbeatItem},
    id::PromiseId,
    reply::{Conflict, HeartbeatResult, Refusal, Reply},
    time::Millis,
};
use segno_env::BoxFuture;

use super::context::WorkerContext;
use crate::{
    resend::{OF_HEARTBEATS, SentCommands},
    slots::LeaseRenewer,
};

/// Number of heartbeats per lease duration.
const BEATS: i64 = 3;

/// Extends claims immediately, outside the regular heartbeats.
pub(super) struct ImmediateRenewer(pub Arc<WorkerContext>);

impl LeaseRenewer for ImmediateRenewer {
    fn renew(&self, ids: Vec<PromiseId>) -> BoxFuture<()> {
        let worker = self.0.clone();
        Box::pin(async move {
            if ids.iter().any(|id| worker.claims.holds(id)) {
                beat(&worker).await;
            }
        })
    }
}

/// Sends heartbeats until the worker has stopped.
pub(super) async fn run(worker: Arc<WorkerContext>, stopped: tokio_util::sync::CancellationToken) {
    // No lease is shorter than the initial ones. Two consecutive heartbeats may fail, including
    // their repetitions, before a lease ends.
    let (initial, least, _) = worker.host.config.ttl;
    let period = Millis((initial.max(least).0 / BEATS).max(1));
    let soon = Millis((period.0 / 4).max(1));
    let (mut wait, mut intended) = (period, worker.now() + period);
    loop {
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            () = worker.host.env.runtime.sleep(wait) => {}
        }
        match beat(&worker).await {
            HeartbeatStatus::Stored => worker.lease_ttl.observe(worker.now().since(intended)),
            HeartbeatStatus::NothingHeld => {}
            // The delay counts from the planned instant of the first failed heartbeat.
            HeartbeatStatus::NotStored => {
                wait = soon;
                continue;
            }
        }
        (wait, intended) = (period, worker.now() + period);
    }
}

/// The result of a heartbeat.
enum HeartbeatStatus {
    /// The store acknowledged the heartbeat.
    Stored,
    /// There was no claim to extend.
    NothingHeld,
    /// The store did not acknowledge the heartbeat.
    NotStored,
}

/// Extends all claims.
async fn beat(worker: &WorkerContext) -> HeartbeatStatus {
    let items = worker.claims.beat();
    if items.is_empty() {
        return HeartbeatStatus::NothingHeld;
    }
    let sent = items.clone();
    let heartbeat = Command::TaskHeartbeat { holder: worker.holder.clone(), items };
    match worker.host.send(vec![heartbeat], OF_HEARTBEATS).await {
        Ok(SentCommands { replies, .. }) => {
            match replies.into_iter().next() {
                Some(Reply::Heartbeat(beats)) => {
                    let answered = sent.iter().zip(&beats);
                    let answered = answered.filter(|(_, it)| **it != HeartbeatResult::Unanswered);
                    worker.claims.stored(answered.map(|(item, _)| item));
                    hear(worker, &sent, beats);
                }
                Some(Reply::Refused(refusal)) => refused(worker, &refusal),
                _ => {}
            }
            HeartbeatStatus::Stored
        }
        Err(error) => {
            tracing::warn!(%error, "a heartbeat was not stored");
            HeartbeatStatus::NotStored
        }
    }
}

fn hear(worker: &WorkerContext, items: &[HeartbeatItem], beats: Vec<HeartbeatResult>) {
    for (HeartbeatItem { claim, .. }, beat) in items.iter().zip(beats) {
        match beat {
            HeartbeatResult::Extended { cancel: false, .. } | HeartbeatResult::Unanswered => {}
            HeartbeatResult::Extended { cancel: true, .. } => {
                worker.claims.request_cancel(&claim.id)
            }
            HeartbeatResult::Stale | HeartbeatResult::Stalled => {
                let (invocation, version) = (&claim.id, claim.version.0);
                match worker.claims.interrupt(claim) {
                    true => {
                        tracing::warn!(%invocation, version, ?beat, "the claim was lost; its execution is dropped");
                    }
                    // The heartbeat crossed the command that released the claim.
                    false => tracing::debug!(%invocation, version, ?beat, "the claim has ended"),
                }
            }
        }
    }
}

/// A newer incarnation of this node has every claim, or will have it. The executions here must
/// write nothing more.
fn refused(worker: &WorkerContext, refusal: &Refusal) {
    tracing::error!(node = %worker.holder.node, "{refusal}");
    if let Refusal::Conflict(Conflict::Superseded { .. }) = refusal {
        worker.draining.cancel();
        worker.superseded.cancel();
        worker.claims.all().iter().for_each(|active| active.abort.cancel());
    }
}
