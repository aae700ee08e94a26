//! The shapes that reads answer with.

use std::collections::BTreeMap;

use segno_core::{
    command::Command,
    id::{Claim, CommandIndex, Digest, PromiseId, ScheduleId, Version},
    invocation::{LogLevel, LogLine, Record},
    promise::{
        Message, MessageKind, OutboxKey, OutboxRow, Promise, Schedule, Task, TaskStatus, Verdict,
    },
    time::Timestamp,
    value::{Tags, Text, Value},
};

/// A promise, and its task if it has one.
#[derive(Debug, Clone)]
pub struct PromiseRow {
    /// The promise.
    pub promise: Promise,
    /// The claim on producing it.
    pub task: Option<Task>,
}

/// The size of a promise, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromiseSize {
    /// Its parameter.
    pub param: u64,
    /// Its value; 0 if it has none.
    pub value: u64,
}

/// What is due, and when to look again.
#[derive(Debug, Clone, Default)]
pub struct Due {
    /// To be executed now.
    pub commands: Vec<Command>,
    /// Tasks that some of these commands wake.
    pub wakes: Vec<Wake>,
    /// The earliest instant at which something further will be due.
    pub next: Option<Timestamp>,
}

/// A suspended task that hosts run, and that goes on once a deadline is carried out. It may be
/// claimed in the same commit; if anything has changed meanwhile, the version tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// The promise whose deadline it is.
    pub awaited: PromiseId,
    /// The task, at the version to present when acquiring it.
    pub task: Claim,
}

/// What an execution goes on from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Its journal.
    pub records: Vec<Record>,
    /// How many lines it logged.
    pub lines: u32,
}

/// A task that waits for a worker of this kind of host.
#[derive(Debug, Clone)]
pub struct Ready {
    /// Where the next page begins.
    pub cursor: i64,
    /// The task.
    pub id: PromiseId,
    /// The version to present when acquiring it.
    pub version: Version,
    /// The address of its function.
    pub target: String,
    /// The name of its module ([`Promise::module_name`](segno_core::promise::Promise::module_name)).
    pub module: String,
}

/// One line that a guest logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// The line's number in its invocation, from 0.
    pub line: u32,
    /// When.
    pub at: Timestamp,
    /// 0 trace, 1 debug, 2 info, 3 warn, 4 error.
    pub level: u8,
    /// What.
    pub message: String,
}

impl History {
    /// Puts rows that were read in any order into the journal's.
    pub(super) fn sort(&mut self) {
        self.records.sort_by_key(|record| record.seq);
    }
}

impl LogRow {
    pub(super) fn numbered(line: u32, logged: &LogLine) -> Self {
        Self {
            line,
            at: logged.at,
            level: logged.level.number() - LogLevel::Trace.number(),
            message: logged.message.to_string(),
        }
    }
}

impl Due {
    /// Both.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.commands.extend(other.commands);
        self.wakes.extend(other.wakes);
        self.next = [self.next, other.next].into_iter().flatten().min();
        self
    }
}

/// Of a module's unfinished executions, no more than this are counted.
pub const COUNTED: u32 = 10_000;

/// A module that is kept.
#[derive(Debug, Clone)]
pub struct ModuleRow {
    /// Its identity: the digest of its bytes.
    pub digest: Digest,
    /// The component's size in bytes.
    pub size: u64,
    /// When it was first uploaded.
    pub created_at: Timestamp,
    /// What it said of its functions when it was uploaded, as JSON.
    pub description: String,
    /// The names that stand for it now.
    pub aliases: Vec<String>,
}

/// Where an event stands among those owed: by the instant, the number of its invocation, and its
/// command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventPlace {
    /// When it was published.
    pub at: Timestamp,
    /// The number of its invocation in this store.
    pub number: i64,
    /// Its command.
    pub index: CommandIndex,
}

/// An event that was not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Where it stands among the others.
    pub place: EventPlace,
    /// The invocation that published it.
    pub source: PromiseId,
    /// Where.
    pub topic: Text,
    /// What.
    pub payload: Value,
    /// How often it was handed over.
    pub attempts: u32,
    /// The next delivery; never: no receiver takes its topic.
    pub next_at: Timestamp,
}

