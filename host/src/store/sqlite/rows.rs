//! Rows as the core knows them, and as the tables hold them.

use std::{fmt, sync::Arc};

use segno_core::{
    address,
    id::{CommandIndex, Digest, Holder, NodeName, PromiseId, Version},
    invocation::JournalHead,
    promise::{
        Birth, CancelState, HaltReason, Lease, Message, Note, OutboxKey, OutboxRow, Progress,
        Promise, PromiseState, Settlement, Task, TaskState, TaskStatus, Traps, Verdict,
    },
    time::{Millis, Timestamp},
    value::{Bytes, Tags, Text, Value},
};
use serde::{Deserialize, Serialize};
use sqlx::{Decode, Row as _, Sqlite, Type, sqlite::SqliteRow};

use super::statement::Cell;
use crate::store::listing;

/// Columns of a promise `p` with its task `t`, in the order in which [`promise`] and [`task`] read them. They take
/// `promise_tables`.
macro_rules! promise_columns {
    () => {
        "p.n, p.id, p.state, p.created_at, p.timeout_at, p.settled_at, m.id, p.tags, p.param_headers, p.param, \
         p.value_headers, p.value, t.state, t.version, t.wake_at, t.pending_since, t.offered, t.node, t.incarnation, \
         t.nonce, t.ttl, t.halted, d.digest, t.attempt, t.last_heartbeat, t.fulfilled_by, t.cancel, t.signals, t.details "
    };
}
pub(super) use promise_columns;

/// What `promise_columns` are read from, after `p`.
macro_rules! promise_tables {
    () => {
        "LEFT JOIN promises m ON m.n = p.made_by LEFT JOIN tasks t ON t.n = p.n LEFT JOIN modules d ON d.n = t.module "
    };
}
pub(super) use promise_tables;

/// Columns after those of `promise_columns` begin here.
pub(super) const AFTER_PROMISE: usize = 29;

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

