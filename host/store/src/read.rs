//! Reads of promises, journals, schedules and events.

use std::collections::BTreeMap;

use async_trait::async_trait;
use segno_core::{
    budget::{Budget, Costs},
    graph::{NodeEvent, NodeRow},
    id::{ObjectId, PromiseId, ScheduleId, StreamId},
    invocation::Record,
    limit::{Limit, LimitName, LimitPosition, Partition, PartitionId},
    promise::Schedule,
    saga::{Fact, FactKey},
    snapshot::Snapshot,
    stream::{DurableStream, StreamChunk},
    value::{Payload, Text},
};

use super::{
    AdmittedFilter, EventPosition, EventRow, ExecutionHistory, InvocationFilter, InvocationRow,
    LimitFilter, LimitRow, LogRow, ObjectFilter, ObjectRow, Page, PartitionFilter, PromiseFilter,
    PromiseRow, PromiseSize, ScheduleFilter, SchedulePage, StateCounts, StateSize, StoreCounts,
    StoreError, WaitEdges,
};

/// Maximum number of budgets that one read returns.
pub const BUDGETS_MAX: usize = 1_000;

/// Read operations. Each sees a committed state at least as new as every `execute` answered before
/// the read began.
#[async_trait]
pub trait Read: Send + Sync {
    /// Returns a promise with its task, without its waits.
    async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError>;

    /// Returns several promises in one read, in the order of `ids`.
    async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError>;

    /// Returns the records of an invocation from `from` on, at most `limit`.
    async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError>;

    /// Returns the log lines of a guest from line `from` on, at most `limit`.
    async fn logs(&self, id: &PromiseId, from: u32, limit: u32) -> Result<Vec<LogRow>, StoreError>;

    /// Returns the number of lines that a guest has logged so far.
    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError>;

    /// Returns the histories from which executions resume: all journal records of each invocation,
    /// given with its number of records, and the number of logged lines.
    async fn histories(&self, of: &[(PromiseId, u32)])
    -> Result<Vec<ExecutionHistory>, StoreError>;

    /// Returns the promises that `id` awaits, and those that await it.
    async fn waits(&self, id: &PromiseId) -> Result<WaitEdges, StoreError>;

    /// Returns the facts of an invocation's sagas, ordered by saga, step and kind.
    async fn facts(&self, id: &PromiseId) -> Result<Vec<(FactKey, Fact)>, StoreError>;

    /// Returns the rows of the nodes of a graph run, ordered by node.
    async fn graph_nodes(&self, run: &PromiseId) -> Result<Vec<(Text, NodeRow)>, StoreError>;

    /// Returns the history of a graph run, ordered by node, attempt and state. Events from before
    /// histories were kept are missing.
    async fn graph_history(&self, run: &PromiseId) -> Result<Vec<NodeEvent>, StoreError>;

    /// Returns the sizes of these promises, in the order of `ids`; zeros for a promise that does
    /// not exist.
    async fn promise_sizes(&self, ids: &[PromiseId]) -> Result<Vec<PromiseSize>, StoreError>;

    /// Returns the costs that the outcomes of these promises report, in the order of `ids`.
    async fn costs(&self, ids: &[PromiseId]) -> Result<Vec<Costs>, StoreError>;

    /// Returns a stream, without its data.
    async fn stream(&self, id: &StreamId) -> Result<Option<DurableStream>, StoreError>;

    /// Returns the streams of an execution, ordered by id.
    async fn streams_of(&self, owner: &PromiseId) -> Result<Vec<DurableStream>, StoreError>;

    /// Returns the data of a stream from a position on: consecutive chunks of at most `bytes_max`
    /// bytes together, and at least one if there is more data.
    async fn stream_data(
        &self,
        id: &StreamId,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<StreamChunk>, StoreError>;

    /// Returns the budget of an execution, if it has one of its own.
    async fn budget(&self, account: &PromiseId) -> Result<Option<Budget>, StoreError>;

    /// Returns the budgets of the executions below one, by account: at most [`BUDGETS_MAX`].
    async fn budgets_below(&self, id: &PromiseId) -> Result<Vec<(PromiseId, Budget)>, StoreError>;

    /// Returns the number of positions of a stream that an activity has appended.
    async fn stream_kept(&self, id: &StreamId, writer: &PromiseId) -> Result<u64, StoreError>;

    /// Returns the requested entries of an object's state; missing entries are omitted.
    async fn object_state(
        &self,
        object: &ObjectId,
        names: &[Text],
    ) -> Result<BTreeMap<Text, Payload>, StoreError>;

    /// Returns all state of an object as of one instant; `None` if its names and values exceed
    /// `bytes_max` bytes.
    async fn object_whole(
        &self,
        object: &ObjectId,
        bytes_max: u64,
    ) -> Result<Option<BTreeMap<Text, Payload>>, StoreError>;

    /// Returns the names in an object's state, in name order, with the sizes of their values.
    async fn object_names(&self, object: &ObjectId) -> Result<Vec<StateSize>, StoreError>;

    /// Lists objects in name order.
    async fn objects(&self, filter: &ObjectFilter)
    -> Result<Page<ObjectRow, ObjectId>, StoreError>;

    /// Returns a limit. `None` if it has no row.
    async fn limit(&self, name: &LimitName) -> Result<Option<Limit>, StoreError>;

    /// Lists limits that have rows, in name order.
    async fn limits(&self, filter: &LimitFilter) -> Result<Page<LimitRow, LimitName>, StoreError>;

    /// Lists the keys of a limit, in key order.
    async fn partitions(
        &self,
        filter: &PartitionFilter,
    ) -> Result<Page<(PartitionId, Partition), PartitionId>, StoreError>;

    /// Returns a key of a limit. `None` if it has no row.
    async fn partition(&self, id: &PartitionId) -> Result<Option<Partition>, StoreError>;

    /// Returns an execution's queue position at its limit, and the number of executions of the same
    /// priority ahead of it, counted up to `most`.
    async fn place(
        &self,
        id: &PromiseId,
        most: u32,
    ) -> Result<Option<(LimitPosition, u64)>, StoreError>;

    /// Returns the number of executions that wait in the lane of a queue position ahead of it,
    /// counted up to `most`.
    async fn ahead_of(&self, place: &LimitPosition, most: u32) -> Result<u64, StoreError>;

    /// Lists the unsettled executions that a limit has admitted: halted executions first, then in
    /// arrival order.
    async fn admitted(
        &self,
        filter: &AdmittedFilter,
    ) -> Result<Vec<(PromiseId, LimitPosition)>, StoreError>;

    /// Lists invocations, newest first.
    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError>;

    /// Counts the invocations that match the filter, by state. Ignores the cursor and the limit.
    async fn counts_by_state(&self, filter: &InvocationFilter) -> Result<StateCounts, StoreError>;

    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError>;

    /// Lists schedules in id order.
    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError>;

    /// Lists promises in id order.
    async fn find(&self, filter: &PromiseFilter)
    -> Result<Page<PromiseRow, PromiseId>, StoreError>;

    /// Lists unacknowledged events after this position, in publication order, at most `limit`. A
    /// host with its own clock may commit an event behind a position that was already read. A
    /// reader that must not miss any event reads from the beginning, and acknowledges the events it
    /// has processed.
    async fn events(
        &self,
        after: Option<EventPosition>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError>;

    /// Returns the counts for metrics.
    async fn counts(&self) -> Result<StoreCounts, StoreError>;

    /// Returns the whole content in canonical form: two stores with the same content return equal
    /// dumps.
    async fn dump(&self) -> Result<Snapshot, StoreError>;
}