impl EventRow {
    /// The row as it is found under `key`; none if it is no event.
    pub(super) fn of(key: &OutboxKey, row: &OutboxRow, number: i64) -> Option<Self> {
        let (OutboxKey::Event(source, index), Message::Event { topic, payload }) =
            (key, &row.message)
        else {
            return None;
        };
        Some(Self {
            place: EventPlace { at: row.created_at, number, index: *index },
            source: source.clone(),
            topic: topic.clone(),
            payload: payload.clone(),
            attempts: row.attempts,
            next_at: row.next_at,
        })
    }

    /// The key of its message.
    pub fn key(&self) -> OutboxKey {
        OutboxKey::Event(self.source.clone(), self.place.index)
    }
}

/// How much there is of what figures show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tasks under a claim.
    pub acquired: u64,
    /// Tasks that wait for a person.
    pub halted: u64,
    /// Tasks of hosts that wait for a worker.
    pub ready: u64,
    /// Messages owed, by kind; kinds without one are left out.
    pub outbox: BTreeMap<MessageKind, u64>,
}

/// Who waits for whom.
#[derive(Debug, Clone, Default)]
pub struct Waits {
    /// The promises that this one's task waits for.
    pub awaits: Vec<PromiseId>,
    /// The promises whose tasks wait for this one.
    pub awaited_by: Vec<PromiseId>,
}

/// Which invocations to list: promises with a target, newest first.
#[derive(Debug, Clone, Default)]
pub struct InvocationFilter {
    /// Only those whose target is in this module (by alias as it was called).
    pub module: Option<String>,
    /// Only those of this function.
    pub function: Option<String>,
    /// Only those in this state: pending, acquired, suspended, halted, resolved, rejected,
    /// cancelled, timed-out.
    pub state: Option<String>,
    /// Only those whose task this holds: a external worker by the name that it gave itself, or a
    /// host by its own.
    pub holder: Option<String>,
    /// Only ids that begin so.
    pub prefix: Option<String>,
    /// Only those with this label.
    pub label: Option<(String, String)>,
    /// Only the children of this invocation.
    pub parent: Option<PromiseId>,
    /// Only roots: invocations that no other made.
    pub roots: bool,
    /// Only those created at this instant or later.
    pub since: Option<Timestamp>,
    /// Only those created before this instant.
    pub until: Option<Timestamp>,
    /// After this cursor.
    pub after: Option<i64>,
    /// The largest number of items in the page; 0: 100.
    pub limit: u32,
}

/// How many invocations stand where, of those that a filter takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// The numbers by the name of the state; states without invocations are left out.
    pub states: BTreeMap<&'static str, u64>,
    /// Whether there are older invocations that were not looked at.
    pub newest_only: bool,
}

/// Where a promise stands, as a listing asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has no value yet; its deadline may have passed unnoticed.
    Pending,
    /// It has this outcome.
    Settled(Verdict),
}

/// Which promises to find, in the order of their ids.
#[derive(Debug, Clone, Default)]
pub struct PromiseFilter {
    /// Only those with this tag `branch` that no invocation of a module made.
    pub branch: Option<String>,
    /// Only those that stand so.
    pub standing: Option<Standing>,
    /// Only those with all of these tags.
    pub tags: Tags,
    /// Only those with a task.
    pub tasks: bool,
    /// Only those with a task that stands so.
    pub status: Option<TaskStatus>,
    /// Only ids that begin so.
    pub prefix: Option<String>,
    /// Only ids after this one.
    pub after: Option<PromiseId>,
    /// The largest number of items in the page; 0: 100.
    pub limit: u32,
}

/// One line of a listing.
#[derive(Debug, Clone)]
pub struct InvocationRow {
    /// The promise, without regard to its size.
    pub promise: Promise,
    /// Its task.
    pub task: Task,
    /// Records in its journal.
    pub journal_len: u32,
}

