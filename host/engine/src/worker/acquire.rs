//! Claims tasks: several in one commit, and reads their journals together.

use std::{collections::HashMap, sync::Arc};

use segno_core::{
    command::Command,
    id::{Claim, PromiseId, Version},
    reply::Reply,
    value::Text,
};
use segno_store::ExecutionHistory;

use super::{context::WorkerContext, run};
use crate::{
    claim::PrefetchedRows,
    recovery::is_of_some,
    resend::OF_SEVERAL,
    slots::{ClaimedTask, Slot},
};

/// Maximum number of records of a journal that is read ahead. A replay reads a longer journal page
/// by page.
const SHORT: u32 = 256;

/// An offered task, which can be claimed at this version.
#[derive(Debug, Clone)]
pub(super) struct TaskOffer {
    pub id: PromiseId,
    /// The version at which the task is offered.
    pub version: Version,
    pub target: Text,
}

/// Claims these tasks in one commit, and runs those that were claimed. If one of them needs a
/// database of several that is away, the others are claimed without it.
pub(super) async fn acquire(worker: Arc<WorkerContext>, offers: Vec<(Slot, TaskOffer)>) {
    let claim = |(_, offer): &(Slot, TaskOffer)| Command::TaskAcquire {
        claim: Claim { id: offer.id.clone(), version: offer.version },
        request: worker.claim_request(),
        stall_limit: None,
    };
    let mut pieces = vec![offers];
    while let Some(mut piece) = pieces.pop() {
        let commands = piece.iter().map(claim).collect();
        match worker.submit_as(commands, OF_SEVERAL).await {
            Ok(replies) => {
                let running = run_claimed(worker.clone(), claimed(piece, replies));
                match pieces.is_empty() {
                    true => running.await,
                    false => worker.host.env.runtime.spawn("execution", Box::pin(running)),
                }
            }
            Err(error) if piece.len() > 1 && is_of_some(&*worker.host.store, &error) => {
                let others = piece.split_off(piece.len() / 2);
                pieces.extend([others, piece]);
            }
            Err(error) => {
                tracing::warn!(?error, "tasks could not be acquired; they are offered again");
            }
        }
    }
}

/// The tasks that were claimed.
fn claimed(offers: Vec<(Slot, TaskOffer)>, replies: Vec<Reply>) -> Vec<ClaimedTask> {
    let claimed = offers.into_iter().zip(replies).filter_map(|((slot, _), reply)| match reply {
        Reply::Task(acquired) => {
            Some(ClaimedTask { slot, acquired: *acquired, settled: Vec::new() })
        }
        _ => None, // Another host was faster, or the task has ended.
    });
    claimed.collect()
}

/// Runs tasks that were claimed together, each separately, after reading their journals.
pub(super) async fn run_claimed(worker: Arc<WorkerContext>, claimed: Vec<ClaimedTask>) {
    let mut histories = read_ahead(&worker, &claimed).await;
    let mut executions = claimed.into_iter().map(|ClaimedTask { slot, acquired, settled }| {
        let prefetched = PrefetchedRows { history: histories.remove(&acquired.task.id), settled };
        let worker = worker.clone();
        async move {
            let mut slot = slot;
            run::claim(worker, acquired, prefetched, &mut slot).await;
        }
    });
    let Some(first) = executions.next() else { return };
    for execution in executions {
        worker.host.env.runtime.spawn("execution", Box::pin(execution));
    }
    first.await;
}

/// Reads the journals of tasks that are cold, and long enough to have records but too short for a
/// snapshot. If the read fails, each execution reads its own journal.
async fn read_ahead(
    worker: &WorkerContext,
    claimed: &[ClaimedTask],
) -> HashMap<PromiseId, ExecutionHistory> {
    let snapshots = worker.host.guests.snapshots();
    let short = snapshots.map_or(SHORT, |files| SHORT.min(files.policy.records - 1));
    let cold = claimed.iter().map(|claimed| &claimed.acquired).filter(|acquired| {
        let (task, len) = (&acquired.task, acquired.head.len);
        let is_warm = |module| worker.warm.holds(&task.id, task.version, module, len);
        (1..=short).contains(&len) && task.module.is_some_and(|module| !is_warm(module))
    });
    let wanted: Vec<_> =
        cold.map(|acquired| (acquired.task.id.clone(), acquired.head.len)).collect();
    if wanted.is_empty() {
        return HashMap::new();
    }
    match worker.host.store.read().histories(&wanted).await {
        Ok(histories) => {
            let whole = wanted.into_iter().zip(histories).filter(|((_, len), history)| {
                usize::try_from(*len).is_ok_and(|len| len == history.records.len())
            });
            whole.map(|((id, _), history)| (id, history)).collect()
        }
        Err(error) => {
            tracing::debug!(%error, "journals were not read ahead");
            HashMap::new()
        }
    }
}
