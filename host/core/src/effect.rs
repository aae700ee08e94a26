//! Hints to the host that decided: send this now, wake that loop, count this. Losing all of them
//! loses no work, since everything owed is a row as well.

use crate::{
    id::{Claim, PromiseId, ScheduleId, Version},
    promise::{OutboxKey, SkipReason, Verdict},
    time::{Millis, Timestamp},
    value::Text,
};

/// A hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A promise has its outcome: wake what waits for it in this process.
    Settled {
        /// Which.
        id: PromiseId,
    },
    /// A task that hosts execute may be taken at this version.
    Ready {
        /// Which.
        id: PromiseId,
        /// The version it is offered at.
        version: Version,
        /// What it runs.
        target: Text,
        /// The name of its module or service, or of the one whose request it is; empty, if none is
        /// named.
        module: Text,
    },
    /// Something is due at this instant that was not before.
    TimerChanged {
        /// When.
        earliest: Timestamp,
    },
    /// A claim has ended: drop the work and write nothing.
    Interrupt(Claim),
    /// A message is owed.
    Outbox(OutboxKey),
    /// A message found no receiver at the host that was to deliver it. Another host may have one.
    Wanted(OutboxKey),
    /// A held invocation was asked to stop.
    CancelRequested {
        /// Which.
        id: PromiseId,
    },
    /// A workflow ended, and nobody read some of what it had been sent.
    Unread {
        /// Which.
        id: PromiseId,
        /// How many signals.
        signals: u32,
        /// Promises that were settled and that it never made.
        promises: Vec<Text>,
    },
    /// Occurrences of a schedule were left out: to be counted, and logged.
    Skipped {
        /// Of which schedule.
        schedule: ScheduleId,
        /// Why.
        reason: SkipReason,
        /// How many.
        count: u64,
        /// The last of them.
        at: Timestamp,
        /// What was in its way.
        detail: Text,
    },
    /// What a schedule made ended without a result: to be counted, and logged.
    OccurrenceFailed {
        /// The schedule.
        schedule: ScheduleId,
        /// What it made.
        id: PromiseId,
        /// Its outcome.
        verdict: Verdict,
    },
    /// Something to count.
    Count(Metric),
}

/// What is counted. Produced here so that tests compare it exactly.
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
    /// A lease ran out.
    LeaseExpired,
    /// A task went back to pending on the engine's own initiative, this long after its holder was
    /// last heard.
    Requeued(RequeueCause, Millis),
    /// A write under a stale claim was refused.
    FencingRejected,
    /// A promise settled.
    Settled {
        /// Its outcome.
        verdict: Verdict,
        /// What settled it.
        cause: SettleCause,
        /// How many tasks it resumed.
        resumed: u32,
    },
    /// A task was halted by the engine.
    Quarantined,
    /// A step of a saga could not be undone.
    CompensationFailed,
    /// An execution that waited behind a limit was admitted; whether its task was woken by that.
    Admitted {
        /// It was not, if it is halted.
        woken: bool,
    },
}

/// What settled a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SettleCause {
    /// The claim on it.
    Claim,
    /// Its deadline.
    Deadline,
    /// A request: of a client, of another invocation, or of the engine that cancels.
    Request,
}

/// Why a task went back to pending on the engine's own initiative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequeueCause {
    /// Its lease ran out.
    Expiry,
    /// Its host began a new life.
    HostReset,
    /// Its rows contradicted each other.
    Reconcile,
    /// The external worker that held it closed its last connection and was not heard of.
    WorkerGone,
}
