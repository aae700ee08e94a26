//! Result types and filters of reads.

use std::collections::BTreeMap;

use segno_core::{
    command::Command,
    id::{Claim, CommandIndex, Digest, PromiseId, ScheduleId, Version},
    invocation::{LogLevel, LogLine, Record},
    promise::{
        OutboxKey, OutboxMessage, OutboxMessageKind, OutboxRow, Promise, Schedule, Task,
        TaskStatus, Verdict,
    },
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};

/// A promise, and its task if it has one.
#[derive(Debug, Clone)]
pub struct PromiseRow {
    pub promise: Promise,
    /// The task that produces the promise's value.
    pub task: Option<Task>,
}

/// Size of a promise, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromiseSize {
    /// Size of the parameter.
    pub param: u64,
    /// Size of the value; 0 if it has none.
    pub value: u64,
}

/// Due commands, and the time of the next look.
#[derive(Debug, Clone, Default)]
pub struct DueWork {
    /// Commands to execute now.
    pub commands: Vec<Command>,
    /// Tasks that some of these commands wake.
    pub wakes: Vec<TaskWake>,
    /// The earliest instant at which more work will be due. `None` if nothing is scheduled.
    pub next: Option<Timestamp>,
}

/// A suspended host task that a due deadline will resume. It may be claimed in the same commit; the
/// version detects any change in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWake {
    /// The promise whose deadline is due.
    pub awaited: PromiseId,
    /// The task, with the version to present when claiming it.
    pub task: Claim,
}

/// The state from which an execution resumes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionHistory {
    pub records: Vec<Record>,
    /// Number of lines logged so far.
    pub lines: u32,
}

/// A task that waits for a worker of this kind of host.
#[derive(Debug, Clone)]
pub struct ReadyTask {
    /// Cursor of the next page.
    pub cursor: i64,
    pub id: PromiseId,
    /// The version to present when claiming the task.
    pub version: Version,
    /// The address of its function.
    pub target: String,
    /// The name of its module ([`Promise::module_name`](segno_core::promise::Promise::module_name)).
    pub module: String,
}

/// One line logged by a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// Number of the line in its invocation, from 0.
    pub line: u32,
    /// Time of the log call.
    pub at: Timestamp,
    /// Level: 0 trace, 1 debug, 2 info, 3 warn, 4 error.
    pub level: u8,
    pub message: String,
}

impl ExecutionHistory {
    /// Sorts the records into journal order.
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

impl DueWork {
    /// Merges both results.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.commands.extend(other.commands);
        self.wakes.extend(other.wakes);
        self.next = [self.next, other.next].into_iter().flatten().min();
        self
    }
}

/// Maximum count of a module's unfinished executions.
pub const COUNTED: u32 = 10_000;

/// A stored module.
#[derive(Debug, Clone)]
pub struct ModuleRow {
    /// The digest of the component's bytes.
    pub digest: Digest,
    /// Size of the component, in bytes.
    pub size: u64,
    /// Time of the first upload.
    pub created_at: Timestamp,
    /// The description of its functions from the upload, as JSON.
    pub description: String,
    /// Aliases that currently refer to it.
    pub aliases: Vec<String>,
}

/// Position of an event among undelivered events: ordered by instant, then number of the
/// invocation, then command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventPosition {
    /// Publication time.
    pub at: Timestamp,
    /// Number of the publishing invocation in this store.
    pub number: i64,
    /// Index of the publishing command.
    pub index: CommandIndex,
}

/// An unacknowledged event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Position among the unacknowledged events.
    pub place: EventPosition,
    /// The invocation that published it.
    pub source: PromiseId,
    pub topic: Text,
    pub payload: Value,
    /// Number of delivery attempts.
    pub attempts: u32,
    /// Time of the next delivery attempt; [`Timestamp::NEVER`] if no receiver subscribes to its
    /// topic.
    pub next_at: Timestamp,
}

impl EventRow {
    /// The event stored under `key`. `None` if the row is not an event.
    pub(super) fn of(key: &OutboxKey, row: &OutboxRow, number: i64) -> Option<Self> {
        let (OutboxKey::Event(source, index), OutboxMessage::Event { topic, payload }) =
            (key, &row.message)
        else {
            return None;
        };
        Some(Self {
            place: EventPosition { at: row.created_at, number, index: *index },
            source: source.clone(),
            topic: topic.clone(),
            payload: payload.clone(),
            attempts: row.attempts,
            next_at: row.next_at,
        })
    }

