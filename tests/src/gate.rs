//! A store behind a gate that every read must pass first.
//!
//! The gates are a test's faults (`world::faults`) and a link of the simulation (`sim::remote`).

use segno_store::{Store, StoreError};

/// A gate that a read passes before it reaches the store.
pub trait Gate {
    /// Lets a read pass immediately, later, or never.
    fn pass(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The store behind the gate.
    fn behind(&self) -> &dyn Store;

    /// Maximum number of records that a read of a journal returns.
    fn shown(&self) -> u32;

    /// Records the number of bytes of promises that one read returned.
    fn seen(&self, _bytes: u64) {}
}

/// Implements all reading parts of [`segno_store::Store`], and the modules.
#[macro_export]
macro_rules! gated_reads {
    ($store:ty) => {
        const _: () = {
            use std::{collections::BTreeMap, sync::Arc};

            use async_trait::async_trait;
            use segno_core::{
                graph::{NodeEvent, NodeRow},
                id::{Digest, ObjectId, PromiseId, ScheduleId},
                invocation::Record,
                limit::{Limit, LimitName, LimitPosition, Partition, PartitionId},
                promise::{OutboxMessageKind, Promise, Schedule},
                saga::{Fact, FactKey},
                snapshot::Snapshot,
                time::Timestamp,
                value::{Payload, Text},
            };
            use segno_store::{
                AdmittedFilter, DueWork, EventPosition, EventRow, ExaminedPage, ExecutionHistory,
                GatherError, GatherSelection, GatherSink, InvocationFilter, InvocationRow,
                LimitFilter, LimitRow, LogRow, ModuleRow, Modules, NewModule, ObjectFilter,
                ObjectRow, Page, PartitionFilter, PromiseFilter, PromiseRow, PromiseSize, Read,
                ReadyTask, Scan, ScanPage, ScheduleFilter, SchedulePage, SizeReport, StateCounts,
                StateSize, StoreCounts, StoreError, WaitEdges, WorkQueue,
                archive::{ArchiveError, ArchiveSink},
            };
            use $crate::gate::Gate;

            #[async_trait]
            impl Read for $store {
                async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
                    self.pass().await?;
                    self.behind().read().promise(id).await
                }

                async fn promises(
                    &self,
                    ids: &[PromiseId],
                ) -> Result<Vec<Option<PromiseRow>>, StoreError> {
                    self.pass().await?;
                    let rows = self.behind().read().promises(ids).await?;
                    let bytes = |row: &PromiseRow| {
                        let value = row.promise.settlement().and_then(|it| it.value.as_ref());
                        let value = value.map_or(0, |value| value.data.len());
                        (row.promise.spec.param.data.len() + value) as u64
                    };
                    self.seen(rows.iter().flatten().map(bytes).sum());
                    Ok(rows)
                }

                async fn journal(
                    &self,
                    id: &PromiseId,
                    from: u32,
                    limit: u32,
                ) -> Result<Vec<Record>, StoreError> {
                    self.pass().await?;
                    let limit = limit.min(self.shown().saturating_sub(from));
                    self.behind().read().journal(id, from, limit).await
                }

                async fn logs(
                    &self,
                    id: &PromiseId,
                    from: u32,
                    limit: u32,
                ) -> Result<Vec<LogRow>, StoreError> {
                    self.pass().await?;
                    self.behind().read().logs(id, from, limit).await
                }

                async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError> {
                    self.pass().await?;
                    self.behind().read().log_count(id).await
                }

                async fn histories(
                    &self,
                    of: &[(PromiseId, u32)],
                ) -> Result<Vec<ExecutionHistory>, StoreError> {
                    self.pass().await?;
                    let mut histories = self.behind().read().histories(of).await?;
                    for history in &mut histories {
                        history.records.truncate(self.shown() as usize);
                    }
                    Ok(histories)
                }

                async fn waits(&self, id: &PromiseId) -> Result<WaitEdges, StoreError> {
                    self.pass().await?;
                    self.behind().read().waits(id).await
                }

                async fn facts(&self, id: &PromiseId) -> Result<Vec<(FactKey, Fact)>, StoreError> {
                    self.pass().await?;
                    self.behind().read().facts(id).await
                }

                async fn graph_nodes(
                    &self,
                    run: &PromiseId,
                ) -> Result<Vec<(Text, NodeRow)>, StoreError> {
                    self.pass().await?;
                    self.behind().read().graph_nodes(run).await
                }

                async fn graph_history(
                    &self,
                    run: &PromiseId,
                ) -> Result<Vec<NodeEvent>, StoreError> {
                    self.pass().await?;
                    self.behind().read().graph_history(run).await
                }

                async fn promise_sizes(
                    &self,
                    ids: &[PromiseId],
                ) -> Result<Vec<PromiseSize>, StoreError> {
                    self.pass().await?;
                    self.behind().read().promise_sizes(ids).await
                }

                async fn object_state(
                    &self,
                    object: &ObjectId,
                    names: &[Text],
                ) -> Result<BTreeMap<Text, Payload>, StoreError> {
                    self.pass().await?;
                    self.behind().read().object_state(object, names).await
                }

                async fn object_whole(
                    &self,
                    object: &ObjectId,
                    bytes_max: u64,
                ) -> Result<Option<BTreeMap<Text, Payload>>, StoreError> {
                    self.pass().await?;
                    self.behind().read().object_whole(object, bytes_max).await
                }

                async fn object_names(
                    &self,
                    object: &ObjectId,
                ) -> Result<Vec<StateSize>, StoreError> {
                    self.pass().await?;
                    self.behind().read().object_names(object).await
                }

                async fn objects(
                    &self,
                    filter: &ObjectFilter,
                ) -> Result<Page<ObjectRow, ObjectId>, StoreError> {
                    self.pass().await?;
                    self.behind().read().objects(filter).await
                }

                async fn limit(&self, name: &LimitName) -> Result<Option<Limit>, StoreError> {
                    self.pass().await?;
                    self.behind().read().limit(name).await
                }

                async fn limits(
                    &self,
                    filter: &LimitFilter,
                ) -> Result<Page<LimitRow, LimitName>, StoreError> {
                    self.pass().await?;
                    self.behind().read().limits(filter).await
                }

                async fn partitions(
                    &self,
                    filter: &PartitionFilter,
                ) -> Result<Page<(PartitionId, Partition), PartitionId>, StoreError> {
                    self.pass().await?;
                    self.behind().read().partitions(filter).await
                }

                async fn partition(
                    &self,
                    id: &PartitionId,
                ) -> Result<Option<Partition>, StoreError> {
                    self.pass().await?;
                    self.behind().read().partition(id).await
                }

                async fn place(
                    &self,
                    id: &PromiseId,
                    most: u32,
                ) -> Result<Option<(LimitPosition, u64)>, StoreError> {
                    self.pass().await?;
                    self.behind().read().place(id, most).await
                }

                async fn admitted(
                    &self,
                    filter: &AdmittedFilter,
                ) -> Result<Vec<(PromiseId, LimitPosition)>, StoreError> {
                    self.pass().await?;
                    self.behind().read().admitted(filter).await
                }

                async fn list(
                    &self,
                    filter: &InvocationFilter,
                ) -> Result<Page<InvocationRow>, StoreError> {
                    self.pass().await?;
                    self.behind().read().list(filter).await
                }

                async fn counts_by_state(
                    &self,
                    filter: &InvocationFilter,
                ) -> Result<StateCounts, StoreError> {
                    self.pass().await?;
                    self.behind().read().counts_by_state(filter).await
                }

                async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
                    self.pass().await?;
                    self.behind().read().schedule(id).await
                }

                async fn schedules(
                    &self,
                    filter: &ScheduleFilter,
                ) -> Result<SchedulePage, StoreError> {
                    self.pass().await?;
                    self.behind().read().schedules(filter).await
                }

                async fn find(
                    &self,
                    filter: &PromiseFilter,
                ) -> Result<Page<PromiseRow, PromiseId>, StoreError> {
                    self.pass().await?;
                    self.behind().read().find(filter).await
                }

                async fn events(
                    &self,
                    after: Option<EventPosition>,
                    limit: u32,
                ) -> Result<Vec<EventRow>, StoreError> {
                    self.pass().await?;
                    self.behind().read().events(after, limit).await
                }

                async fn counts(&self) -> Result<StoreCounts, StoreError> {
                    self.pass().await?;
                    self.behind().read().counts().await
                }

                async fn dump(&self) -> Result<Snapshot, StoreError> {
                    self.pass().await?;
                    self.behind().read().dump().await
                }
            }

            #[async_trait]
            impl WorkQueue for $store {
                async fn due(&self, now: Timestamp, limit: u32) -> Result<DueWork, StoreError> {
                    self.pass().await?;
                    self.behind().work_queue().due(now, limit).await
                }

                async fn ready(
                    &self,
                    now: Timestamp,
                    after: Option<i64>,
                    limit: u32,
                ) -> Result<Vec<ReadyTask>, StoreError> {
                    self.pass().await?;
                    self.behind().work_queue().ready(now, after, limit).await
                }

                async fn outbox_due(
                    &self,
                    kind: OutboxMessageKind,
                    now: Timestamp,
                    limit: u32,
                ) -> Result<DueWork, StoreError> {
                    self.pass().await?;
                    self.behind().work_queue().outbox_due(kind, now, limit).await
                }
            }

            #[async_trait]
            impl Scan for $store {
                async fn candidates(
                    &self,
                    after: i64,
                    limit: u32,
                ) -> Result<ScanPage<PromiseId>, StoreError> {
                    self.pass().await?;
                    self.behind().scan().candidates(after, limit).await
                }

                async fn finished(
                    &self,
                    after: i64,
                    limit: u32,
                    before: Timestamp,
                ) -> Result<ScanPage<Promise>, StoreError> {
                    self.pass().await?;
                    self.behind().scan().finished(after, limit, before).await
                }

                async fn examine(
                    &self,
                    maker: Option<&PromiseId>,
                    after: i64,
                    limit: u32,
                ) -> Result<ExaminedPage, StoreError> {
                    self.pass().await?;
                    self.behind().scan().examine(maker, after, limit).await
                }

                async fn integrity(&self) -> Result<Vec<String>, StoreError> {
                    self.pass().await?;
                    self.behind().scan().integrity().await
                }

                async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
                    self.behind().scan().export(sink).await
                }

                async fn gather(
                    &self,
                    selection: &GatherSelection,
                    sink: &mut dyn GatherSink,
                ) -> Result<(), GatherError> {
                    self.pass().await?;
                    self.behind().scan().gather(selection, sink).await
                }

                async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
                    self.pass().await?;
                    self.behind().scan().size(top).await
                }
            }

            #[async_trait]
            impl Modules for $store {
                async fn put(&self, module: NewModule) -> Result<(), StoreError> {
                    self.pass().await?;
                    self.behind().modules().put(module).await
                }

                async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
                    self.pass().await?;
                    self.behind().modules().component(digest).await
                }

                async fn named(&self, alias: &str) -> Result<Option<Digest>, StoreError> {
                    self.pass().await?;
                    self.behind().modules().named(alias).await
                }

                async fn list(&self) -> Result<Vec<ModuleRow>, StoreError> {
                    self.pass().await?;
                    self.behind().modules().list().await
                }

                async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
                    self.pass().await?;
                    self.behind().modules().in_use().await
                }

                async fn unfinished(
                    &self,
                    digest: Digest,
                    limit: u32,
                ) -> Result<Vec<PromiseId>, StoreError> {
                    self.pass().await?;
                    self.behind().modules().unfinished(digest, limit).await
                }

                async fn remove(
                    &self,
                    digest: Digest,
                    before: Timestamp,
                ) -> Result<bool, StoreError> {
                    self.pass().await?;
                    self.behind().modules().remove(digest, before).await
                }
            }
        };
    };
}
