//! Gathers executions with everything needed to replay them, read as of one instant, for bundles.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    io,
};

use segno_core::{
    id::{PromiseId, StreamId},
    invocation::{Outcome, Record, RecordBody},
    stream::{DurableStream, StreamChunk},
};

use super::{
    CallTree, ChildRow, InvocationFilter, InvocationRow, LogRow, Page, ParentCursor, PromiseRow,
    Read, StoreError,
};

/// Promises per read.
const PROMISES: usize = 64;
/// Journal records or log lines per read.
const RECORDS: u32 = 1_024;
/// Bytes of a stream per read, unless one append is larger.
const STREAM_BYTES: usize = 1 << 20;
/// Children of one promise per read.
const CHILDREN: u32 = 1_024;
/// Invocations per listing page.
const LISTED: u32 = 1_000;

/// Selection of the executions to gather.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatherSelection {
    /// The requested executions.
    pub asked: RequestedExecutions,
    /// True to include all descendants of the requested executions.
    pub tree: bool,
}

/// The requested executions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedExecutions {
    /// The promises with these ids.
    Ids(Vec<PromiseId>),
    /// All unfinished executions of the functions of this module, given by the alias under which
    /// they were called.
    InFlight(String),
}

/// Reason for gathering a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GatherReason {
    /// A gathered journal refers to its value. Its own journal is omitted.
    Value,
    /// It belongs to the tree of a requested execution.
    Member,
    /// It was requested.
    Asked,
}

/// Receives the gathered rows.
pub trait GatherSink: Send {
    /// Receives a promise. The records, lines and streams that follow belong to it.
    ///
    /// # Errors
    /// Fails if the promise cannot be kept; gathering then ends.
    fn promise(&mut self, row: PromiseRow, because: GatherReason) -> io::Result<()>;

    /// Receives the next records of the current promise's journal.
    ///
    /// # Errors
    /// Fails if the records cannot be kept; gathering then ends.
    fn records(&mut self, records: Vec<Record>) -> io::Result<()>;

    /// Receives the next log lines of the current promise.
    ///
    /// # Errors
    /// Fails if the lines cannot be kept; gathering then ends.
    fn lines(&mut self, lines: Vec<LogRow>) -> io::Result<()>;

    /// Receives the next stream of the current promise. The items that follow belong to it.
    ///
    /// # Errors
    /// Fails if the stream cannot be kept; gathering then ends.
    fn stream(&mut self, stream: DurableStream) -> io::Result<()>;

    /// Receives the next items of the current stream.
    ///
    /// # Errors
    /// Fails if the items cannot be kept; gathering then ends.
    fn stream_items(&mut self, items: Vec<StreamChunk>) -> io::Result<()>;
}

