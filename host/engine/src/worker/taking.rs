//! Taking tasks: several in one commit, with what they go on from read in one go.

use std::{collections::HashMap, sync::Arc};

use segno_core::{
    command::Command,
    id::{Claim, PromiseId, Version},
    promise::Promise,
    reply::Reply,
};

use super::{dispatcher::run_claimed, shared::Shared};
use crate::desk::{Arrival, Seat};
use segno_store::History;

/// Journals longer than this are not read ahead, but a page at a time by whoever replays them.
const SHORT: u32 = 256;

/// A task that may be taken at this version.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Which.
    pub id: PromiseId,
    /// The version it is offered at.
    pub version: Version,
}

/// What an execution need not ask for any more.
#[derive(Debug, Default)]
pub struct Ahead {
    /// Its journal; none: it was not read.
    pub history: Option<History>,
    /// Promises that it waits for and that have settled.
    pub settled: Vec<Promise>,
}

/// Acquires these tasks in one commit and runs those that it got.
pub async fn take(shared: Arc<Shared>, offers: Vec<(Seat, Offer)>) {
    let acquire = |(_, offer): &(Seat, Offer)| Command::TaskAcquire {
        claim: Claim { id: offer.id.clone(), version: offer.version },
        hold: shared.hold(),
        stall_limit: None,
    };
    let commands = offers.iter().map(acquire).collect();
    let replies = match shared.submit(commands).await {
        Ok(replies) => replies,
        Err(stopped) => {
            tracing::warn!(?stopped, "tasks could not be acquired; they are offered again");
            return;
        }
    };
    let arrivals = offers.into_iter().zip(replies).filter_map(|((seat, _), reply)| match reply {
        Reply::Task(acquired) => Some(Arrival { seat, acquired: *acquired, settled: Vec::new() }),
        _ => None, // Somebody else was faster, or it has ended.
    });
    let arrivals = arrivals.collect();
    begin(shared, arrivals).await;
}

/// Runs tasks that were acquired together, each for itself, when what they go on from was read.
pub async fn begin(shared: Arc<Shared>, arrivals: Vec<Arrival>) {
    let mut histories = read_ahead(&shared, &arrivals).await;
    let mut executions = arrivals.into_iter().map(|Arrival { seat, acquired, settled }| {
        let ahead = Ahead { history: histories.remove(&acquired.task.id), settled };
        let shared = shared.clone();
        async move {
            let _seat = seat;
            run_claimed(shared, acquired, ahead).await;
        }
    });
    let Some(first) = executions.next() else { return };
    for execution in executions {
        shared.host.surroundings.runtime.spawn("execution", Box::pin(execution));
    }
    first.await;
}

/// The journals of those that are neither new nor warm nor long. Where that fails, each reads its own.
async fn read_ahead(shared: &Shared, arrivals: &[Arrival]) -> HashMap<PromiseId, History> {
    let cold = arrivals.iter().map(|arrival| &arrival.acquired).filter(|acquired| {
        let (task, len) = (&acquired.task, acquired.head.len);
        (1..=SHORT).contains(&len)
            && task
                .module
                .is_some_and(|module| !shared.warm.holds(&task.id, task.version, module, len))
    });
    let wanted: Vec<_> =
        cold.map(|acquired| (acquired.task.id.clone(), acquired.head.len)).collect();
    if wanted.is_empty() {
        return HashMap::new();
    }
    match shared.host.store.read().histories(&wanted).await {
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
