//! What a host has to do now: due commands, tasks that wait for a worker, messages that are owed.

use async_trait::async_trait;
use segno_core::{promise::MessageKind, time::Timestamp};

use super::{Due, Ready, StoreError};

/// The work that waits for a host.
#[async_trait]
pub trait WorkQueue: Send + Sync {
    /// Due commands (deadlines, leases, retries, schedules, limits), at most `limit`, and when the next one
    /// will be due.
    async fn due(&self, now: Timestamp, limit: u32) -> Result<Due, StoreError>;

    /// Tasks of hosted targets that wait for a worker and may be dispatched now, in the order of
    /// their creation, after the one with the cursor `after`.
    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Ready>, StoreError>;

    /// Outbox rows of this kind that are due, as commands, at most `limit`, and when the next one
    /// will be due.
    async fn outbox_due(
        &self,
        kind: MessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Due, StoreError>;
}
