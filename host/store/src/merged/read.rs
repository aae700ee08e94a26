//! Reads of promises, journals, objects, limits and lists over several databases.

use std::collections::BTreeMap;

use async_trait::async_trait;
use segno_core::{
    budget::{Budget, Costs},
    graph::{NodeEvent, NodeRow},
    id::{ObjectId, PromiseId, ScheduleId, StreamId},
    invocation::Record,
    limit::{Limit, LimitName, LimitPosition, Partition, PartitionId},
    promise::{Schedule, TaskStatus},
    saga::{Fact, FactKey},
    shard::{DatabaseIndex, ShardMap},
    snapshot::Snapshot,
    stream::{DurableStream, StreamChunk},
    time::Millis,
    value::{Payload, Text},
};

use super::{MergedReads, dump, page};
use crate::{
    AdmittedFilter, BUDGETS_MAX, EventPosition, EventRow, ExecutionHistory, InvocationFilter,
    InvocationRow, LimitFilter, LimitRow, LogRow, ObjectFilter, ObjectRow, Page, PartitionFilter,
    PromiseFilter, PromiseRow, PromiseSize, Read, ScheduleFilter, SchedulePage, StateCounts,
    StateSize, StoreCounts, StoreError, WaitEdges, limits,
};

#[async_trait]
impl Read for MergedReads {
    async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        self.at(|map| map.promise(id), |member| async move { member.read().promise(id).await })
            .await
    }

    async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        self.grouped(
            ids,
            ShardMap::promise,
            |member, ids| async move { member.read().promises(&ids).await },
            Some(|| None),
        )
        .await
    }

    async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        self.at(
            |map| map.promise(id),
            |member| async move { member.read().journal(id, from, limit).await },
        )
        .await
    }

    async fn logs(&self, id: &PromiseId, from: u32, limit: u32) -> Result<Vec<LogRow>, StoreError> {
        self.at(
            |map| map.promise(id),
            |member| async move { member.read().logs(id, from, limit).await },
        )
        .await
    }

    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError> {
        self.at(|map| map.promise(id), |member| async move { member.read().log_count(id).await })
            .await
    }

    async fn histories(
        &self,
        of: &[(PromiseId, u32)],
    ) -> Result<Vec<ExecutionHistory>, StoreError> {
        let database = |map: &ShardMap, (id, _): &(PromiseId, u32)| map.promise(id);
        self.grouped(
            of,
            database,
            |member, of| async move { member.read().histories(&of).await },
            None,
        )
        .await
    }

    /// A wait between two databases is stored in both.
    async fn waits(&self, id: &PromiseId) -> Result<WaitEdges, StoreError> {
        self.at(|map| map.promise(id), |member| async move { member.read().waits(id).await }).await
    }

    async fn facts(&self, id: &PromiseId) -> Result<Vec<(FactKey, Fact)>, StoreError> {
        self.at(|map| map.promise(id), |member| async move { member.read().facts(id).await }).await
    }

    async fn graph_nodes(&self, run: &PromiseId) -> Result<Vec<(Text, NodeRow)>, StoreError> {
        self.at(
            |map| map.promise(run),
            |member| async move { member.read().graph_nodes(run).await },
        )
        .await
    }

    async fn graph_history(&self, run: &PromiseId) -> Result<Vec<NodeEvent>, StoreError> {
        self.at(
            |map| map.promise(run),
            |member| async move { member.read().graph_history(run).await },
        )
        .await
    }

    async fn promise_sizes(&self, ids: &[PromiseId]) -> Result<Vec<PromiseSize>, StoreError> {
        self.grouped(
            ids,
            ShardMap::promise,
            |member, ids| async move { member.read().promise_sizes(&ids).await },
            None,
        )
        .await
    }

    async fn costs(&self, ids: &[PromiseId]) -> Result<Vec<Costs>, StoreError> {
        self.grouped(
            ids,
            ShardMap::promise,
            |member, ids| async move { member.read().costs(&ids).await },
            None,
        )
        .await
    }

    async fn stream(&self, id: &StreamId) -> Result<Option<DurableStream>, StoreError> {
        self.at(|map| map.stream(id), |member| async move { member.read().stream(id).await }).await
    }

    async fn streams_of(&self, owner: &PromiseId) -> Result<Vec<DurableStream>, StoreError> {
        self.at(
            |map| map.promise(owner),
            |member| async move { member.read().streams_of(owner).await },
        )
        .await
    }

    async fn stream_data(
        &self,
        id: &StreamId,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<StreamChunk>, StoreError> {
        self.at(
            |map| map.stream(id),
            |member| async move { member.read().stream_data(id, from, bytes_max).await },
        )
        .await
    }

    async fn budget(&self, account: &PromiseId) -> Result<Option<Budget>, StoreError> {
        self.at(
            |map| map.promise(account),
            |member| async move { member.read().budget(account).await },
        )
        .await
    }

    /// An id below another one may be in another database.
    async fn budgets_below(&self, id: &PromiseId) -> Result<Vec<(PromiseId, Budget)>, StoreError> {
        let found = self.all(|member| async move { member.read().budgets_below(id).await }).await?;
        let mut found: Vec<(PromiseId, Budget)> = found.into_iter().flatten().collect();
        found.sort_by(|(left, _), (right, _)| left.cmp(right));
        found.truncate(BUDGETS_MAX);
        Ok(found)
    }

    async fn stream_kept(&self, id: &StreamId, writer: &PromiseId) -> Result<u64, StoreError> {
        self.at(
            |map| map.stream(id),
            |member| async move { member.read().stream_kept(id, writer).await },
        )
        .await
    }

    async fn object_state(
        &self,
        object: &ObjectId,
        names: &[Text],
    ) -> Result<BTreeMap<Text, Payload>, StoreError> {
        self.at(
            |map| map.object(object),
            |member| async move { member.read().object_state(object, names).await },
        )
        .await
    }

    async fn object_whole(
        &self,
        object: &ObjectId,
        bytes_max: u64,
    ) -> Result<Option<BTreeMap<Text, Payload>>, StoreError> {
        self.at(
            |map| map.object(object),
            |member| async move { member.read().object_whole(object, bytes_max).await },
        )
        .await
    }

    async fn object_names(&self, object: &ObjectId) -> Result<Vec<StateSize>, StoreError> {
        self.at(
            |map| map.object(object),
            |member| async move { member.read().object_names(object).await },
        )
        .await
    }

    async fn objects(
        &self,
        filter: &ObjectFilter,
    ) -> Result<Page<ObjectRow, ObjectId>, StoreError> {
        let pages =
            self.listed(|member| async move { member.read().objects(filter).await }).await?;
        Ok(page::merged(pages, limits::page_limit(filter.limit) as usize))
    }

    async fn limit(&self, name: &LimitName) -> Result<Option<Limit>, StoreError> {
        self.at(|map| map.limit(name), |member| async move { member.read().limit(name).await })
            .await
    }

    async fn limits(&self, filter: &LimitFilter) -> Result<Page<LimitRow, LimitName>, StoreError> {
        let pages = self.listed(|member| async move { member.read().limits(filter).await }).await?;
        Ok(page::merged(pages, limits::page_limit(filter.limit) as usize))
    }

    async fn partitions(
        &self,
        filter: &PartitionFilter,
    ) -> Result<Page<(PartitionId, Partition), PartitionId>, StoreError> {
        self.at(
            |map| map.limit(&filter.name),
            |member| async move { member.read().partitions(filter).await },
        )
        .await
    }

    async fn partition(&self, id: &PartitionId) -> Result<Option<Partition>, StoreError> {
        self.at(
            |map| map.limit(&id.limit()),
            |member| async move { member.read().partition(id).await },
        )
        .await
    }

    async fn place(
        &self,
        id: &PromiseId,
        most: u32,
    ) -> Result<Option<(LimitPosition, u64)>, StoreError> {
        let place = self
            .at(|map| map.promise(id), |member| async move { member.read().place(id, 0).await });
        let Some((place, _)) = place.await? else { return Ok(None) };
        let ahead = if most == 0 { 0 } else { self.ahead_of(&place, most).await? };
        Ok(Some((place, ahead)))
    }

    async fn ahead_of(&self, place: &LimitPosition, most: u32) -> Result<u64, StoreError> {
        let ahead = self.listed(|member| async move { member.read().ahead_of(place, most).await });
        Ok(ahead.await?.into_iter().sum::<u64>().min(u64::from(most)))
    }

    async fn admitted(
        &self,
        filter: &AdmittedFilter,
    ) -> Result<Vec<(PromiseId, LimitPosition)>, StoreError> {
        let found = self.listed(|member| async move {
            let places = member.read().admitted(filter).await?;
            let ids: Vec<PromiseId> = places.iter().map(|(id, _)| id.clone()).collect();
            // A place does not say if its execution is halted.
            let rows = member.read().promises(&ids).await?;
            let halted = rows.into_iter().map(|row| {
                let task = row.and_then(|row| row.task);
                task.is_some_and(|task| task.status() == TaskStatus::Halted)
            });
            Ok(halted.zip(places).collect::<Vec<_>>())
        });
        let mut found: Vec<_> = found.await?.into_iter().flatten().collect();
        found.sort_by_key(|(is_halted, (_, place))| (!is_halted, place.seq));
        found.truncate(limits::page_limit(filter.limit) as usize);
        Ok(found.into_iter().map(|(_, place)| place).collect())
    }

    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        let pages = self.listed(|member| async move { member.read().list(filter).await }).await?;
        Ok(page::newest_first(pages, limits::page_limit(filter.limit) as usize))
    }

    async fn counts_by_state(&self, filter: &InvocationFilter) -> Result<StateCounts, StoreError> {
        let mut all = StateCounts::default();
        let counts = self
            .listed(|member| async move { member.read().counts_by_state(filter).await })
            .await?;
        for StateCounts { states, newest_only } in counts {
            all.newest_only |= newest_only;
            for (state, count) in states {
                *all.states.entry(state).or_default() += count;
            }
        }
        Ok(all)
    }

    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
        self.at(|map| map.schedule(id), |member| async move { member.read().schedule(id).await })
            .await
    }

    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError> {
        let pages =
            self.listed(|member| async move { member.read().schedules(filter).await }).await?;
        Ok(page::schedules(pages, limits::page_limit(filter.limit) as usize))
    }

    async fn find(
        &self,
        filter: &PromiseFilter,
    ) -> Result<Page<PromiseRow, PromiseId>, StoreError> {
        let pages = self.listed(|member| async move { member.read().find(filter).await }).await?;
        Ok(page::merged(pages, limits::page_limit(filter.limit) as usize))
    }

    async fn events(
        &self,
        after: Option<EventPosition>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        let found =
            self.present(|member| async move { member.read().events(after, limit).await }).await?;
        let mut found: Vec<EventRow> = found.into_iter().flatten().collect();
        found.sort_by_key(|event| event.place);
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn counts(&self) -> Result<StoreCounts, StoreError> {
        let mut all = StoreCounts::default();
        let ask = |database: DatabaseIndex| self.members[database].read().counts();
        let found = self.presence.read(ask).await;
        all.answered = found.iter().map(|answer| matches!(answer, Some(Ok(_)))).collect();
        all.in_doubt =
            self.databases.as_ref().map_or(Millis::ZERO, |databases| databases.in_doubt());
        for counts in self.answers_of_present(found)? {
            let StoreCounts { acquired, halted, ready, outbox, answered: _, in_doubt: _ } = counts;
            all.acquired += acquired;
            all.halted += halted;
            all.ready += ready;
            for (kind, count) in outbox {
                *all.outbox.entry(kind).or_default() += count;
            }
        }
        Ok(all)
    }

    async fn dump(&self) -> Result<Snapshot, StoreError> {
        let parts = self.all(|member| async move { member.read().dump().await }).await?;
        Ok(parts.into_iter().fold(Snapshot::default(), dump::union))
    }
}
