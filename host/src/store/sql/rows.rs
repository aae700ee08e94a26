//! Rows as the core knows them, and as the tables of every database hold them.

use std::{fmt, sync::Arc};

use segno_core::{
    address,
    id::{Claim, CommandIndex, Digest, Holder, NodeName, PromiseId, Version},
    invocation::{JournalHead, LogLine, Record, decode_records},
    promise::{
        Birth, CancelState, HaltReason, Lease, Message, Note, OutboxKey, OutboxRow, Progress,
        Promise, PromiseState, Settlement, Task, TaskState, TaskStatus, Traps, Verdict,
    },
    time::{Millis, Timestamp},
    value::{Bytes, Tags, Text, Value},
};
use serde::{Deserialize, Serialize};

use super::{Cell, Fields};
use crate::store::{EventRow, LogRow, ModuleRow, Ready, Wake, listing};

/// Columns of a promise `p` with its task `t`, in the order in which [`promise`] and [`task`] read them. They take
/// `promise_tables`. Two expressions, if they are given, stand for the parameter and the value.
macro_rules! promise_columns {
    () => {
        promise_columns!("p.param", "p.value")
    };
    ($param:literal, $value:literal) => {
        concat!(
            "p.n, p.id, p.state, p.created_at, p.timeout_at, p.settled_at, m.id, p.tags, p.param_headers, ",
            $param,
            ", p.value_headers, ",
            $value,
            ", t.state, t.version, t.wake_at, t.pending_since, t.offered, t.node, t.incarnation, \
             t.nonce, t.ttl, t.halted, d.digest, t.attempt, t.last_heartbeat, t.fulfilled_by, t.cancel, t.signals, \
             t.details "
        )
    };
}
pub(in crate::store) use promise_columns;

/// What `promise_columns` are read from, after `p`.
macro_rules! promise_tables {
    () => {
        "LEFT JOIN promises m ON m.n = p.made_by LEFT JOIN tasks t ON t.n = p.n LEFT JOIN modules d ON d.n = t.module "
    };
}
pub(in crate::store) use promise_tables;

/// Columns after those of `promise_columns` begin here.
pub(in crate::store) const AFTER_PROMISE: usize = 29;

/// The columns that no statement looks at.
///
/// ```text
/// details = format: u8 (1), then this in postcard
/// ```
#[derive(Debug, Serialize, Deserialize)]
struct Details {
    losses: u32,
    traps: Option<Traps>,
    note: Option<Note>,
    progress: Progress,
    stall_limit: Option<Millis>,
    children: bool,
}
const DETAILS_FORMAT: u8 = 1;

/// The format byte of a row of log lines.
///
/// ```text
/// lines = format: u8 (1), then the lines as one list in postcard
/// ```
pub(in crate::store) const LOG_FORMAT: u8 = 1;

/// A row that cannot be what we wrote.
#[derive(Debug)]
pub(in crate::store) struct Damaged(String);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Damaged {}

impl From<Damaged> for sqlx::Error {
    fn from(damaged: Damaged) -> Self {
        Self::Decode(Box::new(damaged))
    }
}

/// The row of a new promise.
pub(in crate::store) fn new_promise(n: i64, made_by: Option<i64>, promise: &Promise) -> [Cell; 14] {
    let birth = &promise.birth;
    let [state, settled_at, value_headers, value] = settlement(promise);
    [
        n.into(),
        birth.id.as_str().into(),
        state,
        birth.created_at.0.into(),
        birth.timeout_at.0.into(),
        settled_at,
        made_by.into(),
        promise.attached_to().is_some().into(),
        promise.target().into(),
        json(&birth.tags).into(),
        headers(&birth.param),
        birth.param.data.as_slice().into(),
        value_headers,
        value,
    ]
}

/// What settling changes: state, instant, headers, value.
pub(in crate::store) fn settlement(promise: &Promise) -> [Cell; 4] {
    match promise.settlement() {
        None => [0_i64.into(), Cell::Null, Cell::Null, Cell::Null],
        Some(settled) => [
            i64::from(settled.verdict.number()).into(),
            settled.settled_at.0.into(),
            settled.value.as_ref().map_or(Cell::Null, headers),
            settled.value.as_ref().map(|value| value.data.as_slice()).into(),
        ],
    }
}

