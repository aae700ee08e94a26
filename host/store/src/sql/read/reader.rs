//! Runs reads on separate connections. Each read sees everything committed before it began.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    budget::{Budget, Costs},
    graph::{NodeEvent, NodeRow},
    id::{Digest, ObjectId, PromiseId, ScheduleId, StreamId},
    invocation::Record,
    limit::{Limit, LimitName, LimitPosition, Partition, PartitionId},
    promise::{OutboxMessageKind, Promise, Schedule},
    saga::{Fact, FactKey},
    snapshot::Snapshot,
    stream::{DurableStream, StreamChunk},
    time::Timestamp,
    value::{Payload, Text},
};
use sqlx::Transaction;

use super::{
    READ_ALL, budgets, call_tree, counts, due,
    due::ExpiredLeases,
    dump, events, examine, export, facts, failed, find, gather, graph_nodes, journal, limits, list,
    modules, objects, promises, refused, scan, schedules,
    session::{DatabaseKind, DatabaseSession as _, SqlDialect, UnmergedJournals as _},
    size, streams,
};
use crate::{
    AdmittedFilter, CallTree, ChildRow, DueWork, EventPosition, EventRow, ExaminedPage,
    ExecutionHistory, GatherError, GatherSelection, GatherSink, InvocationFilter, InvocationRow,
    LimitCount, LimitFilter, LimitRow, LogRow, ModuleRow, ObjectFilter, ObjectRow, Page,
    ParentCursor, PartitionFilter, PromiseFilter, PromiseRow, PromiseSize, Read, ReadyTask, Scan,
    ScanPage, ScheduleFilter, SchedulePage, SizeReport, StateCounts, StateSize, StoreCounts,
    StoreError, TreeNeighbours, WaitEdges, WorkQueue,
    archive::{ArchiveError, ArchiveSink},
    call_tree::{in_order, latest_in_order},
};

/// A pool of read connections.
#[derive(Debug)]
pub(crate) struct Reader<D: SqlDialect> {
    pub(crate) pool: D::Pool,
    pub(crate) unmerged: D::Unmerged,
}

impl<D: SqlDialect> Reader<D> {
    /// Takes a connection; errors name the read.
    async fn connection(&self, name: &'static str) -> Result<D::Borrowed, StoreError> {
        D::acquire(&self.pool).await.map_err(failed::<D, _>(name))
    }

    /// Begins a snapshot transaction; errors name the read.
    async fn snapshot(&self, name: &'static str) -> Result<Transaction<'static, D>, StoreError> {
        D::snapshot(&self.pool).await.map_err(failed::<D, _>(name))
    }

    /// Implements [`WorkQueue::due`], with control over expired leases.
    pub(crate) async fn due_with(
        &self,
        now: Timestamp,
        limit: u32,
        leases: ExpiredLeases,
    ) -> Result<DueWork, StoreError> {
        let name = "read what is due";
        let mut connection = self.connection(name).await?;
        due::due(&mut *connection, now, limit, leases).await.map_err(failed::<D, _>(name))
    }

    /// Implements [`crate::Modules::component`].
    pub(crate) async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        let name = "read a component";
        let mut connection = self.connection(name).await?;
        modules::component(&mut *connection, digest).await.map_err(failed::<D, _>(name))
    }

    /// Implements [`crate::Modules::named`].
    pub(crate) async fn module_named(&self, alias: &str) -> Result<Option<Digest>, StoreError> {
        let name = "read the module of an alias";
        let mut connection = self.connection(name).await?;
        modules::named(&mut *connection, alias).await.map_err(failed::<D, _>(name))
    }

    /// Implements [`crate::Modules::list`].
    pub(crate) async fn modules(&self) -> Result<Vec<ModuleRow>, StoreError> {
        let name = "read modules";
        let mut connection = self.connection(name).await?;
        modules::modules(&mut *connection).await.map_err(failed::<D, _>(name))
    }

