//! The work of several databases. A database that is away does not hold up the work of the others.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, VecDeque},
};

use async_trait::async_trait;
use segno_core::{command::Command, id::PromiseId, promise::OutboxMessageKind, time::Timestamp};

use super::MergedReads;
use crate::{DueWork, ReadyTask, StoreError, WorkQueue};

#[async_trait]
impl WorkQueue for MergedReads {
    async fn due(&self, now: Timestamp, limit: u32) -> Result<DueWork, StoreError> {
        let parts =
            self.present(|member| async move { member.work_queue().due(now, limit).await }).await?;
        Ok(due(parts, now, limit as usize))
    }

    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ReadyTask>, StoreError> {
        let pages = self
            .present(|member| async move { member.work_queue().ready(now, after, limit).await })
            .await?;
        Ok(ready(pages, limit as usize))
    }

    async fn outbox_due(
        &self,
        kind: OutboxMessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<DueWork, StoreError> {
        let parts = self
            .present(|member| async move { member.work_queue().outbox_due(kind, now, limit).await })
            .await?;
        Ok(due(parts, now, limit as usize))
    }
}

/// Merges due work: at most `limit` commands, taken from each database in turn. If there are more,
/// the next look is due at once.
fn due(parts: Vec<DueWork>, now: Timestamp, limit: usize) -> DueWork {
    let mut all = DueWork::default();
    let mut queues = Vec::with_capacity(parts.len());
    for DueWork { commands, wakes, next } in parts {
        all.wakes.extend(wakes);
        all.next = [all.next, next].into_iter().flatten().min();
        queues.push(VecDeque::from(commands));
    }
    queues.retain(|queue| !queue.is_empty());
    while !queues.is_empty() && all.commands.len() < limit {
        let room = limit - all.commands.len();
        all.commands.extend(queues.iter_mut().take(room).filter_map(VecDeque::pop_front));
        queues.retain(|queue| !queue.is_empty());
    }
    if !queues.is_empty() {
        all.next = Some(all.next.map_or(now, |next| next.min(now)));
        let deadlines = all.commands.iter().filter_map(|command| match command {
            Command::PromiseDue { id } => Some(id),
            _ => None,
        });
        let deadlines: BTreeSet<&PromiseId> = deadlines.collect();
        all.wakes.retain(|wake| deadlines.contains(&wake.awaited));
    }
    all
}

/// Merges pages of ready tasks: the `limit` oldest. A page may be in another order than that of the
/// numbers (each host of a database visits ready tasks in an order of its own); that order is kept.
/// The youngest task comes last, because its cursor starts the next page.
pub(super) fn ready(pages: Vec<Vec<ReadyTask>>, limit: usize) -> Vec<ReadyTask> {
    let mut cursors: Vec<i64> = pages.iter().flatten().map(|task| task.cursor).collect();
    cursors.sort_unstable();
    cursors.truncate(limit);
    let Some(last) = cursors.last().copied() else { return Vec::new() };
    let mut youngest = None;
    let mut queues: Vec<VecDeque<ReadyTask>> = Vec::with_capacity(pages.len());
    for page in pages {
        let mut tasks = VecDeque::new();
        for task in page {
            match task.cursor.cmp(&last) {
                Ordering::Less => tasks.push_back(task),
                Ordering::Equal => youngest = Some(task),
                Ordering::Greater => {}
            }
        }
        queues.push(tasks);
    }
    let mut merged = Vec::with_capacity(cursors.len());
    while let Some(queue) = queues
        .iter_mut()
        .filter(|queue| !queue.is_empty())
        .min_by_key(|queue| queue.front().map(|task| task.cursor))
    {
        merged.extend(queue.pop_front());
    }
    merged.extend(youngest);
    merged
}