/// A row that cannot be what we wrote.
#[derive(Debug)]
pub(super) struct Damaged(String);

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
pub(super) fn new_promise(n: i64, made_by: Option<i64>, promise: &Promise) -> [Cell; 14] {
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
pub(super) fn settlement(promise: &Promise) -> [Cell; 4] {
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
pub(super) fn task_cells(
    n: i64,
    module: Option<i64>,
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
        module.into(),
        task.attempt.into(),
        task.last_heartbeat.map(|at| at.0).into(),
        task.fulfilled_by.map(|version| version.0).into(),
        i64::from(task.cancel.number()).into(),
        task.signals.into(),
        details.into(),
    ]
}

/// The row of a message about promise `source`.
pub(super) fn outbox_cells(source: i64, key: &OutboxKey, row: &OutboxRow) -> [Cell; 7] {
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
pub(super) fn outbox_key_cells(source: i64, key: &OutboxKey) -> [Cell; 3] {
    let (kind, part) = listing::outbox_order(key);
    [source.into(), kind.into(), part.into()]
}

/// The number and the promise of a row of [`PROMISE_COLUMNS`].
pub(super) fn promise(row: &SqliteRow) -> Result<(i64, Promise), sqlx::Error> {
    let id = PromiseId::new(row.try_get::<&str, _>(1)?);
    let number: u8 = row.try_get(2)?;
    let state = if number == 0 {
        PromiseState::Pending
    } else {
        let verdict = Verdict::from_number(number).ok_or_else(|| damaged(&id, "state"))?;
        let value = match row.try_get::<Option<&[u8]>, _>(11)? {
            None => None,
            Some(data) => Some(value(row, 10, data, &id)?),
        };
        let settled_at = at(row, 5)?.ok_or_else(|| damaged(&id, "settled_at"))?;
        PromiseState::Settled(Arc::new(Settlement { verdict, value, settled_at }))
    };
    let birth = Birth {
        param: value(row, 8, row.try_get(9)?, &id)?,
        tags: tags(row.try_get(7)?, &id)?,
        made_by: row.try_get::<Option<&str>, _>(6)?.map(PromiseId::new),
        timeout_at: Timestamp(row.try_get(4)?),
        created_at: Timestamp(row.try_get(3)?),
        id,
    };
    Ok((row.try_get(0)?, Promise { birth: Arc::new(birth), state }))
}

/// The task of a row of [`PROMISE_COLUMNS`], if the promise has one.
pub(super) fn task(row: &SqliteRow, id: &PromiseId) -> Result<Option<Task>, sqlx::Error> {
    let Some(status) = row.try_get::<Option<u8>, _>(12)? else { return Ok(None) };
    let status = TaskStatus::from_number(status).ok_or_else(|| damaged(id, "state"))?;
    let due = || needed(at(row, 14)?, id, "wake_at");
    let state = match status {
        TaskStatus::Pending => TaskState::Pending {
            since: needed(at(row, 15)?, id, "pending_since")?,
            retry_at: due()?,
            offered: get(row, 16, id, "offered")?,
        },
        TaskStatus::Acquired => TaskState::Acquired {
            lease: Lease {
                holder: Holder {
                    node: NodeName::new(get::<&str>(row, 17, id, "node")?),
                    incarnation: get::<i64>(row, 18, id, "incarnation")?.cast_unsigned(),
                },
                nonce: get::<i64>(row, 19, id, "nonce")?.cast_unsigned(),
                ttl: Millis(get(row, 20, id, "ttl")?),
                until: due()?,
            },
        },
        TaskStatus::Suspended => TaskState::Suspended,
        TaskStatus::Halted => {
            let reason = HaltReason::from_number(get(row, 21, id, "halted")?);
            TaskState::Halted { reason: needed(reason, id, "halted")? }
        }
        TaskStatus::Fulfilled => TaskState::Fulfilled,
    };
    let digest: Option<&[u8]> = row.try_get(22)?;
    let module = digest.map(|bytes| self::digest(bytes, id)).transpose()?;
    let Details { losses, traps, note, progress, stall_limit, children } =
        details(row.try_get(28)?).ok_or_else(|| damaged(id, "details"))?;
    Ok(Some(Task {
        id: id.clone(),
        version: Version(row.try_get::<i64, _>(13)?.cast_unsigned()),
        state,
        attempt: row.try_get(23)?,
        losses,
        traps,
        module,
        note,
        progress,
        stall_limit,
        last_heartbeat: at(row, 24)?,
        fulfilled_by: row
            .try_get::<Option<i64>, _>(25)?
            .map(|version| Version(version.cast_unsigned())),
        cancel: needed(CancelState::from_number(row.try_get(26)?), id, "cancel")?,
        signals: row.try_get(27)?,
        children,
    }))
}

/// A message: `kind, part, next_at, created_at, attempts, message` from column `first` on.
pub(super) fn outbox(
    row: &SqliteRow,
    first: usize,
    source: &PromiseId,
) -> Result<(OutboxKey, OutboxRow), sqlx::Error> {
    let key = outbox_key(row.try_get(first)?, row.try_get(first + 1)?, source)?;
    let message: Message =
        postcard::from_bytes(row.try_get(first + 5)?).map_err(|_| damaged(source, "message"))?;
    let row = OutboxRow {
        message,
        next_at: Timestamp(row.try_get(first + 2)?),
        created_at: Timestamp(row.try_get(first + 3)?),
        attempts: row.try_get(first + 4)?,
    };
    Ok((key, row))
}

/// The key of a message about `source`: the other way of [`listing::outbox_order`].
pub(super) fn outbox_key(kind: i64, part: &str, source: &PromiseId) -> Result<OutboxKey, Damaged> {
    let source = source.clone();
    match kind {
        1 => Ok(OutboxKey::Execute(source)),
        2 => Ok(OutboxKey::Unblock(source, Text::from(part))),
        3 => match part.parse() {
            Ok(index) => Ok(OutboxKey::Event(source, CommandIndex(index))),
            Err(_) => Err(damaged(&source, "part")),
        },
        4 => Ok(OutboxKey::CancelChildren(source)),
        _ => Err(damaged(&source, "kind")),
    }
}

/// The end of a journal: `end_seq, commands, notified, at, finished` from column `first` on.
pub(super) fn head(row: &SqliteRow, first: usize) -> Result<JournalHead, sqlx::Error> {
    Ok(JournalHead {
        len: row.try_get(first)?,
        commands: row.try_get(first + 1)?,
        notified: row.try_get(first + 2)?,
        at: Timestamp(row.try_get(first + 3)?),
        finished: row.try_get(first + 4)?,
    })
}

/// A digest as it is stored.
pub(super) fn digest(bytes: &[u8], owner: &dyn fmt::Display) -> Result<Digest, Damaged> {
    bytes.try_into().map(Digest).map_err(|_| damaged(owner, "digest"))
}

/// A row that does not say what `column` should.
pub(super) fn damaged(owner: &dyn fmt::Display, column: &str) -> Damaged {
    Damaged(format!("the row of `{owner}` is damaged: its {column} is not what it should be"))
}

fn value(
    row: &SqliteRow,
    headers: usize,
    data: &[u8],
    id: &PromiseId,
) -> Result<Value, sqlx::Error> {
    let headers = match row.try_get::<Option<&str>, _>(headers)? {
        None => Tags::new(),
        Some(json) => tags(json, id)?,
    };
    Ok(Value { headers, data: Bytes::from(data) })
}

fn headers(value: &Value) -> Cell {
    if value.headers.is_empty() { Cell::Null } else { json(&value.headers).into() }
}

fn json(tags: &Tags) -> String {
    serde_json::to_string(tags).expect("a map of texts is JSON")
}

fn tags(json: &str, id: &PromiseId) -> Result<Tags, Damaged> {
    serde_json::from_str(json).map_err(|_| damaged(id, "tags"))
}

fn details(bytes: &[u8]) -> Option<Details> {
    match bytes {
        [DETAILS_FORMAT, rest @ ..] => postcard::from_bytes(rest).ok(),
        _ => None,
    }
}

fn at(row: &SqliteRow, column: usize) -> Result<Option<Timestamp>, sqlx::Error> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(Timestamp))
}

fn get<'r, T>(
    row: &'r SqliteRow,
    column: usize,
    id: &PromiseId,
    name: &str,
) -> Result<T, sqlx::Error>
where
    T: Decode<'r, Sqlite> + Type<Sqlite>,
{
    needed(row.try_get::<Option<T>, _>(column)?, id, name)
}

fn needed<T>(value: Option<T>, id: &PromiseId, name: &str) -> Result<T, sqlx::Error> {
    value.ok_or_else(|| damaged(id, name).into())
}