    /// Implements [`crate::Modules::in_use`].
    pub(crate) async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        let name = "count what runs modules";
        let mut connection = self.connection(name).await?;
        modules::in_use(&mut *connection).await.map_err(failed::<D, _>(name))
    }

    /// Implements [`crate::Modules::unfinished`].
    pub(crate) async fn unfinished(
        &self,
        digest: Digest,
        limit: u32,
    ) -> Result<Vec<PromiseId>, StoreError> {
        let name = "read what runs a module";
        let mut connection = self.connection(name).await?;
        modules::unfinished(&mut *connection, digest, limit).await.map_err(failed::<D, _>(name))
    }
}

#[async_trait]
impl<D: SqlDialect> WorkQueue for Reader<D> {
    async fn due(&self, now: Timestamp, limit: u32) -> Result<DueWork, StoreError> {
        self.due_with(now, limit, ExpiredLeases::End).await
    }

    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ReadyTask>, StoreError> {
        let name = "read tasks that wait for a worker";
        let mut connection = self.connection(name).await?;
        due::ready(&mut *connection, now, after, limit).await.map_err(failed::<D, _>(name))
    }

    async fn outbox_due(
        &self,
        kind: OutboxMessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<DueWork, StoreError> {
        let name = "read messages";
        let mut connection = self.connection(name).await?;
        due::outbox(&mut *connection, kind, now, limit).await.map_err(failed::<D, _>(name))
    }
}

#[async_trait]
impl<D: SqlDialect> Read for Reader<D> {
    async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        Ok(self.promises(std::slice::from_ref(id)).await?.pop().flatten())
    }

