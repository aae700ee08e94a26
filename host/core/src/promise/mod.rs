//! Promises and related rows: the task that produces the value, callbacks and listeners, the
//! outbox, and the schedules that create promises. This module knows nothing of journals.

mod cron;
mod lease;
mod outbox;
#[expect(clippy::module_inception, reason = "a file is named after its noun")]
mod promise;
mod resource;
mod retry;
mod schedule;
mod skips;
mod task;
mod zone;

pub use cron::{Cron, CronError};
pub use lease::{HeartbeatDelays, LONGEST_LEASE, Lease, LeasePolicy};
pub use outbox::{Deferral, Delivery, OutboxKey, OutboxMessage, OutboxMessageKind, OutboxRow};
pub use promise::{
    NewPromise, Promise, PromiseSpec, PromiseState, Settlement, Verdict, module_name, module_named,
};
pub use resource::{FenceToken, Resource, ResourceLease};
pub use retry::{RetryDecision, RetryPolicy, backoff};
pub use schedule::{
    LONGEST_JITTER, MissedOccurrences, NewSchedule, Overlap, PromiseTemplate, Schedule,
};
pub use skips::{SkipReason, SkippedOccurrences, Skips};
pub use task::{
    CancelState, ClaimProgress, HaltReason, Inbox, JOURNAL_REMOVED, KEPT_MAX, Note, ReleaseReason,
    RepeatedTrap, Task, TaskState, TaskStatus, TrapKey,
};
pub use zone::{Zone, ZoneError};
