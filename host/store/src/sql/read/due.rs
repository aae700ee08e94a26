//! Reads due work: deadlines, timers, schedules and messages; and the tasks that are ready for a
//! worker.
//!
//! A statement here returns (id, instant, …), earliest first, followed by the instant of the next
//! row without an id: rows that are not due are not read. 253402300799999 is [`Timestamp::NEVER`],
//! as in the indexes.

use segno_core::{
    command::Command,
    id::{PromiseId, ScheduleId, StreamId},
    limit::LimitName,
    promise::{OutboxMessageKind, TaskStatus},
    time::Timestamp,
};

use super::{DatabaseSession, Parameter, Select};
use crate::{
    DueWork, ReadyTask,
    sql::{self, RowFields as _, SqlFailure},
};

/// Controls if expired leases are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpiredLeases {
    End,
    Rest,
}

/// Due deadlines. For each promise, also the oldest task that awaits it, if it is suspended and
/// runs on hosts.
const DEADLINES: Select = Select::common(
    "
    SELECT * FROM (
    SELECT p.id, p.timeout_at, waiting.id AS waiting, tasks.version
      FROM promises p
      LEFT JOIN tasks ON tasks.n = (SELECT min(awaiter) FROM callbacks WHERE awaited = p.n AND consumed = 0)
                     AND tasks.state = 3 AND hosted = 1
      LEFT JOIN promises waiting ON waiting.n = tasks.n
     WHERE p.state = 0 AND p.timeout_at < 253402300799999 AND p.timeout_at <= $1
     ORDER BY p.timeout_at, p.n LIMIT $2) AS due
     UNION ALL
    SELECT NULL, min(timeout_at), NULL, NULL FROM promises
     WHERE state = 0 AND timeout_at < 253402300799999 AND timeout_at > $1",
);

/// Due leases and retries.
const TIMERS: Select = Select::common(
    "
    SELECT * FROM (
    SELECT promises.id, wake_at, tasks.state FROM tasks JOIN promises USING (n)
     WHERE wake_at < 253402300799999 AND wake_at <= $1
     ORDER BY wake_at, tasks.n LIMIT $2) AS due
     UNION ALL
    SELECT NULL, min(wake_at), NULL FROM tasks WHERE wake_at < 253402300799999 AND wake_at > $1",
);

const SCHEDULES: Select = Select::common(
    "
    SELECT * FROM (
    SELECT id, next_at FROM schedules
     WHERE paused = 0 AND next_at < 253402300799999 AND next_at <= $1
     ORDER BY next_at, id LIMIT $2) AS due
     UNION ALL
    SELECT NULL, min(next_at) FROM schedules
     WHERE paused = 0 AND next_at < 253402300799999 AND next_at > $1",
);

const LIMITS: Select = Select::common(
    "
    SELECT * FROM (
    SELECT name, due_at FROM limits
     WHERE due_at IS NOT NULL AND due_at <= $1 ORDER BY due_at, name LIMIT $2) AS due
     UNION ALL
    SELECT NULL, min(due_at) FROM limits WHERE due_at IS NOT NULL AND due_at > $1",
);

const STREAMS: Select = Select::common(
    "
    SELECT * FROM (
    SELECT id, due_at FROM streams
     WHERE due_at IS NOT NULL AND due_at <= $1 ORDER BY due_at, id LIMIT $2) AS due
     UNION ALL
    SELECT NULL, min(due_at) FROM streams WHERE due_at IS NOT NULL AND due_at > $1",
);

const OUTBOX: Select = Select::common(
    "
    SELECT * FROM (
    SELECT promises.id, next_at, kind, part FROM outbox JOIN promises ON promises.n = source
     WHERE kind = $3 AND next_at < 253402300799999 AND next_at <= $1
     ORDER BY next_at, source, part LIMIT $2) AS due
     UNION ALL
    SELECT NULL, min(next_at), NULL, NULL FROM outbox
     WHERE kind = $3 AND next_at > $1 AND next_at < 253402300799999",
);

const READY: Select = Select::common(
    "
    SELECT promises.n, promises.id, tasks.version, promises.target, promises.made_by, promises.tags,
           promises.param_headers
      FROM tasks JOIN promises USING (n)
     WHERE tasks.state = 1 AND hosted = 1 AND offered = 1 AND tasks.n > $1 AND timeout_at > $2
     ORDER BY tasks.n LIMIT $3",
);

