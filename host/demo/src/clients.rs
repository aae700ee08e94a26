//! Concurrent clients, and their overall progress, which determines when the host is killed "in the
//! middle".

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::try_join_all;
use segno_api::model::Invocation;
use segno_client::ClientError;
use segno_core::time::Millis;
use tokio::sync::watch;

use super::{client::DemoClient, order::DemoOrder};

/// The progress of all orders together.
#[derive(Debug, Default)]
pub struct OrderTally {
    placed: AtomicUsize,
    decided: AtomicUsize,
    ended: AtomicUsize,
}

impl OrderTally {
    /// Number of orders that the host accepted.
    pub fn placed(&self) -> usize {
        self.placed.load(Ordering::Relaxed)
    }

    /// Number of orders that were approved or rejected.
    pub fn decided(&self) -> usize {
        self.decided.load(Ordering::Relaxed)
    }

    /// Number of orders that ended.
    pub fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }
}

/// One order and its times.
#[derive(Debug, Clone)]
pub struct PlannedOrder {
    pub order: DemoOrder,
    /// The phase in which the order is placed.
    pub phase: usize,
    /// Time from the beginning of the phase to placing the order.
    pub place_after: Millis,
    /// Time from the approval request to the decision.
    pub decide_after: Millis,
}

/// Serves all orders concurrently to their ends; `phase` is the number of the phase reached.
///
/// # Errors
/// The first refusal; the remaining work is then not done.
pub async fn serve(
    client: &DemoClient<'_>,
    orders: &[PlannedOrder],
    phase: &watch::Receiver<usize>,
    tally: &OrderTally,
) -> Result<Vec<(DemoOrder, Invocation)>, ClientError> {
    let serve_one = async |planned: &PlannedOrder| {
        // An error means that no further phase begins; then all orders may start.
        let _ = phase.clone().wait_for(|reached| *reached >= planned.phase).await;
        client.env.runtime.sleep(planned.place_after).await;
        client.place(&planned.order).await?;
        tally.placed.fetch_add(1, Ordering::Relaxed);
        if client.decide(&planned.order, planned.decide_after).await? {
            tally.decided.fetch_add(1, Ordering::Relaxed);
        }
        let invocation = client.ended(&planned.order).await?;
        tally.ended.fetch_add(1, Ordering::Relaxed);
        Ok((planned.order.clone(), invocation))
    };
    try_join_all(orders.iter().map(serve_one)).await
}
