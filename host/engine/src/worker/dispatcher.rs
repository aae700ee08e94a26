//! Takes ready tasks and runs them, as many concurrently as the host has slots.
//!
//! A hint of a commit brings a task here at once. A slow scan of the store is the safety net for
//! lost hints, and for tasks that other hosts or earlier incarnations left behind.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use segno_core::{address::Address, effect::Effect, id::PromiseId, time::Millis};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    acquire::{self, Offer},
    context::WorkerContext,
};
use crate::slots::SlotPool;

/// Maximum number of tasks queued for a slot; further ones stay in the store, where the scan finds
/// them.
const QUEUE_CAPACITY: usize = 65_536;
/// Maximum number of tasks in one page of the scan.
const SCAN_PAGE: u32 = 1_000;
/// Maximum number of tasks acquired in one commit.
const ACQUIRED_TOGETHER: usize = 64;
/// How long a task that another host made ready is left to that host.
const REMOTE_WORK_DELAY: Millis = Millis(40);

/// Runs until the worker drains, and then until the executions it started have ended.
pub async fn run(
    worker: Arc<WorkerContext>,
    mut hints: mpsc::Receiver<Effect>,
    mut slots: SlotPool,
    scan_period: Millis,
    ended: CancellationToken,
) {
    let mut queue = VecDeque::<Offer>::new();
    let mut known = HashSet::<PromiseId>::new();
    let mut heard = Vec::new();
    let runtime = worker.host.env.runtime.clone();
    let mut scan = runtime.sleep(Millis::ZERO);
    let mut scans_soon = true;
    loop {
        while !worker.is_draining() {
            let mut offers = Vec::new();
            while offers.len() < ACQUIRED_TOGETHER
                && !queue.is_empty()
                && let Some(slot) = slots.slot()
                && let Some(offer) = queue.pop_front()
            {
                known.remove(&offer.id);
                offers.push((slot, offer));
            }
            if offers.is_empty() {
                break;
            }
            runtime.spawn("execution", Box::pin(acquire::acquire(worker.clone(), offers)));
        }
        let queued = i64::try_from(queue.len()).unwrap_or(i64::MAX);
        worker.host.metrics.worker.queued.set(queued);
        if worker.is_draining() && slots.is_empty() {
            ended.cancel();
            return;
        }
        tokio::select! {
            biased;
            claimed = slots.next() => {
                // None: a slot became free, and the next task may be acquired.
                if !claimed.is_empty() {
                    let running = acquire::run_claimed(worker.clone(), claimed);
                    runtime.spawn("execution", Box::pin(running));
                }
            }
            () = worker.draining.cancelled(), if !worker.is_draining() => {}
            count = hints.recv_many(&mut heard, ACQUIRED_TOGETHER) => {
                if count == 0 {
                    worker.draining.cancel();
                }
                for effect in heard.drain(..) {
                    hear(&worker, effect, &mut queue, &mut known);
                }
            }
            () = worker.host.notifier.work_elsewhere(), if !scans_soon => {
                // A random delay: hosts that are notified together do not scan together.
                let apart = (runtime.nonce() % 64).cast_signed();
                scan = runtime.sleep(Millis(REMOTE_WORK_DELAY.0 + apart));
                scans_soon = true;
            }
            () = &mut scan, if !worker.is_draining() => {
                scan_ready(&worker, &mut queue, &mut known).await;
                scan = runtime.sleep(scan_period);
                scans_soon = false;
            }
        }
    }
}

fn hear(
    worker: &WorkerContext,
    effect: Effect,
    queue: &mut VecDeque<Offer>,
    known: &mut HashSet<PromiseId>,
) {
    match effect {
        Effect::Ready { id, version, target } => {
            if queue.len() < QUEUE_CAPACITY && is_internal(&target) {
                known.insert(id.clone());
                queue.push_back(Offer { id, version });
            }
        }
        Effect::Interrupt(claim) => {
            worker.claims.interrupt(&claim);
        }
        Effect::CancelRequested { id } => worker.claims.request_cancel(&id),
        Effect::Settled { .. }
        | Effect::TimerChanged { .. }
        | Effect::Outbox(_)
        | Effect::Wanted(_)
        | Effect::Unread { .. }
        | Effect::Skipped { .. }
        | Effect::OccurrenceFailed { .. }
        | Effect::Count(_) => {}
    }
}

fn is_internal(target: &str) -> bool {
    Address::parse(target).is_ok_and(|address| address.is_internal())
}

async fn scan_ready(
    worker: &WorkerContext,
    queue: &mut VecDeque<Offer>,
    known: &mut HashSet<PromiseId>,
) {
    let mut after = None;
    while queue.len() < QUEUE_CAPACITY {
        let page = match worker.host.store.work_queue().ready(worker.now(), after, SCAN_PAGE).await
        {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "the scan for ready tasks failed; it comes again");
                return;
            }
        };
        let Some(last) = page.last() else { return };
        after = Some(last.cursor);
        for ready in page {
            if !worker.claims.holds(&ready.id) && known.insert(ready.id.clone()) {
                queue.push_back(Offer { id: ready.id, version: ready.version });
            }
        }
    }
}
