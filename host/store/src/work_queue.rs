//! The work queue of a host: due commands, tasks ready for a worker, and outbox messages.

use async_trait::async_trait;
use segno_core::{promise::OutboxMessageKind, time::Timestamp};

use super::{DueWork, ReadyTask, StoreError};

/// The work that waits for a host.
#[async_trait]
pub trait WorkQueue: Send + Sync {
    /// Returns due commands (deadlines, leases, retries, schedules, limits), at most `limit`, and
    /// the time at which the next one will be due.
    async fn due(&self, now: Timestamp, limit: u32) -> Result<DueWork, StoreError>;

    /// Returns tasks of hosted targets that are ready for a worker and may be dispatched now, in
    /// creation order, after the cursor `after`.
    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ReadyTask>, StoreError>;

    /// Returns commands for the due outbox rows of this kind, at most `limit`, and the time at
    /// which the next one will be due.
    async fn outbox_due(
        &self,
        kind: OutboxMessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<DueWork, StoreError>;
}