    /// The outbox key of the event.
    pub fn key(&self) -> OutboxKey {
        OutboxKey::Event(self.source.clone(), self.place.index)
    }
}

/// Row counts for metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Tasks under a claim.
    pub acquired: u64,
    /// Halted tasks, which wait for an operator.
    pub halted: u64,
    /// Host tasks that wait for a worker.
    pub ready: u64,
    /// Messages in the outbox, by kind; kinds without any are omitted.
    pub outbox: BTreeMap<OutboxMessageKind, u64>,
    /// For each database of a store of several, true if it answered. Empty for other stores.
    pub answered: Vec<bool>,
    /// Age of the oldest transaction over several databases that is prepared and not finished. Zero
    /// if there is none.
    pub in_doubt: Millis,
}

/// The wait edges of a promise.
#[derive(Debug, Clone, Default)]
pub struct WaitEdges {
    /// The promises that this promise's task awaits.
    pub awaits: Vec<PromiseId>,
    /// The promises whose tasks await this one.
    pub awaited_by: Vec<PromiseId>,
}

/// Filter for listing invocations (promises with a target), newest first.
#[derive(Debug, Clone, Default)]
pub struct InvocationFilter {
    /// Only invocations whose target is in this module, by the alias as it was called.
    pub module: Option<String>,
    /// Only invocations of this function.
    pub function: Option<String>,
    /// Only invocations in this state: pending, acquired, suspended, halted, resolved, rejected,
    /// cancelled, timed-out.
    pub state: Option<String>,
    /// Only invocations whose task this holder has claimed: an external worker by its self-chosen
    /// name, or a host by its name.
    pub holder: Option<String>,
    /// Only ids with this prefix.
    pub prefix: Option<String>,
    /// Only invocations with this label.
    pub label: Option<(String, String)>,
    /// Only children of this invocation.
    pub parent: Option<PromiseId>,
    /// Only roots: invocations without a parent.
    pub roots: bool,
    /// Only invocations created at this instant or later.
    pub since: Option<Timestamp>,
    /// Only invocations created before this instant.
    pub until: Option<Timestamp>,
    /// Cursor: only invocations after this one.
    pub after: Option<i64>,
    /// Maximum items in a page; 0 means 100.
    pub limit: u32,
}

/// Number of invocations in each state, among those that match a filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Counts by state name; states without invocations are omitted.
    pub states: BTreeMap<&'static str, u64>,
    /// True if older invocations were not examined.
    pub newest_only: bool,
}

/// The state of a promise, as a listing filters it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromiseStateFilter {
    /// No value yet; the deadline may have passed without being processed.
    Pending,
    /// Settled with this verdict.
    Settled(Verdict),
}

/// Filter for finding promises, in id order.
#[derive(Debug, Clone, Default)]
pub struct PromiseFilter {
    /// Only promises with this `branch` tag that no invocation of a module made.
    pub branch: Option<String>,
    /// Only promises in this state.
    pub standing: Option<PromiseStateFilter>,
    /// Only promises with all of these tags.
    pub tags: Tags,
    /// Only promises with a task.
    pub tasks: bool,
    /// Only promises whose task has this status.
    pub status: Option<TaskStatus>,
    /// Only ids with this prefix.
    pub prefix: Option<String>,
    /// Cursor: only ids after this one.
    pub after: Option<PromiseId>,
    /// Maximum items in a page; 0 means 100.
    pub limit: u32,
}

/// One row of an invocation listing.
#[derive(Debug, Clone)]
pub struct InvocationRow {
    /// The number of the promise, which orders listings; 0 if the row is from no listing.
    pub number: i64,
    /// The promise, without parameters and values larger than 16 KiB.
    pub promise: Promise,
    pub task: Task,
    /// Number of records in its journal.
    pub journal_len: u32,
}

/// Filter for listing schedules.
#[derive(Debug, Clone, Default)]
pub struct ScheduleFilter {
    /// Only ids with this prefix.
    pub prefix: Option<String>,
    /// Only schedules whose promises have all of these tags.
    pub tags: Tags,
    /// Cursor: only ids after this one.
    pub after: Option<ScheduleId>,
    /// Maximum items in a page; 0 means 100.
    pub limit: u32,
}

