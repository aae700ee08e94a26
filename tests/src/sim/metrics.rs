//! The expected metrics of a step, computed from the rows before and after it, independently of the
//! engine.

use std::collections::BTreeMap;

use segno_core::{
    command::Command,
    effect::{Effect, Metric, RequeueCause, SettleCause},
    id::PromiseId,
    limit::LimitPositionState,
    promise::{HaltReason, Promise, Task, TaskState, TaskStatus},
    reply::{Conflict, HeartbeatResult, Refusal, Reply},
    snapshot::Snapshot,
    time::{Millis, Timestamp},
};

/// One step of the store.
pub(super) struct Step<'a> {
    /// Rows before the step.
    pub before: &'a Snapshot,
    pub command: &'a Command,
    /// Reply to the command.
    pub reply: &'a Reply,
    /// Rows after the step.
    pub after: &'a Snapshot,
    /// Time of the step.
    pub now: Timestamp,
}

/// Difference between the engine's metrics and the expected ones. Empty if they agree.
pub(super) fn difference(step: &Step<'_>, effects: &[Effect]) -> Vec<String> {
    let mut tally: BTreeMap<String, i64> = BTreeMap::new();
    for effect in effects {
        if let Effect::Count(metric) = effect {
            *tally.entry(name(metric)).or_default() += 1;
        }
    }
    for metric in expected(step) {
        *tally.entry(name(&metric)).or_default() -= 1;
    }
    let wrong = tally.into_iter().filter(|(_, difference)| *difference != 0);
    wrong.map(|(metric, difference)| format!("{metric}: {difference:+}")).collect()
}

/// Key of a metric. A settlement is compared by verdict and cause here. [`woken`] compares the
/// number of tasks that it woke, over the whole step.
fn name(metric: &Metric) -> String {
    match metric {
        Metric::Settled { verdict, cause, .. } => format!("Settled({verdict:?}, {cause:?})"),
        metric => format!("{metric:?}"),
    }
}

fn expected(step: &Step<'_>) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (id, after) in &step.after.tasks {
        let before = step.before.tasks.get(id);
        metrics.extend(acquired(step, before, after));
        metrics.extend(quarantined(before, after));
    }
    for (id, after) in &step.after.promises {
        let was_open = step.before.promises.get(id).is_none_or(Promise::is_pending);
        metrics.extend(after.settlement().filter(|_| was_open).map(|settlement| Metric::Settled {
            verdict: settlement.verdict,
            cause: cause(step, after),
            resumed: 0,
        }));
    }
    for (id, place) in &step.after.places {
        let before = step.before.places.get(id).map(|place| place.state);
        if before == Some(LimitPositionState::Waiting)
            && place.state == LimitPositionState::Admitted
        {
            let task = step.before.tasks.get(id).map(Task::status);
            metrics.push(Metric::Admitted { woken: task == Some(TaskStatus::Suspended) });
        }
    }
    if let Reply::Heartbeat(beats) = step.reply {
        metrics.extend(beats.iter().filter_map(|beat| match beat {
            HeartbeatResult::Extended { .. } => Some(Metric::HeartbeatExtended),
            HeartbeatResult::Stale => Some(Metric::HeartbeatStale),
            HeartbeatResult::Stalled => Some(Metric::HeartbeatStalled),
            HeartbeatResult::Unanswered => None,
        }));
    }
    match step.command {
        Command::LeaseDue { id } => {
            if let Some(unheard) = lost(step, id, |lease_until| lease_until <= step.now) {
                metrics.push(Metric::LeaseExpired);
                metrics.push(Metric::Requeued(RequeueCause::Expiry, unheard));
            }
        }
        Command::HostRelease { id, .. } => {
            let unheard = lost(step, id, |_| true);
            metrics.extend(unheard.map(|length| Metric::Requeued(RequeueCause::HostReset, length)));
        }
        Command::WorkerGone { holder, .. } => {
            let held = step
                .before
                .tasks
                .iter()
                .filter(|(_, task)| task.lease().is_some_and(|lease| lease.holder == *holder));
            let unheard = held.filter_map(|(id, _)| lost(step, id, |_| true));
            metrics
                .extend(unheard.map(|length| Metric::Requeued(RequeueCause::WorkerGone, length)));
        }
        Command::TaskFence { .. }
        | Command::TaskSuspend { .. }
        | Command::TaskFulfill { .. }
        | Command::TaskRelease { .. } => {
            if let Reply::Refused(Refusal::Conflict(Conflict::StaleVersion { .. })) = step.reply {
                metrics.push(Metric::FencingRejected);
            }
        }
        Command::FencedPut { .. } => {
            if let Reply::Refused(Refusal::Conflict(Conflict::StaleToken { .. })) = step.reply {
                metrics.push(Metric::FencingRejected);
            }
        }
        _ => {}
    }
    metrics
}

