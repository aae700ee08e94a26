//! Storage: load what a command needs, let the core decide, write the delta, in one transaction.
//!
//! The stores know rows and transactions. They know no rule: what happens is decided by
//! [`segno_core::transition::transition`], the same over memory, SQLite and PostgreSQL.

pub mod archive;
mod call_tree;
mod diagnosis;
mod error;
mod heap;
mod hints;
mod invocation_filter;
mod limits;
mod memory;
mod order;
mod promise_filter;
mod query;
mod size;
mod sql;

pub mod postgres;
mod scan;
pub mod sqlite;
mod writing;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    command::Command,
    id::{Digest, PromiseId, ScheduleId},
    invocation::Record,
    promise::{MessageKind, Schedule},
    reply::Reply,
    snapshot::Snapshot,
    time::Timestamp,
};

pub use call_tree::{CallTree, Child, Neighbours, Parent};
pub use diagnosis::{Diagnosis, Finding, examine, examine_pages};
pub use error::StoreError;
pub use hints::{Commit, Hints};
pub use memory::MemoryStore;
pub use query::{
    COUNTED, Counts, Due, EventPlace, EventRow, History, InvocationFilter, InvocationRow, LogRow,
    ModuleRow, Page, PromiseFilter, PromiseRow, Ready, ScheduleFilter, SchedulePage, Standing,
    Unreadable, Waits, Wake,
};
pub use scan::{Examined, Found, Scan};
pub use size::{FunctionSize, ModuleSize, PartSize, SizeReport, TreeSize};

/// Where everything that matters is kept.
///
/// Reads see a committed state at least as new as every `execute` that had been answered before the read began.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Decides `commands` one after the other, each on the state that the one before it left, and commits them
    /// together; other submissions may share the transaction. One reply each, in order.
    ///
    /// # Errors
    /// See [`StoreError`]: `UnknownOutcome` means it may have happened, and the same commands may be sent again.
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError>;

    /// As [`Store::execute`], for somebody who keeps the commands to send them again.
    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError>;

    /// A promise with its task, waits left out.
    async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError>;

    /// Several promises at once, in the order of `ids`.
    async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError>;

    /// The records of an invocation from `from` on, at most `limit`.
    async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError>;

    /// What a guest logged, from line `from` on, at most `limit`.
    async fn logs(&self, id: &PromiseId, from: u32, limit: u32) -> Result<Vec<LogRow>, StoreError>;

    /// How many lines a guest logged so far.
    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError>;

    /// What the executions of these invocations go on from: all records, of which there are as many as is said, and
    /// the count of logged lines.
    async fn histories(&self, of: &[(PromiseId, u32)]) -> Result<Vec<History>, StoreError>;

    /// What `id` waits for, and who waits for it.
    async fn waits(&self, id: &PromiseId) -> Result<Waits, StoreError>;

    /// The same store for clients that look around: their reads have connections of their own, so that they take none
    /// from the engine, and a limit of time each ([`StoreError::TooLong`]). None: this store makes no difference.
    fn for_clients(&self) -> Option<Arc<dyn Store>>;

    /// Invocations in the order of their creation, newest first.
    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError>;

    /// A schedule.
    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError>;

    /// Schedules, by id.
    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError>;

    /// Promises in the order of their ids.
    async fn find(&self, filter: &PromiseFilter)
    -> Result<Page<PromiseRow, PromiseId>, StoreError>;

    /// Due commands (deadlines, leases, retries, schedules), at most `limit`, and when the next one will be due.
    async fn due(&self, now: Timestamp, limit: u32) -> Result<Due, StoreError>;

    /// Tasks of hosted targets that wait for a worker and may be dispatched now, in the order of their creation,
    /// after the one with the cursor `after`.
    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Ready>, StoreError>;

    /// Outbox rows of this kind that are due, as commands, at most `limit`, and when the next one will be due.
    async fn outbox_due(
        &self,
        kind: MessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Due, StoreError>;

    /// Events that nobody has acknowledged, in the order in which they were published, after this place, at most
    /// `limit`. Hosts with clocks of their own may commit one behind a place that was read already: whoever must miss
    /// none reads from the beginning, and acknowledges what it has dealt with.
    async fn events(
        &self,
        after: Option<EventPlace>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError>;

    /// How much there is of what figures show.
    async fn counts(&self) -> Result<Counts, StoreError>;

    /// Keeps a component under its digest. Keeping it twice is the same as once.
    async fn put_component(
        &self,
        digest: Digest,
        component: Arc<[u8]>,
        description: String,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The component with this digest.
    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError>;

    /// Every module that is kept, with its aliases.
    async fn modules(&self) -> Result<Vec<ModuleRow>, StoreError>;

    /// Unfinished executions of each module that has any, counted up to [`COUNTED`]: this is for people to look at.
    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError>;

    /// Looking over everything, a page at a time.
    fn scan(&self) -> &dyn Scan;

    /// Reading who made whom.
    fn call_tree(&self) -> &dyn CallTree;

    /// Removes a module that was uploaded before `before`, and that no alias and no task refers to. Whether it did.
    async fn remove_component(&self, digest: Digest, before: Timestamp)
    -> Result<bool, StoreError>;

    /// Whether writes are committed at present: the last one was, a moment ago, or a small one is made to find out.
    async fn check_writes(&self) -> Result<(), StoreError>;

    /// Gives room that is free back to the system, a bounded piece of it. Whether there is more. A store whose database
    /// does that by itself has nothing to do.
    async fn vacuum(&self) -> Result<bool, StoreError>;

    /// Everything, canonically: two stores that hold the same answer the same.
    async fn dump(&self) -> Result<Snapshot, StoreError>;

    /// Forgets everything but modules, aliases and hosts; for debugging.
    async fn wipe(&self) -> Result<(), StoreError>;

    /// Writes what is still to be written and gives the data directory back.
    async fn close(&self);
}
