//! A store behind a gate, which every call must pass first.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    budget::{Budget, Costs},
    command::Command,
    graph::{NodeEvent, NodeRow},
    id::{Digest, ObjectId, PromiseId, ScheduleId, StreamId},
    invocation::Record,
    limit::{Limit, LimitName, LimitPosition, Partition, PartitionId},
    promise::{OutboxMessageKind, Promise, Schedule},
    reply::Reply,
    saga::{Fact, FactKey},
    snapshot::Snapshot,
    stream::{DurableStream, StreamChunk},
    time::Timestamp,
    value::{Payload, Text},
};
use segno_store::{
    AdmittedFilter, CallTree, DueWork, EventPosition, EventRow, ExaminedPage, ExecutionHistory,
    GatherError, GatherSelection, GatherSink, InvocationFilter, InvocationRow, LimitCount,
    LimitFilter, LimitRow, LogRow, ModuleRow, Modules, NewModule, ObjectFilter, ObjectRow, Page,
    PartitionFilter, PromiseFilter, PromiseRow, PromiseSize, Read, ReadyTask, Scan, ScanPage,
    ScheduleFilter, SchedulePage, SizeReport, StateCounts, StateSize, Store, StoreCounts,
    StoreError, WaitEdges, WorkQueue,
    archive::{ArchiveError, ArchiveSink},
};

/// A gate in front of a store.
#[async_trait]
pub trait StoreGate: Send + Sync + 'static {
    /// The store behind the gate.
    fn behind(&self) -> &dyn Store;

    /// Lets a call pass immediately, later, or never.
    async fn pass(&self) -> Result<(), StoreError>;

    /// Executes commands behind the gate.
    async fn commit(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError>;

    /// Maximum number of records that a read of a journal returns.
    fn shown(&self) -> u32 {
        u32::MAX
    }

    /// Records the rows that one read returned.
    fn seen(&self, _rows: &[Option<PromiseRow>]) {}
}

/// The error of a commit whose outcome a simulated fault hides.
pub fn unknown_outcome() -> StoreError {
    StoreError::UnknownOutcome(anyhow::anyhow!("a fault of the simulation"))
}

/// The store behind a gate.
pub struct GatedStore<G>(pub G);

#[async_trait]
impl<G: StoreGate> Store for GatedStore<G> {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.0.commit(commands).await
    }

    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        self.0.commit(commands.to_vec()).await
    }

    fn read(&self) -> &dyn Read {
        self
    }

    fn work_queue(&self) -> &dyn WorkQueue {
        self
    }

    fn scan(&self) -> &dyn Scan {
        self
    }

    fn call_tree(&self) -> &dyn CallTree {
        self.0.behind().call_tree()
    }

    fn modules(&self) -> &dyn Modules {
        self
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        self.0.pass().await?;
        self.0.behind().check_writes().await
    }

    fn missing(&self) -> Vec<String> {
        self.0.behind().missing()
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        self.0.pass().await?;
        self.0.behind().vacuum().await
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.0.pass().await?;
        self.0.behind().wipe().await
    }

    async fn close(&self) {}
}

/// Implements a part of [`Store`]: the listed methods pass the gate and call the same method behind
/// it; the methods in braces are as written.
macro_rules! gated {
    (
        impl $part:ident by $access:ident;
        $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*
        { $($written:tt)* }
    ) => {
        #[async_trait]
        impl<G: StoreGate> $part for GatedStore<G> {
            $(async fn $name(&self, $($argument: $type),*) -> $result {
                self.0.pass().await?;
                self.0.behind().$access().$name($($argument),*).await
            })*
            $($written)*
        }
    };
}

type Answer<T> = Result<T, StoreError>;

