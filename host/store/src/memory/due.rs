//! Due work: deadlines, timers, schedules, messages.

use async_trait::async_trait;
use segno_core::{
    address,
    command::Command,
    id::Claim,
    promise::{OutboxMessageKind, Task, TaskState},
    time::Timestamp,
};

use super::{MemoryStore, kept::MemoryContent};
use crate::{DueWork, ReadyTask, StoreError, TaskWake, WorkQueue, order};

#[async_trait]
impl WorkQueue for MemoryStore {
    async fn due(&self, now: Timestamp, limit: u32) -> Result<DueWork, StoreError> {
        Ok(self.kept().due(now, limit))
    }

    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ReadyTask>, StoreError> {
        let kept = self.kept();
        let younger = after.map_or(i64::MIN, |after| after + 1)..;
        let offered = kept.numbers.range(younger).filter_map(|(number, id)| {
            let (promise, task) = (kept.model.promise(id)?, kept.model.task(id)?);
            let TaskState::Pending { offered: true, .. } = task.state else { return None };
            let target = promise.target().filter(|target| address::is_internal(target))?;
            if promise.spec.timeout_at <= now {
                return None;
            }
            Some(ReadyTask {
                cursor: *number,
                id: id.clone(),
                version: task.version,
                target: target.to_owned(),
                module: promise.module_name(),
            })
        });
        Ok(offered.take(limit as usize).collect())
    }

    async fn outbox_due(
        &self,
        kind: OutboxMessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<DueWork, StoreError> {
        Ok(self.kept().outbox_due(kind, now, limit))
    }
}

impl MemoryContent {
    /// Due commands: deadlines first, then task timers, then schedules; each ordered by instant and
    /// number.
    pub(super) fn due(&self, now: Timestamp, limit: u32) -> DueWork {
        let deadlines =
            self.model.promises().filter(|promise| promise.is_pending()).map(|promise| {
                let id = promise.id().clone();
                (promise.spec.timeout_at, self.number(&id), Command::PromiseDue { id })
            });
        let timers = self
            .model
            .tasks()
            .filter_map(|task| Some((task.due_at()?, self.number(&task.id), timer_command(task)?)));
        let mut deadlines = first_due(deadlines.collect(), now, limit);
        deadlines.wakes = deadlines.commands.iter().filter_map(|due| self.wake(due)).collect();
        let schedules = self.model.schedules().filter_map(|schedule| {
            let id = schedule.id.clone();
            Some((schedule.due_at()?, id.clone(), Command::ScheduleDue { id }))
        });
        let left = limit.saturating_sub(deadlines.commands.len() as u32);
        let due = deadlines.and(first_due(timers.collect(), now, left));
        let left = limit.saturating_sub(due.commands.len() as u32);
        let due = due.and(first_due(schedules.collect(), now, left));
        let limits = self.model.limits().filter_map(|(name, limit)| {
            Some((limit.due_at?, name.clone(), Command::LimitDue { name: name.clone() }))
        });
        let left = limit.saturating_sub(due.commands.len() as u32);
        let due = due.and(first_due(limits.collect(), now, left));
        let streams = self.model.streams().filter_map(|stream| {
            let due = Command::StreamDue { id: stream.id.clone() };
            Some((stream.due_at()?, stream.id.as_str(), due))
        });
        let left = limit.saturating_sub(due.commands.len() as u32);
        due.and(first_due(streams.collect(), now, left))
    }

    /// Due messages of a kind.
    pub(super) fn outbox_due(
        &self,
        kind: OutboxMessageKind,
        now: Timestamp,
        limit: u32,
    ) -> DueWork {
        let owed = self.model.outbox().filter(|(key, _)| key.kind() == kind).map(|(key, row)| {
            let order = (self.number(key.promise()), order::outbox_order(key));
            (row.next_at, order, Command::OutboxDue { key: key.clone() })
        });
        first_due(owed.collect(), now, limit)
    }

    /// The task that this deadline wakes: the oldest task that awaits the promise.
    fn wake(&self, due: &Command) -> Option<TaskWake> {
        let Command::PromiseDue { id } = due else { return None };
        let waiting = self.model.callbacks_on(id).filter(|(_, consumed)| !consumed);
        let (first, _) = waiting.min_by_key(|(awaiter, _)| self.number(awaiter))?;
        let hosted = self.model.promise(first)?.target().is_some_and(address::is_internal);
        let task =
            self.model.task(first).filter(|task| hosted && task.state == TaskState::Suspended)?;
        Some(TaskWake {
            awaited: id.clone(),
            task: Claim { id: first.clone(), version: task.version },
        })
    }
}

/// The command that a task's timer fires; `None` if the task has no timer.
fn timer_command(task: &Task) -> Option<Command> {
    let id = task.id.clone();
    match task.state {
        TaskState::Pending { .. } => Some(Command::RetryDue { id }),
        TaskState::Acquired { .. } => Some(Command::LeaseDue { id }),
        TaskState::Suspended | TaskState::Halted { .. } | TaskState::Fulfilled => None,
    }
}

/// The first due commands, ordered by instant and `O`.
fn first_due<O: Ord>(
    mut timers: Vec<(Timestamp, O, Command)>,
    now: Timestamp,
    limit: u32,
) -> DueWork {
    timers.retain(|(at, ..)| *at < Timestamp::NEVER);
    timers.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
    let mut due = DueWork::default();
    for (at, _, command) in timers {
        if at > now || due.commands.len() == limit as usize {
            due.next = Some(at);
            break;
        }
        due.commands.push(command);
    }
    due
}