/// The row of a task whose promise has this target.
pub(in crate::store) fn task_cells(
    n: i64,
    module: Cell,
    target: Option<&str>,
    task: &Task,
) -> [Cell; 19] {
    let pending = match &task.state {
        TaskState::Pending { since, offered, .. } => Some((since.0, *offered)),
        _ => None,
    };
    let halted = match &task.state {
        TaskState::Halted { reason } => Some(i64::from(reason.number())),
        _ => None,
    };
    let lease = task.lease();
    let details = Details {
        losses: task.losses,
        traps: task.traps.clone(),
        note: task.note.clone(),
        progress: task.progress.clone(),
        stall_limit: task.stall_limit,
        children: task.children,
    };
    let details = postcard::to_extend(&details, vec![DETAILS_FORMAT])
        .expect("the details hold nothing postcard refuses");
    [
        n.into(),
        i64::from(task.status().number()).into(),
        task.version.0.into(),
        task.due_at().map(|due| due.0).into(),
        target.is_some_and(address::is_hosted).into(),
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
        details.into(),
    ]
}

/// The row of a message about promise `source`.
pub(in crate::store) fn outbox_cells(source: i64, key: &OutboxKey, row: &OutboxRow) -> [Cell; 7] {
    let [source, kind, part] = outbox_key_cells(source, key);
    let message =
        postcard::to_allocvec(&row.message).expect("a message holds nothing postcard refuses");
    [
        source,
        kind,
        part,
        row.next_at.0.into(),
        row.created_at.0.into(),
        row.attempts.into(),
        message.into(),
    ]
}

/// The key of a message about promise `source`.
pub(in crate::store) fn outbox_key_cells(source: i64, key: &OutboxKey) -> [Cell; 3] {
    let (kind, part) = listing::outbox_order(key);
    [source.into(), kind.into(), part.into()]
}

/// The number and the promise of a row of `promise_columns`.
pub(in crate::store) fn promise(row: &impl Fields) -> Result<(i64, Promise), sqlx::Error> {
    let id = id(row, 1)?;
    let number = small(row, 2, &id, "state")?;
    let state = if number == 0 {
        PromiseState::Pending
    } else {
        let verdict = Verdict::from_number(number).ok_or_else(|| damaged(&id, "state"))?;
        let value = match row.blob(11)? {
            None => None,
            Some(data) => Some(value(row, 10, data, &id)?),
        };
        let settled_at = needed(at(row, 5)?, &id, "settled_at")?;
        PromiseState::Settled(Arc::new(Settlement { verdict, value, settled_at }))
    };
    let birth = Birth {
        param: value(row, 8, needed(row.blob(9)?, &id, "param")?, &id)?,
        tags: tags(&needed(row.text(7)?, &id, "tags")?, &id)?,
        made_by: row.text(6)?.map(PromiseId::new),
        timeout_at: needed(at(row, 4)?, &id, "timeout_at")?,
        created_at: needed(at(row, 3)?, &id, "created_at")?,
        id,
    };
    let number = needed(row.int(0)?, &birth.id, "n")?;
    Ok((number, Promise { birth: Arc::new(birth), state }))
}