    async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        let name = "read promises";
        let mut connection = self.connection(name).await?;
        promises::promises(&mut *connection, ids).await.map_err(failed::<D, _>(name))
    }

    async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        let name = "read a journal";
        let unmerged = self.unmerged.may_have([id]);
        let mut connection = self.connection(name).await?;
        let records = journal::records(&mut *connection, id, from, limit, unmerged).await;
        records.map_err(failed::<D, _>(name))
    }

    async fn logs(&self, id: &PromiseId, from: u32, limit: u32) -> Result<Vec<LogRow>, StoreError> {
        let name = "read logs";
        let mut connection = self.connection(name).await?;
        journal::logs(&mut *connection, id, from, limit).await.map_err(failed::<D, _>(name))
    }

    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError> {
        let name = "count log lines";
        let mut connection = self.connection(name).await?;
        journal::log_count(&mut *connection, id).await.map_err(failed::<D, _>(name))
    }

    async fn histories(
        &self,
        of: &[(PromiseId, u32)],
    ) -> Result<Vec<ExecutionHistory>, StoreError> {
        let name = "read journals";
        let unmerged = self.unmerged.may_have(of.iter().map(|(id, _)| id));
        let mut connection = self.connection(name).await?;
        journal::histories(&mut *connection, of, unmerged).await.map_err(failed::<D, _>(name))
    }

    async fn waits(&self, id: &PromiseId) -> Result<WaitEdges, StoreError> {
        let name = "read who waits";
        let mut connection = self.connection(name).await?;
        promises::waits(&mut *connection, id).await.map_err(failed::<D, _>(name))
    }

    async fn facts(&self, id: &PromiseId) -> Result<Vec<(FactKey, Fact)>, StoreError> {
        let name = "read the facts of sagas";
        let mut connection = self.connection(name).await?;
        facts::facts(&mut *connection, id).await.map_err(failed::<D, _>(name))
    }

    async fn graph_nodes(&self, run: &PromiseId) -> Result<Vec<(Text, NodeRow)>, StoreError> {
        let name = "read the nodes of a graph run";
        let mut connection = self.connection(name).await?;
        graph_nodes::graph_nodes(&mut *connection, run).await.map_err(failed::<D, _>(name))
    }

    async fn graph_history(&self, run: &PromiseId) -> Result<Vec<NodeEvent>, StoreError> {
        let name = "read the history of a graph run";
        let mut connection = self.connection(name).await?;
        graph_nodes::graph_history(&mut *connection, run).await.map_err(failed::<D, _>(name))
    }

    async fn promise_sizes(&self, ids: &[PromiseId]) -> Result<Vec<PromiseSize>, StoreError> {
        let name = "read sizes of promises";
        let mut connection = self.connection(name).await?;
        promises::sizes(&mut *connection, ids).await.map_err(failed::<D, _>(name))
    }

    async fn costs(&self, ids: &[PromiseId]) -> Result<Vec<Costs>, StoreError> {
        let name = "read costs";
        let mut connection = self.connection(name).await?;
        promises::costs(&mut *connection, ids).await.map_err(failed::<D, _>(name))
    }

    async fn stream(&self, id: &StreamId) -> Result<Option<DurableStream>, StoreError> {
        let name = "read a stream";
        let mut connection = self.connection(name).await?;
        streams::stream(&mut *connection, id).await.map_err(failed::<D, _>(name))
    }

    async fn streams_of(&self, owner: &PromiseId) -> Result<Vec<DurableStream>, StoreError> {
        let name = "list the streams of an execution";
        let mut connection = self.connection(name).await?;
        streams::of_execution(&mut *connection, owner).await.map_err(failed::<D, _>(name))
    }

    async fn stream_data(
        &self,
        id: &StreamId,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<StreamChunk>, StoreError> {
        let name = "read the data of a stream";
        let mut connection = self.connection(name).await?;
        streams::data(&mut *connection, id, from, bytes_max).await.map_err(failed::<D, _>(name))
    }

    async fn stream_kept(&self, id: &StreamId, writer: &PromiseId) -> Result<u64, StoreError> {
        let name = "count the items of an activity";
        let mut connection = self.connection(name).await?;
        streams::kept(&mut *connection, id, writer).await.map_err(failed::<D, _>(name))
    }

    async fn budget(&self, account: &PromiseId) -> Result<Option<Budget>, StoreError> {
        let name = "read a budget";
        let mut connection = self.connection(name).await?;
        budgets::of(&mut *connection, account).await.map_err(failed::<D, _>(name))
    }

    async fn budgets_below(&self, id: &PromiseId) -> Result<Vec<(PromiseId, Budget)>, StoreError> {
        let name = "read budgets";
        let mut connection = self.connection(name).await?;
        budgets::below(&mut *connection, id).await.map_err(failed::<D, _>(name))
    }

    async fn object_state(
        &self,
        object: &ObjectId,
        names: &[Text],
    ) -> Result<BTreeMap<Text, Payload>, StoreError> {
        let name = "read the state of an object";
        let mut connection = self.connection(name).await?;
        objects::state(&mut *connection, object, names).await.map_err(failed::<D, _>(name))
    }

    async fn object_whole(
        &self,
        object: &ObjectId,
        bytes_max: u64,
    ) -> Result<Option<BTreeMap<Text, Payload>>, StoreError> {
        let name = "read all state of an object";
        let mut connection = self.connection(name).await?;
        let read = objects::whole(&mut *connection, object, bytes_max).await;
        read.map_err(failed::<D, _>(name))
    }

    async fn object_names(&self, object: &ObjectId) -> Result<Vec<StateSize>, StoreError> {
        let name = "read the names in the state of an object";
        let mut connection = self.connection(name).await?;
        objects::sizes(&mut *connection, object).await.map_err(failed::<D, _>(name))
    }

    async fn limit(&self, limit: &LimitName) -> Result<Option<Limit>, StoreError> {
        let name = "read a limit";
        let mut connection = self.connection(name).await?;
        limits::one(&mut *connection, limit).await.map_err(failed::<D, _>(name))
    }

    async fn limits(&self, filter: &LimitFilter) -> Result<Page<LimitRow, LimitName>, StoreError> {
        let name = "list limits";
        let mut connection = self.connection(name).await?;
        limits::page(&mut *connection, filter).await.map_err(failed::<D, _>(name))
    }

    async fn partitions(
        &self,
        filter: &PartitionFilter,
    ) -> Result<Page<(PartitionId, Partition), PartitionId>, StoreError> {
        let name = "list keys of a limit";
        let mut connection = self.connection(name).await?;
        limits::keys(&mut *connection, filter).await.map_err(failed::<D, _>(name))
    }

    async fn partition(&self, id: &PartitionId) -> Result<Option<Partition>, StoreError> {
        let name = "read a key of a limit";
        let mut connection = self.connection(name).await?;
        limits::key(&mut *connection, id).await.map_err(failed::<D, _>(name))
    }

    async fn place(
        &self,
        id: &PromiseId,
        most: u32,
    ) -> Result<Option<(LimitPosition, u64)>, StoreError> {
        let name = "read a place behind a limit";
        let mut connection = self.connection(name).await?;
        limits::place(&mut *connection, id, most).await.map_err(failed::<D, _>(name))
    }

    async fn ahead_of(&self, place: &LimitPosition, most: u32) -> Result<u64, StoreError> {
        let name = "count who waits at a limit";
        let mut connection = self.connection(name).await?;
        limits::ahead_of(&mut *connection, place, most).await.map_err(failed::<D, _>(name))
    }

    async fn admitted(
        &self,
        filter: &AdmittedFilter,
    ) -> Result<Vec<(PromiseId, LimitPosition)>, StoreError> {
        let name = "list who was admitted by a limit";
        let mut connection = self.connection(name).await?;
        limits::admitted(&mut *connection, filter).await.map_err(failed::<D, _>(name))
    }

    async fn objects(
        &self,
        filter: &ObjectFilter,
    ) -> Result<Page<ObjectRow, ObjectId>, StoreError> {
        let name = "list objects";
        let mut snapshot = self.snapshot(name).await?;
        objects::page(&mut *snapshot, filter).await.map_err(failed::<D, _>(name))
    }

    async fn counts_by_state(&self, filter: &InvocationFilter) -> Result<StateCounts, StoreError> {
        let name = "count invocations";
        let state = list::state(filter)?;
        let mut connection = self.connection(name).await?;
        list::counts(&mut *connection, filter, state).await.map_err(failed::<D, _>(name))
    }

    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        let name = "list invocations";
        // Reject an unknown state name before any read.
        let state = list::state(filter)?;
        match D::Connection::KIND {
            // A separate statement reads journal lengths, so both need one snapshot.
            DatabaseKind::Sqlite => {
                let mut transaction = self.snapshot(name).await?;
                let page = list::page(&mut *transaction, filter, state).await;
                let page = page.map_err(failed::<D, _>(name))?;
                transaction.commit().await.map_err(failed::<D, _>(name))?;
                Ok(page)
            }
            DatabaseKind::Postgres => {
                let mut connection = self.connection(name).await?;
                list::page(&mut *connection, filter, state).await.map_err(failed::<D, _>(name))
            }
        }
    }

    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
        let name = "read a schedule";
        let mut connection = self.connection(name).await?;
        schedules::schedule(&mut *connection, id).await.map_err(failed::<D, _>(name))
    }

    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError> {
        let name = "list schedules";
        let mut connection = self.connection(name).await?;
        schedules::page(&mut *connection, filter).await.map_err(failed::<D, _>(name))
    }

    async fn find(
        &self,
        filter: &PromiseFilter,
    ) -> Result<Page<PromiseRow, PromiseId>, StoreError> {
        let name = "find promises";
        let mut connection = self.connection(name).await?;
        find::page(&mut *connection, filter).await.map_err(failed::<D, _>(name))
    }

    async fn events(
        &self,
        after: Option<EventPosition>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        let name = "read events";
        let mut connection = self.connection(name).await?;
        events::events(&mut *connection, after, limit).await.map_err(failed::<D, _>(name))
    }

    async fn counts(&self) -> Result<StoreCounts, StoreError> {
        let name = "count tasks and messages";
        let mut connection = self.connection(name).await?;
        counts::counts(&mut *connection).await.map_err(failed::<D, _>(name))
    }

    async fn dump(&self) -> Result<Snapshot, StoreError> {
        let name = "read everything";
        let mut transaction = self.snapshot(name).await?;
        let state = dump::whole(&mut *transaction).await.map_err(failed::<D, _>(name))?;
        transaction.commit().await.map_err(failed::<D, _>(name))?;
        Ok(Snapshot::of(&state))
    }
}