/// A page of schedules.
#[derive(Debug, Clone, Default)]
pub struct SchedulePage {
    /// The schedules, in id order.
    pub items: Vec<Schedule>,
    /// Schedules of this page whose rows cannot be read.
    pub unreadable: Vec<UnreadableEntity>,
    /// Cursor of the next page. `None` if this was the last.
    pub next: Option<ScheduleId>,
}

/// Lower bound of a page: inclusive or exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageBound {
    /// Inclusive.
    At,
    /// Exclusive.
    Behind,
}

impl ScheduleFilter {
    /// The lower bound of the next read: after `after`, and not before the prefix.
    pub(super) fn begins_at<'a>(&'a self, after: Option<&'a ScheduleId>) -> (PageBound, &'a str) {
        let after = after.map_or("", ScheduleId::as_str);
        match self.prefix.as_deref() {
            Some(prefix) if after < prefix => (PageBound::At, prefix),
            _ => (PageBound::Behind, after),
        }
    }

    /// True if an id sorts after all ids with the prefix.
    pub(super) fn is_behind(&self, id: &ScheduleId) -> bool {
        let behind = |prefix: &str| id.as_str() > prefix && !id.as_str().starts_with(prefix);
        self.prefix.as_deref().is_some_and(behind)
    }

    /// True if the filter matches this schedule. Ignores the cursor and the limit.
    pub(super) fn takes(&self, schedule: &Schedule) -> bool {
        let tags = &schedule.template.tags;
        self.prefix.as_ref().is_none_or(|prefix| schedule.id.as_str().starts_with(prefix))
            && self.tags.iter().all(|(name, value)| tags.get(name) == Some(value))
    }
}

impl Page<PromiseRow, PromiseId> {
    /// Builds a page of the first `limit` rows. `bound` is the last promise examined; `None` if all
    /// rows were examined.
    pub(super) fn of(mut rows: Vec<PromiseRow>, limit: usize, bound: Option<PromiseId>) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().map(|row| row.promise.id().clone()).filter(|_| more);
        Self { items: rows, unreadable: Vec::new(), next: last.or(bound) }
    }
}

impl SchedulePage {
    /// Builds a page of the first `limit` schedules; surplus schedules mean that another page
    /// follows.
    pub(super) fn of(schedules: impl Iterator<Item = Schedule>, limit: usize) -> Self {
        let mut items: Vec<Schedule> = schedules.take(limit.saturating_add(1)).collect();
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().map(|schedule| schedule.id.clone()).filter(|_| more);
        Self { items, unreadable: Vec::new(), next }
    }

    /// Adds the unreadable schedules that sort before the next page.
    pub(super) fn beside(self, mut unreadable: Vec<UnreadableEntity>) -> Self {
        if let Some(next) = &self.next {
            unreadable.retain(|row| row.id.as_str() <= next.as_str());
        }
        Self { unreadable, ..self }
    }
}

/// A page of a listing. For a filter that few rows match, the number of rows examined per page is
/// bounded, so a page may be shorter than its limit, or empty, and still not be the last.
#[derive(Debug, Clone)]
pub struct Page<T, C = i64> {
    pub items: Vec<T>,
    /// Rows of this page that cannot be read.
    pub unreadable: Vec<UnreadableEntity>,
    /// Cursor of the next page. `None` if this was the last.
    pub next: Option<C>,
}

/// An entity that exists but whose rows cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableEntity {
    pub id: String,
    /// The number of the promise, in listings that are ordered by it.
    pub number: Option<i64>,
    /// The reason why the row cannot be read.
    pub reason: String,
}

impl UnreadableEntity {
    /// Describes an unreadable row with this id.
    ///
    /// # Errors
    /// Fails if the database did not return the row.
    pub(super) fn of(
        id: Result<Option<std::borrow::Cow<'_, str>>, super::sql::SqlFailure>,
        error: super::sql::SqlFailure,
    ) -> Result<Self, super::sql::SqlFailure> {
        let id = id.ok().flatten().unwrap_or_default().into_owned();
        Ok(Self { id, number: None, reason: super::sql::unreadable(error)? })
    }
}