/// The task of a row of `promise_columns`, if the promise has one.
pub(in crate::store) fn task(
    row: &impl Fields,
    id: &PromiseId,
) -> Result<Option<Task>, sqlx::Error> {
    if row.int(12)?.is_none() {
        return Ok(None);
    }
    let status = TaskStatus::from_number(small(row, 12, id, "state")?);
    let due = || needed(at(row, 14)?, id, "wake_at");
    let state = match needed(status, id, "state")? {
        TaskStatus::Pending => TaskState::Pending {
            since: needed(at(row, 15)?, id, "pending_since")?,
            retry_at: due()?,
            offered: number(row, 16, id, "offered")? != 0,
        },
        TaskStatus::Acquired => TaskState::Acquired {
            lease: Lease {
                holder: Holder {
                    node: NodeName::new(needed(row.text(17)?, id, "node")?),
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
    let Details { losses, traps, note, progress, stall_limit, children } =
        needed(row.blob(28)?.and_then(details), id, "details")?;
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
        cancel: needed(CancelState::from_number(small(row, 26, id, "cancel")?), id, "cancel")?,
        signals: small(row, 27, id, "signals")?,
        children,
    }))
}

/// A message: `kind, part, next_at, created_at, attempts, message` from column `first` on.
pub(in crate::store) fn outbox(
    row: &impl Fields,
    first: usize,
    source: &PromiseId,
) -> Result<(OutboxKey, OutboxRow), sqlx::Error> {
    let key = outbox_key(row, first, source)?;
    let message =
        row.blob(first + 5)?.and_then(|bytes| postcard::from_bytes::<Message>(bytes).ok());
    let row = OutboxRow {
        message: needed(message, source, "message")?,
        next_at: needed(at(row, first + 2)?, source, "next_at")?,
        created_at: needed(at(row, first + 3)?, source, "created_at")?,
        attempts: small(row, first + 4, source, "attempts")?,
    };
    Ok((key, row))
}

/// An event: its source, the source's number, then the columns of [`outbox`].
pub(in crate::store) fn event(row: &impl Fields) -> Result<EventRow, sqlx::Error> {
    let source = id(row, 0)?;
    let number = number(row, 1, &source, "n")?;
    let (key, message) = outbox(row, 2, &source)?;
    EventRow::of(&key, &message, number).ok_or_else(|| damaged(&source, "message").into())
}

/// The key of a message about `source`, `kind, part` from column `first` on: the other way of
/// [`listing::outbox_order`].
pub(in crate::store) fn outbox_key(
    row: &impl Fields,
    first: usize,
    source: &PromiseId,
) -> Result<OutboxKey, sqlx::Error> {
    let kind = number(row, first, source, "kind")?;
    let part = needed(row.text(first + 1)?, source, "part")?;
    let source = source.clone();
    Ok(match kind {
        1 => OutboxKey::Execute(source),
        2 => OutboxKey::Unblock(source, Text::from(&*part)),
        3 => {
            let index = needed(part.parse().ok(), &source, "part")?;
            OutboxKey::Event(source, CommandIndex(index))
        }
        4 => OutboxKey::CancelChildren(source),
        _ => return Err(damaged(&source, "kind").into()),
    })
}

/// The end of a journal: `end_seq, commands, notified, at, finished` from column `first` on.
pub(in crate::store) fn head(
    row: &impl Fields,
    first: usize,
    id: &PromiseId,
) -> Result<JournalHead, sqlx::Error> {
    Ok(JournalHead {
        len: small(row, first, id, "end_seq")?,
        commands: small(row, first + 1, id, "commands")?,
        notified: small(row, first + 2, id, "notified")?,
        at: needed(at(row, first + 3)?, id, "at")?,
        finished: number(row, first + 4, id, "finished")? != 0,
    })
}

/// The records in column `column`.
pub(in crate::store) fn records(
    row: &impl Fields,
    column: usize,
    invocation: &PromiseId,
) -> Result<Vec<Record>, sqlx::Error> {
    decoded(needed(row.blob(column)?, invocation, "records")?, invocation)
}

/// Records as they are stored.
pub(in crate::store) fn decoded(
    records: &[u8],
    invocation: &PromiseId,
) -> Result<Vec<Record>, sqlx::Error> {
    decode_records(records).map_err(|error| {
        sqlx::Error::Decode(format!("the journal of `{invocation}` cannot be read: {error}").into())
    })
}

/// Lines that a guest logged: `lines, count`, and the number of the last of them from 1, from column `first` on.
pub(in crate::store) fn log_lines(
    row: &impl Fields,
    first: usize,
    id: &PromiseId,
) -> Result<Vec<LogRow>, sqlx::Error> {
    let lines: Option<Vec<LogLine>> = match row.blob(first)? {
        Some([LOG_FORMAT, lines @ ..]) => postcard::from_bytes(lines).ok(),
        _ => None,
    };
    let lines = needed(lines, id, "lines")?;
    let (count, end): (u32, u32) =
        (small(row, first + 1, id, "count")?, small(row, first + 2, id, "count")?);
    Ok((end - count..).zip(&lines).map(|(line, logged)| LogRow::numbered(line, logged)).collect())
}

/// A task that waits for a worker: `n, id, version, target`.
pub(in crate::store) fn ready(row: &impl Fields) -> Result<Ready, sqlx::Error> {
    let id = id(row, 1)?;
    Ok(Ready {
        cursor: number(row, 0, &id, "n")?,
        version: Version(number(row, 2, &id, "version")?.cast_unsigned()),
        target: needed(row.text(3)?, &id, "target")?.into_owned(),
        id,
    })
}

/// A module: `digest, size, created_at, description`, and its aliases as a JSON list.
pub(in crate::store) fn module(row: &impl Fields) -> Result<ModuleRow, sqlx::Error> {
    let digest = digest_at(row, 0)?;
    let aliases = row.text(4)?.and_then(|json| serde_json::from_str(&json).ok());
    Ok(ModuleRow {
        digest,
        size: number(row, 1, &digest, "size")?.cast_unsigned(),
        created_at: needed(at(row, 2)?, &digest, "created_at")?,
        description: needed(row.text(3)?, &digest, "description")?.into_owned(),
        aliases: needed(aliases, &digest, "aliases")?,
    })
}

/// A module's digest, and a count.
pub(in crate::store) fn counted(row: &impl Fields) -> Result<(Digest, u64), sqlx::Error> {
    let digest = digest_at(row, 0)?;
    Ok((digest, number(row, 1, &digest, "count")?.cast_unsigned()))
}

/// A digest as it is stored.
pub(in crate::store) fn digest(
    bytes: &[u8],
    owner: &dyn fmt::Display,
) -> Result<Digest, sqlx::Error> {
    bytes.try_into().map(Digest).map_err(|_| damaged(owner, "digest").into())
}

/// The digest in column `column`.
pub(in crate::store) fn digest_at(row: &impl Fields, column: usize) -> Result<Digest, sqlx::Error> {
    digest(needed(row.blob(column)?, &"modules", "digest")?, &"modules")
}

/// The id in column `column`.
pub(in crate::store) fn id(row: &impl Fields, column: usize) -> Result<PromiseId, sqlx::Error> {
    Ok(PromiseId::new(needed(row.text(column)?, &"promises", "id")?))
}

/// The task that the deadline of `awaited` wakes, if there is one: its id and version, from column `first` on.
pub(in crate::store) fn wake(
    row: &impl Fields,
    first: usize,
    awaited: &PromiseId,
) -> Result<Option<Wake>, sqlx::Error> {
    let Some(id) = row.text(first)? else { return Ok(None) };
    let id = PromiseId::new(id);
    let version = Version(number(row, first + 1, &id, "version")?.cast_unsigned());
    Ok(Some(Wake { awaited: awaited.clone(), task: Claim { id, version } }))
}

/// The text in column `column`.
pub(in crate::store) fn text(row: &impl Fields, column: usize) -> Result<Text, sqlx::Error> {
    Ok(Text::from(&*needed(row.text(column)?, &"a table", "text")?))
}

/// The number in column `column`, called `name`.
pub(in crate::store) fn number(
    row: &impl Fields,
    column: usize,
    owner: &dyn fmt::Display,
    name: &str,
) -> Result<i64, sqlx::Error> {
    needed(row.int(column)?, owner, name)
}

/// The number in column `column`, called `name`, where a smaller type holds all that are written.
pub(in crate::store) fn small<T: TryFrom<i64>>(
    row: &impl Fields,
    column: usize,
    owner: &dyn fmt::Display,
    name: &str,
) -> Result<T, sqlx::Error> {
    needed(T::try_from(number(row, column, owner, name)?).ok(), owner, name)
}

/// A row that does not say what `column` should.
pub(in crate::store) fn damaged(owner: &dyn fmt::Display, column: &str) -> Damaged {
    Damaged(format!("the row of `{owner}` is damaged: its {column} is not what it should be"))
}

/// A value: its headers in this column, and its data.
pub(super) fn value(
    row: &impl Fields,
    headers: usize,
    data: &[u8],
    id: &dyn fmt::Display,
) -> Result<Value, sqlx::Error> {
    let headers = match row.text(headers)? {
        None => Tags::new(),
        Some(json) => tags(&json, id)?,
    };
    Ok(Value { headers, data: Bytes::from(data) })
}

/// The headers of a value; NULL for none.
pub(super) fn headers(value: &Value) -> Cell {
    if value.headers.is_empty() { Cell::Null } else { json(&value.headers).into() }
}

/// Tags as they are stored.
pub(super) fn json(tags: &Tags) -> String {
    serde_json::to_string(tags).expect("a map of texts is JSON")
}

/// Tags as they were stored.
pub(super) fn tags(json: &str, id: &dyn fmt::Display) -> Result<Tags, Damaged> {
    serde_json::from_str(json).map_err(|_| damaged(id, "tags"))
}

fn details(bytes: &[u8]) -> Option<Details> {
    match bytes {
        [DETAILS_FORMAT, rest @ ..] => postcard::from_bytes(rest).ok(),
        _ => None,
    }
}

/// An instant that may be missing.
pub(super) fn at(row: &impl Fields, column: usize) -> Result<Option<Timestamp>, sqlx::Error> {
    Ok(row.int(column)?.map(Timestamp))
}

/// What has to be there, called `name`.
pub(super) fn needed<T>(
    value: Option<T>,
    owner: &dyn fmt::Display,
    name: &str,
) -> Result<T, sqlx::Error> {
    value.ok_or_else(|| damaged(owner, name).into())
}