/// Cause that settled a promise which was pending before the step.
fn cause(step: &Step<'_>, after: &Promise) -> SettleCause {
    let claim = step.after.tasks.get(after.id()).and_then(|task| task.fulfilled_by);
    match claim {
        Some(_) => SettleCause::Claim,
        None if after.spec.timeout_at <= step.now => SettleCause::Deadline,
        None => SettleCause::Request,
    }
}

fn acquired(step: &Step<'_>, before: Option<&Task>, after: &Task) -> Option<Metric> {
    if before.is_none() && has_begun(step, &after.id) {
        return Some(Metric::LeaseAcquired(Millis::ZERO));
    }
    if after.status() != TaskStatus::Acquired {
        return None;
    }
    match before.map(|task| &task.state) {
        Some(TaskState::Acquired { .. }) => None,
        Some(TaskState::Pending { since, .. }) => {
            Some(Metric::LeaseAcquired(step.now.since(*since)))
        }
        _ => Some(Metric::LeaseAcquired(Millis::ZERO)),
    }
}

/// True if this step created the task and used the first claim on it. The claim may have already
/// ended.
fn has_begun(step: &Step<'_>, id: &PromiseId) -> bool {
    matches!(step.command, Command::TaskBegin { new, .. } if new.id == *id)
        && matches!(step.reply, Reply::Begun { first: Some(_), .. })
}

fn quarantined(before: Option<&Task>, after: &Task) -> Option<Metric> {
    let was_halted = before.is_some_and(|task| task.status() == TaskStatus::Halted);
    match after.state {
        TaskState::Halted { reason } if !was_halted && reason != HaltReason::Requested => {
            Some(Metric::Quarantined)
        }
        _ => None,
    }
}

/// For a claim that this step ended, the time since the last heartbeat of its holder.
fn lost(step: &Step<'_>, id: &PromiseId, ends: impl Fn(Timestamp) -> bool) -> Option<Millis> {
    let before = step.before.tasks.get(id)?;
    let lease = before.lease()?;
    let after = step.after.tasks.get(id)?;
    let overdue = step.before.promises.get(id).is_some_and(|promise| promise.is_overdue(step.now));
    let gone = matches!(after.status(), TaskStatus::Pending | TaskStatus::Halted);
    let heard = before.last_heartbeat.unwrap_or(before.progress.at);
    (ends(lease.until) && !overdue && gone).then(|| step.now.since(heard))
}

/// Number of tasks that the settlements of this step woke: as counted, and according to the rows.
/// `None` for a command that also wakes by cancelling, because the rows do not tell the two apart.
pub(super) fn woken(step: &Step<'_>, effects: &[Effect]) -> Option<(u32, u32)> {
    if matches!(
        step.command,
        Command::Cancel { .. }
            | Command::TaskFence { .. }
            | Command::OutboxDue { .. }
            | Command::Reconcile { .. }
    ) {
        return None;
    }
    let counted = effects.iter().map(|effect| match effect {
        Effect::Count(Metric::Settled { resumed, .. }) => *resumed,
        Effect::Count(Metric::Admitted { woken: true }) => 1,
        _ => 0,
    });
    let rose = step.after.tasks.iter().filter(|(id, task)| {
        let before = step.before.tasks.get(*id).map(Task::status);
        before == Some(TaskStatus::Suspended) && task.status() == TaskStatus::Pending
    });
    Some((counted.sum(), u32::try_from(rose.count()).unwrap_or(u32::MAX)))
}