#[async_trait]
impl<D: SqlDialect> Scan for Reader<D> {
    async fn candidates(&self, after: i64, limit: u32) -> Result<ScanPage<PromiseId>, StoreError> {
        let name = "look for damage";
        let mut connection = self.connection(name).await?;
        scan::candidates(&mut *connection, after, limit).await.map_err(failed::<D, _>(name))
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<ScanPage<Promise>, StoreError> {
        let name = "look for finished trees";
        let mut connection = self.connection(name).await?;
        scan::finished(&mut *connection, after, limit, before).await.map_err(failed::<D, _>(name))
    }

    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<ExaminedPage, StoreError> {
        let name = "examine a page";
        let mut transaction = self.snapshot(name).await?;
        let page = examine::read(&mut *transaction, maker, after, limit).await;
        let page = page.map_err(failed::<D, _>(name))?;
        transaction.commit().await.map_err(failed::<D, _>(name))?;
        Ok(page)
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let name = "check the database";
        let mut connection = self.connection(name).await?;
        scan::integrity(&mut *connection).await.map_err(failed::<D, _>(name))
    }

    async fn limit_counts(&self) -> Result<Vec<LimitCount>, StoreError> {
        let name = "count the executions behind limits";
        let mut connection = self.connection(name).await?;
        limits::counts(&mut *connection).await.map_err(failed::<D, _>(name))
    }

    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
        let mut transaction = D::snapshot(&self.pool).await.map_err(refused(READ_ALL))?;
        export(&mut *transaction, sink).await?;
        transaction.commit().await.map_err(refused(READ_ALL))
    }

