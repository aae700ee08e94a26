//! Encodes and decodes tasks, and the rows of tasks to claim next.

use segno_core::{
    address,
    id::{Claim, Holder, HostName, PromiseId, Version},
    promise::{
        CancelState, ClaimProgress, HaltReason, Inbox, Lease, Note, RepeatedTrap, Task, TaskState,
        TaskStatus, module_name,
    },
    time::Millis,
};
use serde::{Deserialize, Serialize};

use super::{
    column::{at, id, needed, number, small, tags},
    module::digest,
};
use crate::{
    ReadyTask, TaskWake,
    sql::{RowFields, SqlCell, SqlFailure},
};

/// Task fields that no statement searches by, stored as one blob.
///
/// ```text
/// details = format: u8 (1 or 2), then this struct in postcard; in format 2, then `LaterTaskDetails`
/// ```
#[derive(Debug, Serialize, Deserialize)]
struct TaskDetails {
    losses: u32,
    traps: Option<RepeatedTrap>,
    note: Option<Note>,
    progress: ClaimProgress,
    stall_limit: Option<Millis>,
    children: bool,
}

/// Fields added in format 2. Format 1 did not count heard signals.
#[derive(Debug, Serialize, Deserialize)]
struct LaterTaskDetails {
    inbox: Inbox,
    successors: u32,
}
const FIRST_FORMAT: u8 = 1;
const DETAILS_FORMAT: u8 = 2;

/// The row of a task whose promise has the target `target`.
pub(crate) fn task_cells(
    n: i64,
    module: SqlCell,
    target: Option<&str>,
    task: &Task,
) -> [SqlCell; 19] {
    let pending = match &task.state {
        TaskState::Pending { since, offered, .. } => Some((since.0, *offered)),
        _ => None,
    };
    let halted = match &task.state {
        TaskState::Halted { reason } => Some(i64::from(reason.number())),
        _ => None,
    };
    let lease = task.lease();
    [
        n.into(),
        i64::from(task.status().number()).into(),
        task.version.0.into(),
        task.due_at().map(|due| due.0).into(),
        target.is_some_and(address::is_internal).into(),
        pending.map(|(since, _)| since).into(),
        pending.map(|(_, offered)| offered).into(),
        lease.map(|lease| lease.holder.node.as_str()).into(),
        lease.map(|lease| lease.holder.incarnation).into(),
        lease.map(|lease| lease.nonce).into(),
        lease.map(|lease| lease.ttl.0).into(),
        halted.into(),
        module,
        task.attempt.into(),
        task.last_heartbeat.map(|at| at.0).into(),
        task.fulfilled_by.map(|version| version.0).into(),
        i64::from(task.cancel.number()).into(),
        task.signals.into(),
        encode_details(task).into(),
    ]
}

/// Decodes the task in a row of `promise_columns`; `None` if the promise has none.
pub(crate) fn task(row: &impl RowFields, id: &PromiseId) -> Result<Option<Task>, SqlFailure> {
    if row.int(12)?.is_none() {
        return Ok(None);
    }
    let status = needed(TaskStatus::from_number(small(row, 12, id, "state")?), id, "state")?;
    let due = || needed(at(row, 14)?, id, "wake_at");
    let state = match status {
        TaskStatus::Pending => TaskState::Pending {
            since: needed(at(row, 15)?, id, "pending_since")?,
            retry_at: due()?,
            offered: number(row, 16, id, "offered")? != 0,
        },
        TaskStatus::Acquired => TaskState::Acquired {
            lease: Lease {
                holder: Holder {
                    node: HostName::new(needed(row.text(17)?, id, "node")?),
                    incarnation: number(row, 18, id, "incarnation")?.cast_unsigned(),
                },
                nonce: number(row, 19, id, "nonce")?.cast_unsigned(),
                ttl: Millis(number(row, 20, id, "ttl")?),
                until: due()?,
            },
        },
        TaskStatus::Suspended => TaskState::Suspended,
        TaskStatus::Halted => {
            let reason = HaltReason::from_number(small(row, 21, id, "halted")?);
            TaskState::Halted { reason: needed(reason, id, "halted")? }
        }
        TaskStatus::Fulfilled => TaskState::Fulfilled,
    };
    let module = row.blob(22)?.map(|bytes| digest(bytes, id)).transpose()?;
    let (TaskDetails { losses, traps, note, progress, stall_limit, children }, later) =
        needed(row.blob(28)?.and_then(details), id, "details")?;
    let LaterTaskDetails { inbox, successors } = later;
    Ok(Some(Task {
        id: id.clone(),
        version: Version(number(row, 13, id, "version")?.cast_unsigned()),
        state,
        attempt: small(row, 23, id, "attempt")?,
        losses,
        traps,
        module,
        note,
        progress,
        stall_limit,
        last_heartbeat: at(row, 24)?,
        fulfilled_by: row.int(25)?.map(|version| Version(version.cast_unsigned())),
        cancel: needed(
            CancelState::from_number(small(row, 26, id, "cancel")?, status),
            id,
            "cancel",
        )?,
        signals: small(row, 27, id, "signals")?,
        children,
        inbox,
        successors,
    }))
}

