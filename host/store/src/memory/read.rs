//! Reads of promises, journals, schedules and events, from the model.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    address,
    budget::{Budget, Costs},
    graph::{NodeEvent, NodeRow},
    id::{ObjectId, PromiseId, ScheduleId, StreamId},
    invocation::Record,
    limit::{Limit, LimitName, LimitPosition, Partition, PartitionId},
    promise::{Promise, PromiseState, Schedule, Settlement, TaskState},
    saga::{Fact, FactKey},
    snapshot::Snapshot,
    stream::{DurableStream, StreamChunk},
    value::{Bytes, Payload, Text},
};

use super::{MemoryStore, admissions, objects, streams};
use crate::{
    AdmittedFilter, EventPosition, EventRow, ExecutionHistory, InvocationFilter, InvocationRow,
    LimitFilter, LimitRow, LogRow, ObjectFilter, ObjectRow, Page, PartitionFilter, PromiseFilter,
    PromiseRow, PromiseSize, Read, ScheduleFilter, SchedulePage, StateCounts, StateSize,
    StoreCounts, StoreError, WaitEdges,
    invocation_filter::{self, ListedState},
    limits, promise_filter,
    read::BUDGETS_MAX,
};

#[async_trait]
impl Read for MemoryStore {
    async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        Ok(self.promises(std::slice::from_ref(id)).await?.pop().flatten())
    }

    async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        let kept = self.kept();
        let row = |id: &PromiseId| {
            let promise = kept.model.promise(id)?.clone();
            Some(PromiseRow { promise, task: kept.model.task(id).cloned() })
        };
        Ok(ids.iter().map(row).collect())
    }

    async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        let kept = self.kept();
        let records = kept.model.tail(id).iter().skip(from as usize).take(limit as usize);
        Ok(records.cloned().collect())
    }

    async fn logs(&self, id: &PromiseId, from: u32, limit: u32) -> Result<Vec<LogRow>, StoreError> {
        let kept = self.kept();
        let lines = kept.logs.get(id).map_or(&[][..], Vec::as_slice);
        let page = (0..).zip(lines).skip(from as usize).take(limit as usize);
        Ok(page.map(|(line, logged)| LogRow::numbered(line, logged)).collect())
    }

    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError> {
        let count = self.kept().logs.get(id).map_or(0, Vec::len);
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    async fn histories(
        &self,
        of: &[(PromiseId, u32)],
    ) -> Result<Vec<ExecutionHistory>, StoreError> {
        let mut histories = Vec::with_capacity(of.len());
        for (id, len) in of {
            let records = self.journal(id, 0, *len).await?;
            histories.push(ExecutionHistory { records, lines: self.log_count(id).await? });
        }
        Ok(histories)
    }

    async fn waits(&self, id: &PromiseId) -> Result<WaitEdges, StoreError> {
        let kept = self.kept();
        let unconsumed = |awaited: &&PromiseId| kept.model.callback(awaited, id) == Some(false);
        let awaiting = kept.model.callbacks_on(id).filter(|(_, consumed)| !consumed);
        Ok(WaitEdges {
            awaits: kept.model.awaited_by(id).filter(unconsumed).cloned().collect(),
            awaited_by: awaiting.map(|(awaiter, _)| awaiter.clone()).collect(),
        })
    }

    async fn facts(&self, id: &PromiseId) -> Result<Vec<(FactKey, Fact)>, StoreError> {
        let kept = self.kept();
        let facts = kept.model.facts_of(id);
        Ok(facts.map(|(key, fact)| (key.clone(), fact.clone())).collect())
    }

    async fn graph_nodes(&self, run: &PromiseId) -> Result<Vec<(Text, NodeRow)>, StoreError> {
        let kept = self.kept();
        Ok(kept.model.nodes_of(run).map(|(node, row)| (node.clone(), *row)).collect())
    }

    async fn graph_history(&self, run: &PromiseId) -> Result<Vec<NodeEvent>, StoreError> {
        Ok(self.kept().model.history_of(run).collect())
    }

    async fn promise_sizes(&self, ids: &[PromiseId]) -> Result<Vec<PromiseSize>, StoreError> {
        let kept = self.kept();
        let size = |id| {
            let promise = kept.model.promise(id)?;
            let value = promise.settlement().and_then(|settlement| settlement.value.as_ref());
            Some(PromiseSize {
                param: promise.spec.param.data.len() as u64,
                value: value.map_or(0, |value| value.data.len() as u64),
            })
        };
        Ok(ids.iter().map(|id| size(id).unwrap_or_default()).collect())
    }

    async fn costs(&self, ids: &[PromiseId]) -> Result<Vec<Costs>, StoreError> {
        let kept = self.kept();
        let costs = |id| kept.model.promise(id)?.settlement().map(Settlement::costs);
        Ok(ids.iter().map(|id| costs(id).unwrap_or_default()).collect())
    }

    async fn stream(&self, id: &StreamId) -> Result<Option<DurableStream>, StoreError> {
        Ok(self.kept().model.stream(id).cloned())
    }

    async fn streams_of(&self, owner: &PromiseId) -> Result<Vec<DurableStream>, StoreError> {
        Ok(streams::of_execution(&self.kept(), owner))
    }

    async fn stream_data(
        &self,
        id: &StreamId,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<StreamChunk>, StoreError> {
        Ok(streams::data(&self.kept(), id, from, bytes_max))
    }

    async fn stream_kept(&self, id: &StreamId, writer: &PromiseId) -> Result<u64, StoreError> {
        let kept = self.kept();
        let by_it =
            kept.model.stream_chunks(id).filter(|chunk| chunk.writer.as_ref() == Some(writer));
        Ok(by_it.map(|chunk| chunk.count).sum())
    }

    async fn budget(&self, account: &PromiseId) -> Result<Option<Budget>, StoreError> {
        Ok(self.kept().model.budget(account).cloned())
    }

    async fn budgets_below(&self, id: &PromiseId) -> Result<Vec<(PromiseId, Budget)>, StoreError> {
        let below = format!("{id}/");
        let kept = self.kept();
        let of_it =
            kept.model.budgets().filter(|(account, _)| account.as_str().starts_with(&below));
        let owned = of_it.map(|(account, budget)| (account.clone(), budget.clone()));
        Ok(owned.take(BUDGETS_MAX).collect())
    }

    async fn object_state(
        &self,
        object: &ObjectId,
        names: &[Text],
    ) -> Result<BTreeMap<Text, Payload>, StoreError> {
        Ok(objects::state(&self.kept(), object, names))
    }

    async fn object_whole(
        &self,
        object: &ObjectId,
        bytes_max: u64,
    ) -> Result<Option<BTreeMap<Text, Payload>>, StoreError> {
        Ok(objects::whole(&self.kept(), object, bytes_max))
    }

    async fn object_names(&self, object: &ObjectId) -> Result<Vec<StateSize>, StoreError> {
        Ok(objects::sizes(&self.kept(), object))
    }

    async fn objects(
        &self,
        filter: &ObjectFilter,
    ) -> Result<Page<ObjectRow, ObjectId>, StoreError> {
        Ok(objects::page(&self.kept(), filter))
    }

    async fn limit(&self, name: &LimitName) -> Result<Option<Limit>, StoreError> {
        Ok(self.kept().model.limit(name).cloned())
    }

    async fn limits(&self, filter: &LimitFilter) -> Result<Page<LimitRow, LimitName>, StoreError> {
        Ok(admissions::page(&self.kept(), filter))
    }

    async fn partitions(
        &self,
        filter: &PartitionFilter,
    ) -> Result<Page<(PartitionId, Partition), PartitionId>, StoreError> {
        Ok(admissions::keys(&self.kept(), filter))
    }

    async fn partition(&self, id: &PartitionId) -> Result<Option<Partition>, StoreError> {
        Ok(self.kept().model.partition(id).cloned())
    }

    async fn place(
        &self,
        id: &PromiseId,
        most: u32,
    ) -> Result<Option<(LimitPosition, u64)>, StoreError> {
        Ok(admissions::place(&self.kept(), id, most))
    }

    async fn ahead_of(&self, place: &LimitPosition, most: u32) -> Result<u64, StoreError> {
        Ok(admissions::ahead_of(&self.kept(), place, most))
    }

    async fn admitted(
        &self,
        filter: &AdmittedFilter,
    ) -> Result<Vec<(PromiseId, LimitPosition)>, StoreError> {
        Ok(admissions::admitted(&self.kept(), filter))
    }

    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        let kept = self.kept();
        let limit = limits::page_limit(filter.limit) as usize;
        let mut items = Vec::new();
        let mut last = None;
        let mut more = false;
        let older = ..filter.after.unwrap_or(i64::MAX);
        for (number, id) in kept.numbers.range(older).rev() {
            let Some((promise, task)) = kept.model.promise(id).zip(kept.model.task(id)) else {
                continue;
            };
            if !invocation_filter::takes(filter, promise, task)? {
                continue;
            }
            if items.len() == limit {
                more = true;
                break;
            }
            items.push(InvocationRow {
                number: *number,
                promise: listed(promise, limits::LISTED_BYTES),
                task: task.clone(),
                journal_len: kept.model.head(id).len,
            });
            last = Some(*number);
        }
        Ok(Page { items, unreadable: Vec::new(), next: last.filter(|_| more) })
    }

    async fn counts_by_state(&self, filter: &InvocationFilter) -> Result<StateCounts, StoreError> {
        let kept = self.kept();
        let mut counts = StateCounts::default();
        for id in kept.numbers.values() {
            let Some((promise, task)) = kept.model.promise(id).zip(kept.model.task(id)) else {
                continue;
            };
            if invocation_filter::takes(filter, promise, task)? {
                *counts.states.entry(ListedState::of(promise, task).name()).or_default() += 1;
            }
        }
        Ok(counts)
    }

    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
        Ok(self.kept().model.schedule(id).cloned())
    }

    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError> {
        let kept = self.kept();
        let listed = kept.model.schedules().filter(|schedule| {
            filter.after.as_ref().is_none_or(|after| schedule.id > *after) && filter.takes(schedule)
        });
        Ok(SchedulePage::of(listed.cloned(), limits::page_limit(filter.limit) as usize))
    }

    async fn find(
        &self,
        filter: &PromiseFilter,
    ) -> Result<Page<PromiseRow, PromiseId>, StoreError> {
        let kept = self.kept();
        let after = |promise: &&Promise| filter.after.as_ref().is_none_or(|id| promise.id() > id);
        let rows = kept.model.promises().filter(after).filter_map(|promise| {
            let task = kept.model.task(promise.id());
            promise_filter::finds(filter, promise, task)
                .then(|| PromiseRow { promise: promise.clone(), task: task.cloned() })
        });
        let limit = limits::page_limit(filter.limit) as usize;
        Ok(Page::of(rows.take(limit.saturating_add(1)).collect(), limit, None))
    }

    async fn events(
        &self,
        after: Option<EventPosition>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        let kept = self.kept();
        let rows = kept.model.outbox();
        let mut events: Vec<EventRow> = rows
            .filter_map(|(key, row)| EventRow::of(key, row, kept.number(key.promise())))
            .collect();
        events.retain(|event| after.is_none_or(|after| event.place > after));
        events.sort_by_key(|event| event.place);
        events.truncate(limit as usize);
        Ok(events)
    }

    async fn counts(&self) -> Result<StoreCounts, StoreError> {
        let kept = self.kept();
        let mut counts = StoreCounts::default();
        for task in kept.model.tasks() {
            match &task.state {
                TaskState::Acquired { .. } => counts.acquired += 1,
                TaskState::Halted { .. } => counts.halted += 1,
                TaskState::Pending { offered: true, .. } => {
                    let promise = kept.model.promise(&task.id);
                    let target = promise.and_then(Promise::target);
                    counts.ready += u64::from(target.is_some_and(address::is_internal));
                }
                TaskState::Pending { offered: false, .. }
                | TaskState::Suspended
                | TaskState::Fulfilled => {}
            }
        }
        for (key, _) in kept.model.outbox() {
            *counts.outbox.entry(key.kind()).or_default() += 1;
        }
        Ok(counts)
    }

    async fn dump(&self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot::of(&self.kept().model))
    }
}

/// A promise in a listing: without a parameter or value of more than `bytes_max` bytes.
pub(super) fn listed(promise: &Promise, bytes_max: usize) -> Promise {
    let mut listed = promise.clone();
    if promise.spec.param.data.len() > bytes_max {
        Arc::make_mut(&mut listed.spec).param.data = Bytes::from(Vec::new());
    }
    if let PromiseState::Settled(settlement) = &mut listed.state
        && settlement.value.as_ref().is_some_and(|value| value.data.len() > bytes_max)
    {
        Arc::make_mut(settlement).value = None;
    }
    listed
}
