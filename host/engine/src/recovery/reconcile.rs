//! A slow scan of all stored promises that looks for rows that contradict each other.
//!
//! The scan only finds candidates. A command reads the current rows and decides which are damaged,
//! and which action to take.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::{
    command::Command,
    id::PromiseId,
    promise::Schedule,
    reply::{DamageKind, Refusal, Reply},
    time::Millis,
    unreadable::Subject,
};
use segno_store::{ScheduleFilter, Store, StoreError};

use super::{
    damage::{ORPHANS, RecoveryAction, class},
    isolate,
    next_turn::NextTurn,
};
use crate::host::Host;

/// Maximum number of promises read in one turn.
pub(super) const PAGE: u32 = 1_000;
/// The delay between two turns of a round.
pub(super) const PERIOD: Millis = Millis(1_000);
/// The delay between two rounds.
pub(super) const ROUND_PAUSE: Millis = Millis(60_000);
/// Maximum number of commands in one transaction.
const BATCH: usize = 64;

/// The position of the round.
#[derive(Debug, Default)]
pub(super) struct ReconcileRound {
    after: i64,
    found: BTreeMap<DamageKind, usize>,
}

/// A repaired damage, or an unreadable row, with its promise.
#[derive(Debug)]
pub enum RepairStep {
    /// Damage that a command has handled.
    Repaired {
        /// The promise.
        id: PromiseId,
        /// The kind of damage.
        orphan: DamageKind,
    },
    /// The rows of this promise cannot be read, and were left unchanged.
    Unreadable {
        /// The promise.
        id: PromiseId,
        /// The error.
        reason: String,
    },
}

/// Reads and repairs one page.
pub(super) async fn turn(
    host: Host,
    round: Arc<Mutex<ReconcileRound>>,
) -> Result<NextTurn, StoreError> {
    let scan = host.store.scan();
    let after = round.lock().unwrap_or_else(PoisonError::into_inner).after;
    if after == 0 {
        match call_back_schedules(&host).await {
            Err(error) if isolate::is_partly_away(&*host.store, &error) => {
                tracing::debug!(%error, "schedules are looked at in the next round");
            }
            done => done?,
        }
    }
    let page = scan.candidates(after, PAGE).await?;
    let steps = repair_all(&*host.store, &page.items).await?;
    let mut round = round.lock().unwrap_or_else(PoisonError::into_inner);
    for step in &steps {
        tell(&host, step);
        if let RepairStep::Repaired { orphan, .. } = step {
            *round.found.entry(*orphan).or_default() += 1;
        }
    }
    if let Some(next) = page.next {
        round.after = next;
        return Ok(NextTurn::After(PERIOD));
    }
    let round = std::mem::take(&mut *round);
    for orphan in ORPHANS {
        let found = round.found.get(&orphan).copied().unwrap_or_default();
        host.metrics.gauges.orphans(class(orphan).class, found);
    }
    Ok(NextTurn::After(ROUND_PAUSE))
}

/// Reschedules schedules whose next occurrence is later than it should be, because a clock was set
/// back. Their own timers would fire too late.
async fn call_back_schedules(host: &Host) -> Result<(), StoreError> {
    let now = host.env.clock.now();
    let mut filter = ScheduleFilter::default();
    loop {
        let page = host.store.read().schedules(&filter).await?;
        let ahead: Vec<_> = page.items.iter().filter(|schedule| schedule.is_ahead(now)).collect();
        for schedule in &ahead {
            tracing::warn!(
                id = %schedule.id, next_at = %schedule.next_at,
                "the next occurrence of a schedule lay ahead of others: a clock showed that time and was set back; it comes back"
            );
        }
        let look = |schedule: &&Schedule| Command::ScheduleDue { id: schedule.id.clone() };
        let looks: Vec<_> = ahead.iter().map(look).collect();
        if !looks.is_empty() {
            host.store.execute(looks).await?;
        }
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok(()),
        }
    }
}

/// Submits a command for each of these promises, and returns the findings. An unreadable row
/// affects only its own promise.
///
/// # Errors
/// The store did not answer.
pub async fn repair_all(
    store: &dyn Store,
    candidates: &[PromiseId],
) -> Result<Vec<RepairStep>, StoreError> {
    let look = |id: &PromiseId| Command::Reconcile { id: id.clone() };
    let mut steps = Vec::new();
    for batch in candidates.chunks(BATCH) {
        match store.execute(batch.iter().map(look).collect()).await {
            Ok(replies) => {
                batch.iter().zip(replies).for_each(|(id, reply)| note(&mut steps, id, reply));
            }
            Err(error) if isolate::is_of_some(store, &error) => {
                for id in batch {
                    match store.execute(vec![look(id)]).await {
                        Ok(replies) => {
                            replies.into_iter().for_each(|reply| note(&mut steps, id, reply));
                        }
                        Err(error @ StoreError::Database { .. }) => {
                            let reason = chain(&error);
                            steps.push(RepairStep::Unreadable { id: id.clone(), reason });
                        }
                        // It needs a database that is away: the next round looks at it.
                        Err(error) if isolate::is_partly_away(store, &error) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(steps)
}

fn note(steps: &mut Vec<RepairStep>, id: &PromiseId, reply: Reply) {
    match reply {
        Reply::Reconciled { orphans } => {
            let repaired = |orphan| RepairStep::Repaired { id: id.clone(), orphan };
            steps.extend(orphans.into_iter().map(repaired));
        }
        Reply::Refused(refusal @ Refusal::Unreadable { .. }) => {
            let reason = refusal.to_string();
            steps.push(RepairStep::Unreadable { id: id.clone(), reason });
        }
        _ => {}
    }
}

fn tell(host: &Host, step: &RepairStep) {
    match step {
        RepairStep::Repaired { id, orphan } => {
            let class = class(*orphan);
            let (name, action) = (class.class, class.action.words());
            match class.action {
                RecoveryAction::Halt => tracing::error!(
                    %id, class = name, action,
                    "quarantined: the rows of this execution contradict each other; look with `segno inspect`"
                ),
                RecoveryAction::FinishChain | RecoveryAction::Requeue => {
                    tracing::warn!(%id, class = name, action, "damage from outside was mended");
                }
                RecoveryAction::CancelChildren => {
                    tracing::info!(%id, class = name, action, "children outlived their invocation");
                }
            }
        }
        RepairStep::Unreadable { id, reason } => {
            let now = host.env.clock.now();
            host.quarantine.put(&Subject::Promise(id.clone()), reason.clone(), now);
        }
    }
}

/// An error with its causes, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