/// Decodes a task that is ready for a worker: `n, id, version, target, made_by, tags,
/// param_headers`.
pub(crate) fn ready(row: &impl RowFields) -> Result<ReadyTask, SqlFailure> {
    let id = id(row, 1)?;
    let target = needed(row.text(3)?, &id, "target")?.into_owned();
    let headers = row.text(6)?.map(|headers| tags(&headers, &id)).transpose()?;
    let tags = tags(&needed(row.text(5)?, &id, "tags")?, &id)?;
    Ok(ReadyTask {
        cursor: number(row, 0, &id, "n")?,
        version: Version(number(row, 2, &id, "version")?.cast_unsigned()),
        module: module_name(&tags, &headers.unwrap_or_default(), row.int(4)?.is_some()),
        target,
        id,
    })
}

/// Decodes the task that the deadline of `awaited` wakes, if there is one: its id and version, from
/// column `first` on.
pub(crate) fn wake(
    row: &impl RowFields,
    first: usize,
    awaited: &PromiseId,
) -> Result<Option<TaskWake>, SqlFailure> {
    let Some(id) = row.text(first)? else { return Ok(None) };
    let id = PromiseId::new(id);
    let version = Version(number(row, first + 1, &id, "version")?.cast_unsigned());
    Ok(Some(TaskWake { awaited: awaited.clone(), task: Claim { id, version } }))
}

/// Encodes the details of a task.
pub(in crate::sql) fn encode_details(task: &Task) -> Vec<u8> {
    let details = TaskDetails {
        losses: task.losses,
        traps: task.traps.clone(),
        note: task.note.clone(),
        progress: task.progress.clone(),
        stall_limit: task.stall_limit,
        children: task.children,
    };
    let later = LaterTaskDetails { inbox: task.inbox.clone(), successors: task.successors };
    postcard::to_extend(&(details, later), vec![DETAILS_FORMAT])
        .expect("the details hold nothing postcard refuses")
}

/// Decodes stored details into `task`. Returns false if they are unreadable.
#[cfg(test)]
pub(in crate::sql) fn decode_details(task: &mut Task, bytes: &[u8]) -> bool {
    let Some((read, later)) = details(bytes) else { return false };
    let TaskDetails { losses, traps, note, progress, stall_limit, children } = read;
    let LaterTaskDetails { inbox, successors } = later;
    *task = Task {
        losses,
        traps,
        note,
        progress,
        stall_limit,
        children,
        inbox,
        successors,
        ..task.clone()
    };
    true
}

fn details(bytes: &[u8]) -> Option<(TaskDetails, LaterTaskDetails)> {
    let uncounted = Inbox { heard: None, ..Inbox::default() };
    match bytes {
        [FIRST_FORMAT, rest @ ..] => {
            let read = postcard::from_bytes(rest).ok()?;
            Some((read, LaterTaskDetails { inbox: uncounted, successors: 0 }))
        }
        [DETAILS_FORMAT, rest @ ..] => postcard::from_bytes(rest).ok(),
        _ => None,
    }
}
