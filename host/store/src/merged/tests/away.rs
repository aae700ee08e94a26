//! One database does not answer.

use std::{collections::BTreeMap, future, sync::Arc};

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
    shard::ShardMap,
    snapshot::Snapshot,
    stream::{DurableStream, StreamChunk},
    time::{Millis, Timestamp},
    value::{Payload, Text},
};
use segno_env::Clock as _;

use super::{merged, parts, scripted, stores};
use crate::{
    AdmittedFilter, CallTree, ChildRow, DueWork, EventPosition, EventRow, ExaminedPage,
    ExecutionHistory, GatherError, GatherSelection, GatherSink, InvocationFilter, InvocationRow,
    LimitCount, LimitFilter, LimitRow, LogRow, ModuleRow, Modules, NewModule, ObjectFilter,
    ObjectRow, Page, ParentCursor, PartitionFilter, PromiseFilter, PromiseRow, PromiseSize, Read,
    ReadyTask, Scan, ScanPage, ScheduleFilter, SchedulePage, SizeReport, StateCounts, StateSize,
    Store, StoreCounts, StoreError, TreeNeighbours, WaitEdges, WorkQueue,
    archive::{ArchiveError, ArchiveSink},
    current_shards::CurrentShards,
    tests::env,
};

/// A database that cannot be reached.
enum Unreachable {
    /// Every request fails.
    Refuses,
    /// No request is answered.
    Hangs,
}

fn away() -> StoreError {
    StoreError::Away { reason: "connection refused".to_owned() }
}

