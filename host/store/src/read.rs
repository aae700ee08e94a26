//! Reads of promises, journals, schedules and events.

use std::collections::BTreeMap;

use async_trait::async_trait;
use segno_core::{
    graph::{NodeEvent, NodeRow},
    id::{ObjectId, PromiseId, ScheduleId},
    invocation::Record,
    limit::{Limit, LimitName, Partition, PartitionId, Place},
    promise::Schedule,
    saga::{Fact, FactKey},
    snapshot::Snapshot,
    value::{Payload, Text},
};

use super::{
    AdmittedFilter, Counts, EventPlace, EventRow, History, InvocationFilter, InvocationRow,
    LimitFilter, LimitRow, LogRow, ObjectFilter, ObjectRow, Page, PartitionFilter, PromiseFilter,
    PromiseRow, PromiseSize, ScheduleFilter, SchedulePage, StateCounts, StateSize, StoreError,
    Waits,
};

/// Reads. Each sees a committed state at least as new as every `execute` that had been answered
/// before the read began.
#[async_trait]
pub trait Read: Send + Sync {
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

    /// The number of lines that a guest logged so far.
    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError>;

    /// The histories from which executions continue: all records of each invocation, whose number
    /// is given, and the number of logged lines.
    async fn histories(&self, of: &[(PromiseId, u32)]) -> Result<Vec<History>, StoreError>;

    /// The promises that `id` awaits, and those that await it.
    async fn waits(&self, id: &PromiseId) -> Result<Waits, StoreError>;

    /// The facts of an invocation's sagas, by saga, step and kind.
    async fn facts(&self, id: &PromiseId) -> Result<Vec<(FactKey, Fact)>, StoreError>;

    /// What is known of the nodes of a graph run, by node.
    async fn graph_nodes(&self, run: &PromiseId) -> Result<Vec<(Text, NodeRow)>, StoreError>;

    /// The history of a graph run, by node, attempt and state; nothing for what happened before
    /// histories were kept.
    async fn graph_history(&self, run: &PromiseId) -> Result<Vec<NodeEvent>, StoreError>;

    /// The sizes of these promises, in the order of `ids`; nothing for one that does not exist.
    async fn promise_sizes(&self, ids: &[PromiseId]) -> Result<Vec<PromiseSize>, StoreError>;

    /// These parts of an object's state, as far as it has them.
    async fn object_state(
        &self,
        object: &ObjectId,
        names: &[Text],
    ) -> Result<BTreeMap<Text, Payload>, StoreError>;

    /// All state of an object as it is at one instant; `None` if its names and values have more than `bytes_max` bytes.
    async fn object_whole(
        &self,
        object: &ObjectId,
        bytes_max: u64,
    ) -> Result<Option<BTreeMap<Text, Payload>>, StoreError>;

    /// The names in an object's state, in their order, and how large their values are.
    async fn object_names(&self, object: &ObjectId) -> Result<Vec<StateSize>, StoreError>;

    /// Objects in the order of their names.
    async fn objects(&self, filter: &ObjectFilter)
    -> Result<Page<ObjectRow, ObjectId>, StoreError>;

    /// A limit, if it has a row.
    async fn limit(&self, name: &LimitName) -> Result<Option<Limit>, StoreError>;

    /// Limits that have rows, in the order of their names.
    async fn limits(&self, filter: &LimitFilter) -> Result<Page<LimitRow, LimitName>, StoreError>;

    /// The keys of a limit, in their order.
    async fn partitions(
        &self,
        filter: &PartitionFilter,
    ) -> Result<Page<(PartitionId, Partition), PartitionId>, StoreError>;

    /// A key of a limit, if it has a row.
    async fn partition(&self, id: &PartitionId) -> Result<Option<Partition>, StoreError>;

    /// Where an execution stands behind its limit, and how many of its priority wait before it,
    /// counted up to `most`.
    async fn place(&self, id: &PromiseId, most: u32) -> Result<Option<(Place, u64)>, StoreError>;

    /// Executions that a limit has admitted and that have not settled: halted ones first, then in the
    /// order in which they came.
    async fn admitted(
        &self,
        filter: &AdmittedFilter,
    ) -> Result<Vec<(PromiseId, Place)>, StoreError>;

    /// Invocations in the order of their creation, newest first.
    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError>;

    /// The number of invocations that the filter takes, by state, whatever its cursor and limit.
    async fn counts_by_state(&self, filter: &InvocationFilter) -> Result<StateCounts, StoreError>;

    /// A schedule.
    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError>;

    /// Schedules, by id.
    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError>;

    /// Promises in the order of their ids.
    async fn find(&self, filter: &PromiseFilter)
    -> Result<Page<PromiseRow, PromiseId>, StoreError>;

    /// Events that were not acknowledged, in the order in which they were published, after this
    /// place, at most `limit`. A host with a clock of its own may commit an event behind a place
    /// that was read already: a reader that must miss none reads from the beginning, and
    /// acknowledges what it has processed.
    async fn events(
        &self,
        after: Option<EventPlace>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError>;

    /// The numbers that metrics show.
    async fn counts(&self) -> Result<Counts, StoreError>;

    /// Everything, in canonical form: two stores with the same content answer the same.
    async fn dump(&self) -> Result<Snapshot, StoreError>;
}
