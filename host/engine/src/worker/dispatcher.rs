//! Claims ready tasks and runs them, as many concurrently as the host has slots. The queue is
//! round-robin between modules and services, so none waits behind the long queue of another.
//!
//! The hint of a commit brings a task here immediately. A slow scan of the store is the safety net
//! for lost hints, and for tasks that other hosts or earlier incarnations left behind.

use std::{collections::HashSet, sync::Arc};

use segno_core::{address::Address, effect::Effect, id::PromiseId, time::Millis, value::Text};
use segno_store::ReadyTask;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    acquire::{self, TaskOffer},
    context::WorkerContext,
};
use crate::{
    fair_queue::FairQueue,
    slots::{Slot, SlotKind, SlotPool},
};

/// Maximum number of tasks queued for a slot. Further ones stay in the store, where the scan finds
/// them.
const QUEUE_CAPACITY: usize = 65_536;
/// Number of tasks per lane that are queued even if the queue is full.
const LANE_CAPACITY: usize = 1_024;
/// Maximum number of tasks in one page of the scan.
const SCAN_PAGE: u32 = 1_000;
/// Maximum number of pages that a scan reads after the queue is full, in search of tasks whose
/// lanes are short.
const SCAN_BEYOND: usize = 64;
/// Maximum number of tasks claimed in one commit.
const ACQUIRED_TOGETHER: usize = 64;
/// The time for which a task that another host made ready is left to that host.
const REMOTE_WORK_DELAY: Millis = Millis(40);

/// The tasks that wait for a slot. A lane has the tasks of one module or service and of one kind,
/// in order.
#[derive(Default)]
struct OfferQueue {
    offers: FairQueue<(SlotKind, Text), TaskOffer>,
    known: HashSet<PromiseId>,
    /// The position at which the next scan continues. `None` if the last scan reached the end of
    /// the tasks.
    scanned: Option<i64>,
}

impl OfferQueue {
    fn takes(&self, lane: &(SlotKind, Text)) -> bool {
        self.offers.len() < QUEUE_CAPACITY || self.offers.len_of(lane) < LANE_CAPACITY
    }

    /// The next offer for which a slot is free, with that slot.
    fn next(&mut self, slots: &SlotPool) -> Option<(Slot, TaskOffer)> {
        loop {
            let (admitted, offer) = self.offers.pop_admitted(|(kind, who), offer| {
                match slots.kind(&offer.target) {
                    known if known == *kind => slots
                        .slot(&offer.target, who)
                        .map(|slot| LaneAdmission::Slot(Box::new(slot))),
                    // The kind of the target was unknown when the offer arrived.
                    known => Some(LaneAdmission::OtherLane(known, who.clone())),
                }
            })?;
            match admitted {
                LaneAdmission::Slot(slot) => {
                    self.known.remove(&offer.id);
                    return Some((*slot, offer));
                }
                LaneAdmission::OtherLane(kind, who) => self.offers.push((kind, who), offer),
            }
        }
    }
}

/// The decision about the first offer of a lane.
enum LaneAdmission {
    Slot(Box<Slot>),
    OtherLane(SlotKind, Text),
}

/// Runs until the worker drains, and then until the executions that it started have ended.
pub(super) async fn run(
    worker: Arc<WorkerContext>,
    mut hints: mpsc::Receiver<Effect>,
    mut slots: SlotPool,
    scan_period: Millis,
    ended: CancellationToken,
) {
    let mut queue = OfferQueue::default();
    let mut heard = Vec::new();
    let runtime = worker.host.env.runtime.clone();
    let mut scan = runtime.sleep(Millis::ZERO);
    let mut scans_soon = true;
    loop {
        while !worker.is_draining() {
            let mut offers = Vec::new();
            while offers.len() < ACQUIRED_TOGETHER
                && let Some(offer) = queue.next(&slots)
            {
                offers.push(offer);
            }
            if offers.is_empty() {
                break;
            }
            runtime.spawn("execution", Box::pin(acquire::acquire(worker.clone(), offers)));
        }
        let queued = i64::try_from(queue.offers.len()).unwrap_or(i64::MAX);
        worker.host.metrics.worker.queued.set(queued);
        worker.host.metrics.worker.slots_taken(slots.taken());
        if worker.is_draining() && slots.is_empty() {
            ended.cancel();
            return;
        }
        tokio::select! {
            biased;
            claimed = slots.next() => {
                // An empty list means that a slot became free: the next task may be claimed.
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
                    hear(&worker, effect, &slots, &mut queue);
                }
            }
            () = worker.host.notifier.work_elsewhere(), if !scans_soon => {
                // A random delay, so that hosts that are notified together do not scan together.
                let apart = (runtime.nonce() % 64).cast_signed();
                scan = runtime.sleep(Millis(REMOTE_WORK_DELAY.0 + apart));
                scans_soon = true;
            }
            () = &mut scan, if !worker.is_draining() => {
                scan_ready(&worker, &slots, &mut queue).await;
                scan = runtime.sleep(scan_period);
                scans_soon = false;
            }
        }
    }
}

fn hear(worker: &WorkerContext, effect: Effect, slots: &SlotPool, queue: &mut OfferQueue) {
    match effect {
        Effect::Ready { id, version, target, module } => {
            let lane = (slots.kind(&target), module);
            if is_internal(&target) && queue.takes(&lane) {
                queue.known.insert(id.clone());
                queue.offers.push(lane, TaskOffer { id, version, target });
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
        | Effect::StreamChanged(_)
        | Effect::Unread { .. }
        | Effect::Skipped { .. }
        | Effect::OccurrenceFailed { .. }
        | Effect::Count(_) => {}
    }
}

fn is_internal(target: &str) -> bool {
    Address::parse(target).is_ok_and(|address| address.is_internal())
}

/// Reads ready tasks, oldest first, until the queue is full. From there, or from the position of
/// the last scan, it reads some more pages in search of tasks whose lanes are short.
async fn scan_ready(worker: &WorkerContext, slots: &SlotPool, queue: &mut OfferQueue) {
    let (mut after, mut beyond) = (None, 0);
    loop {
        if queue.offers.len() >= QUEUE_CAPACITY {
            after = after.max(queue.scanned);
            queue.scanned = after;
            beyond += 1;
            if beyond > SCAN_BEYOND {
                return;
            }
        }
        let page = match worker.host.store.work_queue().ready(worker.now(), after, SCAN_PAGE).await
        {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "the scan for ready tasks failed; the host repeats it");
                return;
            }
        };
        let Some(last) = page.last() else {
            queue.scanned = None;
            return;
        };
        after = Some(last.cursor);
        for ReadyTask { id, version, target, module, .. } in page {
            let lane = (slots.kind(&target), Text::from(module));
            if !worker.claims.holds(&id) && queue.takes(&lane) && queue.known.insert(id.clone()) {
                queue.offers.push(lane, TaskOffer { id, version, target: Text::from(target) });
            }
        }
    }
}