/// Due commands, at most `limit`: deadlines, then leases and retries, then schedules, then limits,
/// then streams.
pub(super) async fn due<S: DatabaseSession>(
    session: &mut S,
    now: Timestamp,
    limit: u32,
    leases: ExpiredLeases,
) -> Result<DueWork, SqlFailure> {
    let mut wakes = Vec::new();
    let deadlines = first_due(session, &DEADLINES, parameters(now, limit), limit, |row, id| {
        // The woken task is only a hint.
        wakes.extend(sql::wake(row, 2, &id).ok().flatten());
        Ok(Command::PromiseDue { id })
    });
    let deadlines = deadlines.await?;
    let deadlines = DueWork { wakes, ..deadlines };
    let left = limit.saturating_sub(deadlines.commands.len() as u32);
    let timers = first_due(session, &TIMERS, parameters(now, left), left, |row, id| {
        match TaskStatus::from_number(sql::small(row, 2, &id, "state")?) {
            Some(TaskStatus::Acquired) => Ok(Command::LeaseDue { id }),
            _ => Ok(Command::RetryDue { id }),
        }
    });
    let mut timers = timers.await?;
    if leases == ExpiredLeases::Rest {
        timers.commands.retain(|command| !matches!(command, Command::LeaseDue { .. }));
    }
    let due = deadlines.and(timers);
    let left = limit.saturating_sub(due.commands.len() as u32);
    let schedules = first_due(session, &SCHEDULES, parameters(now, left), left, |_, id| {
        Ok(Command::ScheduleDue { id: ScheduleId::new(id.as_str()) })
    });
    let due = due.and(schedules.await?);
    let left = limit.saturating_sub(due.commands.len() as u32);
    let limits = first_due(session, &LIMITS, parameters(now, left), left, |_, id| {
        Ok(Command::LimitDue { name: LimitName::from(id.as_str()) })
    });
    let due = due.and(limits.await?);
    let left = limit.saturating_sub(due.commands.len() as u32);
    let streams = first_due(session, &STREAMS, parameters(now, left), left, |_, id| {
        Ok(Command::StreamDue { id: StreamId::from(id.as_str()) })
    });
    Ok(due.and(streams.await?))
}

/// Due messages of a kind, at most `limit`.
pub(super) async fn outbox(
    session: &mut impl DatabaseSession,
    kind: OutboxMessageKind,
    now: Timestamp,
    limit: u32,
) -> Result<DueWork, SqlFailure> {
    let [now, end] = parameters(now, limit);
    let parameters = [now, end, i64::from(kind.number()).into()];
    let due = first_due(session, &OUTBOX, parameters, limit, |row, id| {
        Ok(Command::OutboxDue { key: sql::outbox_key(row, 2, &id)? })
    });
    due.await
}

/// Tasks ready for a worker, after the one with the number `after`, at most `limit`.
pub(super) async fn ready(
    session: &mut impl DatabaseSession,
    now: Timestamp,
    after: Option<i64>,
    limit: u32,
) -> Result<Vec<ReadyTask>, SqlFailure> {
    let parameters = [after.unwrap_or(i64::MIN).into(), now.0.into(), limit.into()];
    let found = session.all(&READY, &parameters).await?;
    sql::readable(found.iter().map(sql::ready))
}

/// The parameters of a due query: one row more than `limit`, to detect that there are more.
fn parameters(now: Timestamp, limit: u32) -> [Parameter<'static>; 2] {
    [now.0.into(), (i64::from(limit) + 1).into()]
}

async fn first_due<S: DatabaseSession, const PARAMETERS: usize>(
    session: &mut S,
    select: &'static Select,
    parameters: [Parameter<'static>; PARAMETERS],
    limit: u32,
    mut command: impl FnMut(&S::Row, PromiseId) -> Result<Command, SqlFailure> + Send,
) -> Result<DueWork, SqlFailure> {
    let mut due = DueWork::default();
    for row in &session.all(select, &parameters).await? {
        let at = row.int(1)?.map(Timestamp);
        let is_due = row.text(0)?.is_some();
        if !is_due || due.commands.len() == limit as usize {
            due.next = at;
            break;
        }
        let found = sql::id(row, 0).and_then(|id| command(row, id));
        // A row that does not even identify itself must not block the others.
        match found {
            Ok(command) => due.commands.push(command),
            Err(error) => drop(sql::unreadable(error)?),
        }
    }
    Ok(due)
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] =
    &[DEADLINES, TIMERS, SCHEDULES, LIMITS, STREAMS, OUTBOX, READY];
