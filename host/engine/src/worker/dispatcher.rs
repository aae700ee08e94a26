//! Takes tasks that are ready and runs them, as many at once as the host has room for.
//!
//! Hints from commits bring a task here at once. A slow scan of the store is the safety net for hints that were lost,
//! and for tasks that other hosts or earlier lives left behind.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use segno_core::{
    address::Address,
    effect::Effect,
    id::{Claim, PromiseId},
    promise::Promise,
    time::Millis,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    activity::{self, Kind},
    claims::Held,
    execution::Execution,
    failure::{End, Halt, Stopped, give_back},
    says,
    shared::Shared,
    taking::{self, Ahead, Offer},
};
use crate::{desk::Counter, metrics::ClaimEnd};
use segno_guest::FunctionKind;

/// Tasks that wait here for room; more stay in the store, where the scan finds them.
const QUEUE: usize = 65_536;
const SCAN_PAGE: u32 = 1_000;
/// Tasks taken in one commit.
const TOGETHER: usize = 64;
/// How long a task that another host made ready is left to that host.
const ELSEWHERE: Millis = Millis(40);

/// Runs until told to drain, and then until what it began has ended.
pub async fn run(
    shared: Arc<Shared>,
    mut hints: mpsc::Receiver<Effect>,
    mut desk: Counter,
    scan_period: Millis,
    ended: CancellationToken,
) {
    let mut queue = VecDeque::<Offer>::new();
    let mut known = HashSet::<PromiseId>::new();
    let mut heard = Vec::new();
    let runtime = shared.host.surroundings.runtime.clone();
    let mut scan = runtime.sleep(Millis::ZERO);
    let mut scans_soon = true;
    loop {
        while !shared.is_draining() {
            let mut offers = Vec::new();
            while offers.len() < TOGETHER
                && !queue.is_empty()
                && let Some(seat) = desk.seat()
                && let Some(offer) = queue.pop_front()
            {
                known.remove(&offer.id);
                offers.push((seat, offer));
            }
            if offers.is_empty() {
                break;
            }
            runtime.spawn("execution", Box::pin(taking::take(shared.clone(), offers)));
        }
        shared.host.hub.metrics().worker.queued.set(i64::try_from(queue.len()).unwrap_or(i64::MAX));
        if shared.is_draining() && desk.is_empty() {
            ended.cancel();
            return;
        }
        tokio::select! {
            biased;
            arrivals = desk.next() => {
                // None: somebody left, and there may be room for the next.
                if !arrivals.is_empty() {
                    runtime.spawn("execution", Box::pin(taking::begin(shared.clone(), arrivals)));
                }
            }
            () = shared.draining.cancelled(), if !shared.is_draining() => {}
            count = hints.recv_many(&mut heard, TOGETHER) => {
                if count == 0 {
                    shared.draining.cancel();
                }
                for effect in heard.drain(..) {
                    hear(&shared, effect, &mut queue, &mut known);
                }
            }
            () = shared.host.hub.work_elsewhere(), if !scans_soon => {
                // Those who are told together do not look together.
                let apart = (runtime.nonce() % 64).cast_signed();
                scan = runtime.sleep(Millis(ELSEWHERE.0 + apart));
                scans_soon = true;
            }
            () = &mut scan, if !shared.is_draining() => {
                scan_ready(&shared, &mut queue, &mut known).await;
                scan = runtime.sleep(scan_period);
                scans_soon = false;
            }
        }
    }
}

fn hear(
    shared: &Shared,
    effect: Effect,
    queue: &mut VecDeque<Offer>,
    known: &mut HashSet<PromiseId>,
) {
    match effect {
        Effect::Ready { id, version, target } => {
            if queue.len() < QUEUE && is_hosted(&target) {
                known.insert(id.clone());
                queue.push_back(Offer { id, version });
            }
        }
        Effect::Interrupt(claim) => {
            shared.claims.interrupt(&claim);
        }
        Effect::CancelRequested { id } => shared.claims.request_cancel(&id),
        Effect::Settled { .. }
        | Effect::TimerChanged { .. }
        | Effect::Outbox(_)
        | Effect::Wanted(_)
        | Effect::Count(_) => {}
    }
}

fn is_hosted(target: &str) -> bool {
    Address::parse(target).is_ok_and(|address| address.is_hosted())
}

async fn scan_ready(shared: &Shared, queue: &mut VecDeque<Offer>, known: &mut HashSet<PromiseId>) {
    let mut after = None;
    while queue.len() < QUEUE {
        let page = match shared.host.store.work_queue().ready(shared.now(), after, SCAN_PAGE).await
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
            if !shared.claims.holds(&ready.id) && known.insert(ready.id.clone()) {
                queue.push_back(Offer { id: ready.id, version: ready.version });
            }
        }
    }
}

/// Runs a task that was just acquired.
pub async fn run_claimed(
    shared: Arc<Shared>,
    acquired: segno_core::reply::TaskReply,
    ahead: Ahead,
) {
    let held = Held::of(Claim { id: acquired.task.id.clone(), version: acquired.task.version });
    shared.claims.add(held.clone());
    let span = says::span(&shared.holder, &acquired);
    let running = route(shared.clone(), held.clone(), acquired, ahead);
    under(&shared, &held, running).instrument(span).await;
}

/// Runs what is done under a claim until it ends, or the claim does.
pub async fn under(shared: &Shared, held: &Arc<Held>, running: impl Future<Output = End>) {
    let metrics = &shared.host.hub.metrics().worker;
    metrics.running.inc();
    let end = tokio::select! {
        biased;
        () = held.abort.cancelled() => End::Lost,
        end = running => end,
    };
    shared.claims.remove(held);
    tracing::debug!(?end, "claim over");
    metrics.running.dec();
    metrics.claim_over(match end {
        End::Finished => ClaimEnd::Finished,
        End::Suspended => ClaimEnd::Suspended,
        End::Released => ClaimEnd::Released,
        End::Lost => ClaimEnd::Lost,
    });
}

/// Runs what the task's target names.
pub async fn route(
    shared: Arc<Shared>,
    held: Arc<Held>,
    acquired: segno_core::reply::TaskReply,
    ahead: Ahead,
) -> End {
    let target = acquired.promise.target().unwrap_or_default().to_owned();
    if target == super::action::HTTP {
        return activity::run(shared, held, acquired, Kind::Http).await;
    }
    let Some(digest) = acquired.task.module else {
        let halt = Halt::new("refused", format!("this host has no built-in function `{target}`"));
        return give_back(&shared, &held.claim, halt.into(), 0, None).await;
    };
    let functions = match shared.host.guests.describe(digest).await {
        Ok(functions) => functions,
        Err(error) => return give_back(&shared, &held.claim, Stopped::Guest(error), 0, None).await,
    };
    let name = name_of(&acquired.promise);
    match functions.iter().find(|function| function.name == name) {
        None => {
            let outcome = activity::no_such_function(
                &super::module_name(&acquired.promise),
                &name,
                &functions,
            );
            activity::reject(&shared, &held, &outcome).await
        }
        Some(function) => match function.kind {
            FunctionKind::Workflow => {
                Execution::run(shared, held, acquired, function.clone(), ahead).await
            }
            FunctionKind::Activity => {
                activity::run(shared, held, acquired, Kind::Function(function.clone())).await
            }
        },
    }
}

/// The name of the function that a promise's target names.
pub fn name_of(promise: &Promise) -> String {
    let target = promise.target().unwrap_or_default();
    target.rsplit('/').next().unwrap_or(target).to_owned()
}
