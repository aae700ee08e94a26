//! Hints to the host that decided: send this now, wake that loop, count this. Losing them loses no
//! work, since all pending work is in rows as well.

use crate::{
    id::{Claim, PromiseId, ScheduleId, StreamId, Version},
    promise::{OutboxKey, SkipReason, Verdict},
    time::{Millis, Timestamp},
    value::Text,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A promise has settled: wake its local waiters.
    Settled {
        id: PromiseId,
    },
    /// A task that hosts execute can be acquired at this version.
    Ready {
        id: PromiseId,
        /// Version at which the task is offered.
        version: Version,
        /// Target of the task.
        target: Text,
        /// Name of the module or service: its own, or that of the invocation that sent the request.
        /// Empty if there is none.
        module: Text,
    },
    /// A new timer is due at this instant.
    TimerChanged {
        earliest: Timestamp,
    },
    /// A claim has ended: stop the work and write nothing more.
    Interrupt(Claim),
    /// A stream has new data, or was closed or deleted: wake its readers.
    StreamChanged(StreamId),
    /// A message is ready for delivery.
    Outbox(OutboxKey),
    /// A message found no receiver at the host that tried to deliver it. Another host may have one.
    Wanted(OutboxKey),
    /// A claimed invocation was asked to stop.
    CancelRequested {
        id: PromiseId,
    },
    /// A workflow ended without reading everything that was sent to it.
    Unread {
        id: PromiseId,
        /// Number of unread signals.
        signals: u32,
        /// Settled promises that the workflow never created.
        promises: Vec<Text>,
    },
    /// Occurrences of a schedule were skipped: to be counted and logged.
    Skipped {
        schedule: ScheduleId,
        reason: SkipReason,
        /// Number of skipped occurrences.
        count: u64,
        /// Instant of the last one.
        at: Timestamp,
        /// Details of the reason.
        detail: Text,
    },
    /// An execution started by a schedule ended without a result: to be counted and logged.
    OccurrenceFailed {
        schedule: ScheduleId,
        /// Promise of the occurrence.
        id: PromiseId,
        verdict: Verdict,
    },
    Count(Metric),
}

/// An event to count. Produced here so that tests can compare it exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// A task was acquired, this long after it became pending.
    LeaseAcquired(Millis),
    /// A claim was extended.
    HeartbeatExtended,
    /// A heartbeat named a claim that had ended.
    HeartbeatStale,
    /// A heartbeat named a claim without progress.
    HeartbeatStalled,
    /// A lease expired.
    LeaseExpired,
    /// The engine moved a task back to pending on its own initiative, this long after the last
    /// heartbeat of its holder.
    Requeued(RequeueCause, Millis),
    /// A write under a stale claim was refused.
    FencingRejected,
    Settled {
        verdict: Verdict,
        cause: SettleCause,
        /// Number of tasks that the settlement resumed.
        resumed: u32,
    },
    /// The engine halted a task.
    Quarantined,
    /// A step of a saga could not be compensated.
    CompensationFailed,
    /// An execution that waited behind a limit was admitted.
    Admitted {
        /// True if this woke its task; false if the task is halted.
        woken: bool,
    },
}

/// Cause of a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SettleCause {
    /// The holder of its claim.
    Claim,
    Deadline,
    /// A request by a client, by another invocation, or by the engine when it cancels.
    Request,
}

/// Reason why the engine moved a task back to pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequeueCause {
    /// The lease expired.
    Expiry,
    /// The host restarted.
    HostReset,
    /// The rows contradicted each other.
    Reconcile,
    /// The external worker that held it closed its last connection and sent no more heartbeats.
    WorkerGone,
}