    async fn gather(
        &self,
        selection: &GatherSelection,
        sink: &mut dyn GatherSink,
    ) -> Result<(), GatherError> {
        let name = "gather executions";
        let mut transaction = self.snapshot(name).await?;
        gather::<D>(&mut transaction, selection, sink).await?;
        Ok(transaction.commit().await.map_err(failed::<D, _>(name))?)
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        let name = "measure the database";
        let mut transaction = self.snapshot(name).await?;
        let report = size::report(&mut *transaction, top).await.map_err(failed::<D, _>(name))?;
        transaction.commit().await.map_err(failed::<D, _>(name))?;
        Ok(report)
    }
}

#[async_trait]
impl<D: SqlDialect> CallTree for Reader<D> {
    async fn children(
        &self,
        parents: &[ParentCursor],
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError> {
        let name = "read children";
        let mut connection = self.connection(name).await?;
        let children = call_tree::children(&mut *connection, parents, each, false).await;
        Ok(in_order(children.map_err(failed::<D, _>(name))?, each))
    }

    async fn latest(
        &self,
        parents: &[ParentCursor],
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError> {
        let name = "read the latest children";
        let mut connection = self.connection(name).await?;
        let children = call_tree::children(&mut *connection, parents, each, true).await;
        Ok(latest_in_order(children.map_err(failed::<D, _>(name))?, each))
    }

    async fn neighbours(
        &self,
        ids: &[PromiseId],
        count: u32,
        awaits: u32,
    ) -> Result<Vec<Option<TreeNeighbours>>, StoreError> {
        let name = "read who is around";
        let mut connection = self.connection(name).await?;
        call_tree::neighbours(&mut *connection, ids, count, awaits)
            .await
            .map_err(failed::<D, _>(name))
    }
}