/// Implements a part of [`Store`]: each method fails.
macro_rules! fails {
    ($part:ident: $($name:ident($($type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl $part for Unreachable {
            $(async fn $name(&self, $(_: $type),*) -> $answer {
                if matches!(self, Self::Hangs) {
                    future::pending::<()>().await;
                }
                Err(away().into())
            })*
        }
    };
}

type Answer<T> = Result<T, StoreError>;

fails! { Read:
    promise(&PromiseId) -> Answer<Option<PromiseRow>>;
    promises(&[PromiseId]) -> Answer<Vec<Option<PromiseRow>>>;
    journal(&PromiseId, u32, u32) -> Answer<Vec<Record>>;
    logs(&PromiseId, u32, u32) -> Answer<Vec<LogRow>>;
    log_count(&PromiseId) -> Answer<u32>;
    histories(&[(PromiseId, u32)]) -> Answer<Vec<ExecutionHistory>>;
    waits(&PromiseId) -> Answer<WaitEdges>;
    facts(&PromiseId) -> Answer<Vec<(FactKey, Fact)>>;
    graph_nodes(&PromiseId) -> Answer<Vec<(Text, NodeRow)>>;
    graph_history(&PromiseId) -> Answer<Vec<NodeEvent>>;
    promise_sizes(&[PromiseId]) -> Answer<Vec<PromiseSize>>;
    costs(&[PromiseId]) -> Answer<Vec<Costs>>;
    stream(&StreamId) -> Answer<Option<DurableStream>>;
    streams_of(&PromiseId) -> Answer<Vec<DurableStream>>;
    stream_data(&StreamId, u64, usize) -> Answer<Vec<StreamChunk>>;
    budget(&PromiseId) -> Answer<Option<Budget>>;
    budgets_below(&PromiseId) -> Answer<Vec<(PromiseId, Budget)>>;
    stream_kept(&StreamId, &PromiseId) -> Answer<u64>;
    object_state(&ObjectId, &[Text]) -> Answer<BTreeMap<Text, Payload>>;
    object_whole(&ObjectId, u64) -> Answer<Option<BTreeMap<Text, Payload>>>;
    object_names(&ObjectId) -> Answer<Vec<StateSize>>;
    objects(&ObjectFilter) -> Answer<Page<ObjectRow, ObjectId>>;
    limit(&LimitName) -> Answer<Option<Limit>>;
    limits(&LimitFilter) -> Answer<Page<LimitRow, LimitName>>;
    partitions(&PartitionFilter) -> Answer<Page<(PartitionId, Partition), PartitionId>>;
    partition(&PartitionId) -> Answer<Option<Partition>>;
    place(&PromiseId, u32) -> Answer<Option<(LimitPosition, u64)>>;
    ahead_of(&LimitPosition, u32) -> Answer<u64>;
    admitted(&AdmittedFilter) -> Answer<Vec<(PromiseId, LimitPosition)>>;
    list(&InvocationFilter) -> Answer<Page<InvocationRow>>;
    counts_by_state(&InvocationFilter) -> Answer<StateCounts>;
    schedule(&ScheduleId) -> Answer<Option<Schedule>>;
    schedules(&ScheduleFilter) -> Answer<SchedulePage>;
    find(&PromiseFilter) -> Answer<Page<PromiseRow, PromiseId>>;
    events(Option<EventPosition>, u32) -> Answer<Vec<EventRow>>;
    counts() -> Answer<StoreCounts>;
    dump() -> Answer<Snapshot>;
}

fails! { WorkQueue:
    due(Timestamp, u32) -> Answer<DueWork>;
    ready(Timestamp, Option<i64>, u32) -> Answer<Vec<ReadyTask>>;
    outbox_due(OutboxMessageKind, Timestamp, u32) -> Answer<DueWork>;
}

fails! { Scan:
    candidates(i64, u32) -> Answer<ScanPage<PromiseId>>;
    finished(i64, u32, Timestamp) -> Answer<ScanPage<Promise>>;
    examine(Option<&PromiseId>, i64, u32) -> Answer<ExaminedPage>;
    integrity() -> Answer<Vec<String>>;
    limit_counts() -> Answer<Vec<LimitCount>>;
    export(&mut dyn ArchiveSink) -> Result<(), ArchiveError>;
    gather(&GatherSelection, &mut dyn GatherSink) -> Result<(), GatherError>;
    size(u32) -> Answer<SizeReport>;
}

fails! { CallTree:
    children(&[ParentCursor], u32) -> Answer<Vec<ChildRow>>;
    latest(&[ParentCursor], u32) -> Answer<Vec<ChildRow>>;
    neighbours(&[PromiseId], u32, u32) -> Answer<Vec<Option<TreeNeighbours>>>;
}

fails! { Modules:
    put(NewModule) -> Answer<()>;
    component(Digest) -> Answer<Option<Arc<[u8]>>>;
    named(&str) -> Answer<Option<Digest>>;
    list() -> Answer<Vec<ModuleRow>>;
    in_use() -> Answer<BTreeMap<Digest, u64>>;
    unfinished(Digest, u32) -> Answer<Vec<PromiseId>>;
    remove(Digest, Timestamp) -> Answer<bool>;
}

#[async_trait]
impl Store for Unreachable {
    async fn execute(&self, _commands: Vec<Command>) -> Answer<Vec<Reply>> {
        Err(away())
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
        self
    }

    fn modules(&self) -> &dyn Modules {
        self
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
    }

    async fn check_writes(&self) -> Answer<()> {
        Err(away())
    }

    async fn vacuum(&self) -> Answer<bool> {
        Err(away())
    }

    async fn wipe(&self) -> Answer<()> {
        Err(away())
    }

    async fn close(&self) {}
}

/// The work of the other databases goes on, reads of their rows succeed, and lists say which
/// database is away.
#[tokio::test]
async fn one_database_is_away() {
    const AWAY: usize = 1;
    let (whole, clock) = scripted(3, 300).await;
    let (parts, map) = parts(&whole, 3);
    let (mut present, mut members) = (parts.clone(), stores(parts));
    present.remove(AWAY);
    members[AWAY] = Arc::new(Unreachable::Refuses);
    let partial = merged(members.clone(), CurrentShards::new(map.clone())).partial();
    let merged = merged(members, CurrentShards::new(map.clone()));
    let now = clock.now() + Millis(60_000);

    let due = merged.work_queue().due(now, 1_000).await.expect("what is due elsewhere");
    let ready = merged.work_queue().ready(now, None, 1_000).await.expect("tasks");
    let events = merged.read().events(None, 1_000).await.expect("events");
    let counts = merged.read().counts().await.expect("counts");
    let mut owed = 0;
    for kind in OutboxMessageKind::ALL {
        let due = merged.work_queue().outbox_due(kind, now, 1_000).await.expect("messages");
        owed += due.commands.len();
    }
    let (mut expected, mut messages) = ([0; 3], 0);
    for part in &present {
        let work = part.work_queue();
        expected[0] += work.due(now, 1_000).await.expect("what is due").commands.len();
        expected[1] += work.ready(now, None, 1_000).await.expect("tasks").len();
        expected[2] += part.read().events(None, 1_000).await.expect("events").len();
        messages += part.read().counts().await.expect("counts").outbox.values().sum::<u64>();
    }
    assert_eq!([due.commands.len(), ready.len(), events.len()], expected);
    assert!(expected.iter().all(|found| *found > 0), "{expected:?}");
    assert_eq!(counts.answered, [true, false, true]);
    assert_eq!(counts.outbox.values().sum::<u64>(), messages);
    assert!(owed > 0 && owed <= messages as usize, "{owed} of {messages}");

    let promises = whole.read().dump().await.expect("a dump").promises;
    let (gone, here): (Vec<PromiseId>, Vec<PromiseId>) =
        promises.into_keys().partition(|id| map.promise(id) == AWAY);
    assert!(merged.read().promise(&here[0]).await.expect("a read").is_some());
    assert!(merged.read().promises(&here).await.expect("a read").iter().all(Option::is_some));
    let mut all = PromiseFilter { limit: 1_000, ..PromiseFilter::default() };
    let mut listed = Vec::new();
    loop {
        let page = partial.read().find(&all).await.expect("a list without what is away");
        listed.extend(page.items.into_iter().map(|row| row.promise.id().clone()));
        let Some(next) = page.next else { break };
        all.after = Some(next);
    }
    assert_eq!(listed, here);
    let rows = partial.read().promises(&[here[0].clone(), gone[0].clone()]).await.expect("a read");
    assert_eq!(rows.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    partial.read().schedules(&ScheduleFilter::default()).await.expect("a list");
    let failures = [
        merged.read().promise(&gone[0]).await.map(drop),
        merged.read().promises(&[here[0].clone(), gone[0].clone()]).await.map(drop),
        merged.read().list(&InvocationFilter::default()).await.map(drop),
        merged.read().find(&PromiseFilter::default()).await.map(drop),
        merged.read().schedules(&ScheduleFilter::default()).await.map(drop),
        merged.read().dump().await.map(drop),
        merged.scan().size(1).await.map(drop),
        merged.modules().remove(Digest([1; 32]), now).await.map(drop),
    ];
    for failed in failures {
        let error = failed.expect_err("it is away");
        assert!(matches!(error, StoreError::Away { .. }), "{error}");
        let named = "database 2 of 3 does not answer";
        assert!(error.to_string().contains(named), "{error}");
    }
}

/// A scan passes over the database that is away.
#[tokio::test]
async fn repair_and_retention_go_on_in_the_other_databases() {
    let (whole, clock) = scripted(3, 300).await;
    let (parts, map) = parts(&whole, 3);
    let mut members = stores(parts.clone());
    members[1] = Arc::new(Unreachable::Refuses);
    let merged = merged(members, CurrentShards::new(map));
    let now = clock.now() + Millis(60_000);
    let (mut expected, mut found) = ([0; 2], [0; 2]);
    for part in [&parts[0], &parts[2]] {
        expected[0] += part.scan().candidates(0, 1_000).await.expect("a page").items.len();
        expected[1] += part.scan().finished(0, 1_000, now).await.expect("a page").items.len();
    }
    let (mut after, mut pages) = (Some(0), 0);
    while let Some(cursor) = after {
        let page = merged.scan().candidates(cursor, 1_000).await.expect("a page");
        found[0] += page.items.len();
        (after, pages) = (page.next, pages + 1);
    }
    after = Some(0);
    while let Some(cursor) = after {
        let page = merged.scan().finished(cursor, 1_000, now).await.expect("a page");
        found[1] += page.items.len();
        after = page.next;
    }
    assert_eq!((found, pages), (expected, 3));
    assert!(expected.iter().all(|rows| *rows > 0), "{expected:?}");
}

#[tokio::test]
async fn all_databases_are_away() {
    let members: Vec<Arc<dyn Store>> =
        vec![Arc::new(Unreachable::Refuses), Arc::new(Unreachable::Refuses)];
    let map = ShardMap::dealt(2);
    let merged = merged(members, CurrentShards::new(map));
    let due = merged.work_queue().due(Timestamp(0), 1).await;
    assert!(matches!(due, Err(StoreError::Away { .. })), "{due:?}");
    let counts = merged.read().counts().await;
    assert!(matches!(counts, Err(StoreError::Away { .. })), "{counts:?}");
}

/// Nothing waits for a database that has not answered for a second.
#[tokio::test(start_paused = true)]
async fn a_database_that_hangs_is_left_out() {
    let (whole, clock) = scripted(3, 300).await;
    let (parts, map) = parts(&whole, 3);
    let mut members = stores(parts.clone());
    // The one that is asked first for what all have.
    members[0] = Arc::new(Unreachable::Hangs);
    let merged = merged(members, CurrentShards::new(map));
    let (queue, now) = (merged.work_queue(), clock.now() + Millis(60_000));
    let mut expected = 0;
    for part in &parts[1..] {
        expected += part.work_queue().due(now, 1_000).await.expect("what is due").commands.len();
    }
    let asking = async {
        for _ in 0..3 {
            let due = queue.due(now, 1_000).await.expect("what is due elsewhere");
            assert_eq!(due.commands.len(), expected);
            assert!(merged.modules().named("shop").await.expect("an answer").is_some());
        }
    };
    env(&clock).within(Millis(1_100), asking).await.expect("the first read alone waits");
    let counts = merged.read().counts().await.expect("counts");
    assert_eq!(counts.answered, [false, true, true]);
}