/// Failure to gather executions. The output in the sink is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// A requested promise does not exist.
    #[error("there is no promise `{0}`")]
    NotFound(PromiseId),
    /// The sink failed.
    #[error("what was gathered cannot be kept: {0}")]
    Sink(#[from] io::Error),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A read view of a store as of one instant.
pub(crate) trait InstantView: Send {
    fn promises(
        &mut self,
        ids: &[PromiseId],
    ) -> impl Future<Output = Result<Vec<Option<PromiseRow>>, StoreError>> + Send;

    fn records(
        &mut self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Record>, StoreError>> + Send;

    fn lines(
        &mut self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<LogRow>, StoreError>> + Send;

    fn streams(
        &mut self,
        owner: &PromiseId,
    ) -> impl Future<Output = Result<Vec<DurableStream>, StoreError>> + Send;

    fn stream_items(
        &mut self,
        id: &StreamId,
        from: u64,
        bytes_max: usize,
    ) -> impl Future<Output = Result<Vec<StreamChunk>, StoreError>> + Send;

    fn children(
        &mut self,
        parent: ParentCursor,
        each: u32,
    ) -> impl Future<Output = Result<Vec<ChildRow>, StoreError>> + Send;

    fn list(
        &mut self,
        filter: &InvocationFilter,
    ) -> impl Future<Output = Result<Page<InvocationRow>, StoreError>> + Send;
}

/// The rows as they are at each read. They are those of one instant if nothing writes meanwhile.
pub(crate) struct SuccessiveReads<'a, R>(pub(crate) &'a R);

impl<R: Read + CallTree> InstantView for SuccessiveReads<'_, R> {
    async fn promises(&mut self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        self.0.promises(ids).await
    }

    async fn records(
        &mut self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        self.0.journal(id, from, limit).await
    }

    async fn lines(
        &mut self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<LogRow>, StoreError> {
        self.0.logs(id, from, limit).await
    }

    async fn streams(&mut self, owner: &PromiseId) -> Result<Vec<DurableStream>, StoreError> {
        self.0.streams_of(owner).await
    }

    async fn stream_items(
        &mut self,
        id: &StreamId,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<StreamChunk>, StoreError> {
        self.0.stream_data(id, from, bytes_max).await
    }

    async fn children(
        &mut self,
        parent: ParentCursor,
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError> {
        self.0.children(&[parent], each).await
    }

    async fn list(&mut self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        self.0.list(filter).await
    }
}

/// Passes the rows of `selection` to `sink`: each promise once, requested promises first, parents
/// before their children.
pub(crate) async fn gather(
    store: &mut impl InstantView,
    selection: &GatherSelection,
    sink: &mut dyn GatherSink,
) -> Result<(), GatherError> {
    let mut queue = GatherQueue::default();
    match &selection.asked {
        RequestedExecutions::Ids(ids) => {
            ids.iter().for_each(|id| queue.add(id.clone(), GatherReason::Asked))
        }
        RequestedExecutions::InFlight(module) => in_flight(store, module, &mut queue).await?,
    }
    loop {
        let batch = queue.take(PROMISES);
        if batch.is_empty() {
            return Ok(());
        }
        let ids: Vec<PromiseId> = batch.iter().map(|(id, _)| id.clone()).collect();
        for ((id, because), row) in batch.into_iter().zip(store.promises(&ids).await?) {
            let Some(row) = row else {
                if because == GatherReason::Asked {
                    return Err(GatherError::NotFound(id));
                }
                // The journal stays without this value: the replay reports it.
                continue;
            };
            sink.promise(row, because)?;
            if because == GatherReason::Value {
                continue;
            }
            journal(store, &id, &mut queue, sink).await?;
            lines(store, &id, sink).await?;
            streams(store, &id, sink).await?;
            if selection.tree {
                children(store, &id, &mut queue).await?;
            }
        }
    }
}

/// Promises still to be read. Requested promises and members come before values: a promise that is
/// both is read once, with its journal.
#[derive(Default)]
struct GatherQueue {
    known: BTreeMap<PromiseId, GatherReason>,
    whole: VecDeque<PromiseId>,
    values: VecDeque<PromiseId>,
}

impl GatherQueue {
    fn add(&mut self, id: PromiseId, because: GatherReason) {
        if self.known.get(&id).is_some_and(|known| *known >= because) {
            return;
        }
        match because {
            GatherReason::Value => self.values.push_back(id.clone()),
            GatherReason::Member | GatherReason::Asked => self.whole.push_back(id.clone()),
        }
        self.known.insert(id, because);
    }

    fn take(&mut self, count: usize) -> Vec<(PromiseId, GatherReason)> {
        if !self.whole.is_empty() {
            let batch = self.whole.drain(..self.whole.len().min(count));
            return batch
                .map(|id| (self.known[&id], id))
                .map(|(because, id)| (id, because))
                .collect();
        }
        let mut batch = Vec::new();
        while let Some(id) = self.values.pop_front() {
            if self.known.get(&id) == Some(&GatherReason::Value) {
                batch.push((id, GatherReason::Value));
            }
            if batch.len() == count {
                break;
            }
        }
        batch
    }
}

async fn in_flight(
    store: &mut impl InstantView,
    module: &str,
    queue: &mut GatherQueue,
) -> Result<(), StoreError> {
    let module = Some(module.to_owned());
    let mut filter = InvocationFilter { module, limit: LISTED, ..InvocationFilter::default() };
    loop {
        let page = store.list(&filter).await?;
        for row in page.items.into_iter().filter(|row| row.promise.is_pending()) {
            queue.add(row.promise.id().clone(), GatherReason::Asked);
        }
        if page.next.is_none() {
            return Ok(());
        }
        filter.after = page.next;
    }
}

async fn journal(
    store: &mut impl InstantView,
    id: &PromiseId,
    queue: &mut GatherQueue,
    sink: &mut dyn GatherSink,
) -> Result<(), GatherError> {
    let mut from = 0;
    loop {
        let records = store.records(id, from, RECORDS).await?;
        let count = records.len() as u32;
        for record in &records {
            if let RecordBody::Notified { index, outcome: Outcome::Own } = &record.body {
                queue.add(id.command(*index), GatherReason::Value);
            }
        }
        if count > 0 {
            sink.records(records)?;
        }
        if count < RECORDS {
            return Ok(());
        }
        from += count;
    }
}

async fn lines(
    store: &mut impl InstantView,
    id: &PromiseId,
    sink: &mut dyn GatherSink,
) -> Result<(), GatherError> {
    let mut from = 0;
    loop {
        let lines = store.lines(id, from, RECORDS).await?;
        let count = lines.len() as u32;
        if count > 0 {
            sink.lines(lines)?;
        }
        if count < RECORDS {
            return Ok(());
        }
        from += count;
    }
}

async fn streams(
    store: &mut impl InstantView,
    id: &PromiseId,
    sink: &mut dyn GatherSink,
) -> Result<(), GatherError> {
    for stream in store.streams(id).await?.into_iter().filter(|stream| !stream.deleted) {
        let (id, tail) = (stream.id.clone(), stream.tail);
        sink.stream(stream)?;
        let mut from = 0;
        while from < tail {
            let items = store.stream_items(&id, from, STREAM_BYTES).await?;
            let Some(last) = items.last() else { break };
            from = last.end();
            sink.stream_items(items)?;
        }
    }
    Ok(())
}

async fn children(
    store: &mut impl InstantView,
    id: &PromiseId,
    queue: &mut GatherQueue,
) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let found = store.children(ParentCursor { id: id.clone(), after }, CHILDREN).await?;
        let count = found.len();
        for child in found {
            after = after.max(child.number);
            queue.add(child.row.promise.id().clone(), GatherReason::Member);
        }
        if count < CHILDREN as usize {
            return Ok(());
        }
    }
}