/// Which schedules to list.
#[derive(Debug, Clone, Default)]
pub struct ScheduleFilter {
    /// Only ids that begin so.
    pub prefix: Option<String>,
    /// Only those whose promises have all of these tags.
    pub tags: Tags,
    /// After this one.
    pub after: Option<ScheduleId>,
    /// The largest number of items in the page; 0: 100.
    pub limit: u32,
}

/// A page of schedules.
#[derive(Debug, Clone, Default)]
pub struct SchedulePage {
    /// The schedules, by id.
    pub items: Vec<Schedule>,
    /// Those between them whose rows cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// What the next page comes after; none: this was the last.
    pub next: Option<ScheduleId>,
}

/// Whether a page begins with an id or behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// With it.
    At,
    /// Behind it.
    Behind,
}

impl ScheduleFilter {
    /// Where the next look begins, after `after` and not before the prefix.
    pub(super) fn begins_at<'a>(&'a self, after: Option<&'a ScheduleId>) -> (Begin, &'a str) {
        let after = after.map_or("", ScheduleId::as_str);
        match self.prefix.as_deref() {
            Some(prefix) if after < prefix => (Begin::At, prefix),
            _ => (Begin::Behind, after),
        }
    }

    /// Whether an id lies behind all that begin with the prefix.
    pub(super) fn is_behind(&self, id: &ScheduleId) -> bool {
        let behind = |prefix: &str| id.as_str() > prefix && !id.as_str().starts_with(prefix);
        self.prefix.as_deref().is_some_and(behind)
    }

    /// Whether it takes this schedule; its cursor and limit are the caller's business.
    pub(super) fn takes(&self, schedule: &Schedule) -> bool {
        let tags = &schedule.template.tags;
        self.prefix.as_ref().is_none_or(|prefix| schedule.id.as_str().starts_with(prefix))
            && self.tags.iter().all(|(name, value)| tags.get(name) == Some(value))
    }
}

impl Page<PromiseRow, PromiseId> {
    /// The first `limit` of these rows. They were looked for up to the promise `bound`; none: among
    /// all that there are.
    pub(super) fn of(mut rows: Vec<PromiseRow>, limit: usize, bound: Option<PromiseId>) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().map(|row| row.promise.id().clone()).filter(|_| more);
        Self { items: rows, unreadable: Vec::new(), next: last.or(bound) }
    }
}

impl SchedulePage {
    /// The first `limit` of these, and whether there are more.
    pub(super) fn of(schedules: impl Iterator<Item = Schedule>, limit: usize) -> Self {
        let mut items: Vec<Schedule> = schedules.take(limit.saturating_add(1)).collect();
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().map(|schedule| schedule.id.clone()).filter(|_| more);
        Self { items, unreadable: Vec::new(), next }
    }

    /// The same with those that cannot be read, as far as they lie before the next page.
    pub(super) fn beside(self, mut unreadable: Vec<Unreadable>) -> Self {
        if let Some(next) = &self.next {
            unreadable.retain(|row| row.id.as_str() <= next.as_str());
        }
        Self { unreadable, ..self }
    }
}

/// A page of a listing. A filter that few rows fit is looked for in a bounded number of rows a
/// page, so a page may be shorter than its limit, or empty, and still not be the last.
#[derive(Debug, Clone)]
pub struct Page<T, C = i64> {
    /// The lines.
    pub items: Vec<T>,
    /// Those of the page whose rows cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// What the next page comes after; none: this was the last.
    pub next: Option<C>,
}

/// Something whose rows are there and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its id.
    pub id: String,
    /// What is wrong.
    pub reason: String,
}

impl Unreadable {
    /// What cannot be read of the row with this id.
    ///
    /// # Errors
    /// The database did not give the row.
    pub(super) fn of(
        id: Result<Option<std::borrow::Cow<'_, str>>, super::sql::Failure>,
        error: super::sql::Failure,
    ) -> Result<Self, super::sql::Failure> {
        let id = id.ok().flatten().unwrap_or_default().into_owned();
        Ok(Self { id, reason: super::sql::unreadable(error)? })
    }
}