gated! {
    impl Read by read;
    fn promise(id: &PromiseId) -> Answer<Option<PromiseRow>>;
    fn logs(id: &PromiseId, from: u32, limit: u32) -> Answer<Vec<LogRow>>;
    fn log_count(id: &PromiseId) -> Answer<u32>;
    fn waits(id: &PromiseId) -> Answer<WaitEdges>;
    fn facts(id: &PromiseId) -> Answer<Vec<(FactKey, Fact)>>;
    fn graph_nodes(run: &PromiseId) -> Answer<Vec<(Text, NodeRow)>>;
    fn graph_history(run: &PromiseId) -> Answer<Vec<NodeEvent>>;
    fn promise_sizes(ids: &[PromiseId]) -> Answer<Vec<PromiseSize>>;
    fn costs(ids: &[PromiseId]) -> Answer<Vec<Costs>>;
    fn stream(id: &StreamId) -> Answer<Option<DurableStream>>;
    fn streams_of(owner: &PromiseId) -> Answer<Vec<DurableStream>>;
    fn stream_data(id: &StreamId, from: u64, most: usize) -> Answer<Vec<StreamChunk>>;
    fn stream_kept(id: &StreamId, writer: &PromiseId) -> Answer<u64>;
    fn budget(account: &PromiseId) -> Answer<Option<Budget>>;
    fn budgets_below(id: &PromiseId) -> Answer<Vec<(PromiseId, Budget)>>;
    fn object_state(object: &ObjectId, names: &[Text]) -> Answer<BTreeMap<Text, Payload>>;
    fn object_whole(object: &ObjectId, bytes: u64) -> Answer<Option<BTreeMap<Text, Payload>>>;
    fn object_names(object: &ObjectId) -> Answer<Vec<StateSize>>;
    fn objects(filter: &ObjectFilter) -> Answer<Page<ObjectRow, ObjectId>>;
    fn limit(name: &LimitName) -> Answer<Option<Limit>>;
    fn limits(filter: &LimitFilter) -> Answer<Page<LimitRow, LimitName>>;
    fn partitions(filter: &PartitionFilter) -> Answer<Page<(PartitionId, Partition), PartitionId>>;
    fn partition(id: &PartitionId) -> Answer<Option<Partition>>;
    fn place(id: &PromiseId, most: u32) -> Answer<Option<(LimitPosition, u64)>>;
    fn ahead_of(place: &LimitPosition, most: u32) -> Answer<u64>;
    fn admitted(filter: &AdmittedFilter) -> Answer<Vec<(PromiseId, LimitPosition)>>;
    fn list(filter: &InvocationFilter) -> Answer<Page<InvocationRow>>;
    fn counts_by_state(filter: &InvocationFilter) -> Answer<StateCounts>;
    fn schedule(id: &ScheduleId) -> Answer<Option<Schedule>>;
    fn schedules(filter: &ScheduleFilter) -> Answer<SchedulePage>;
    fn find(filter: &PromiseFilter) -> Answer<Page<PromiseRow, PromiseId>>;
    fn events(after: Option<EventPosition>, limit: u32) -> Answer<Vec<EventRow>>;
    fn counts() -> Answer<StoreCounts>;
    fn dump() -> Answer<Snapshot>;
    {
        async fn promises(&self, ids: &[PromiseId]) -> Answer<Vec<Option<PromiseRow>>> {
            self.0.pass().await?;
            let rows = self.0.behind().read().promises(ids).await?;
            self.0.seen(&rows);
            Ok(rows)
        }

        async fn journal(&self, id: &PromiseId, from: u32, limit: u32) -> Answer<Vec<Record>> {
            self.0.pass().await?;
            let limit = limit.min(self.0.shown().saturating_sub(from));
            self.0.behind().read().journal(id, from, limit).await
        }

        async fn histories(&self, of: &[(PromiseId, u32)]) -> Answer<Vec<ExecutionHistory>> {
            self.0.pass().await?;
            let mut histories = self.0.behind().read().histories(of).await?;
            for history in &mut histories {
                history.records.truncate(self.0.shown() as usize);
            }
            Ok(histories)
        }
    }
}

gated! {
    impl WorkQueue by work_queue;
    fn due(now: Timestamp, limit: u32) -> Answer<DueWork>;
    fn ready(now: Timestamp, after: Option<i64>, limit: u32) -> Answer<Vec<ReadyTask>>;
    fn outbox_due(kind: OutboxMessageKind, now: Timestamp, limit: u32) -> Answer<DueWork>;
    {}
}

gated! {
    impl Scan by scan;
    fn candidates(after: i64, limit: u32) -> Answer<ScanPage<PromiseId>>;
    fn finished(after: i64, limit: u32, before: Timestamp) -> Answer<ScanPage<Promise>>;
    fn examine(maker: Option<&PromiseId>, after: i64, limit: u32) -> Answer<ExaminedPage>;
    fn integrity() -> Answer<Vec<String>>;
    fn limit_counts() -> Answer<Vec<LimitCount>>;
    fn gather(of: &GatherSelection, sink: &mut dyn GatherSink) -> Result<(), GatherError>;
    fn size(top: u32) -> Answer<SizeReport>;
    {
        async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
            self.0.behind().scan().export(sink).await
        }
    }
}

gated! {
    impl Modules by modules;
    fn put(module: NewModule) -> Answer<()>;
    fn component(digest: Digest) -> Answer<Option<Arc<[u8]>>>;
    fn named(alias: &str) -> Answer<Option<Digest>>;
    fn list() -> Answer<Vec<ModuleRow>>;
    fn in_use() -> Answer<BTreeMap<Digest, u64>>;
    fn unfinished(digest: Digest, limit: u32) -> Answer<Vec<PromiseId>>;
    fn remove(digest: Digest, before: Timestamp) -> Answer<bool>;
    {}
}
