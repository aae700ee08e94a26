//! Executions with all that a replay of them needs, read as of one instant: for bundles.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    io,
};

use segno_core::{
    id::PromiseId,
    invocation::{Outcome, Record, RecordBody},
};

use super::{Child, InvocationFilter, InvocationRow, LogRow, Page, Parent, PromiseRow, StoreError};

/// Promises that are read at once.
const PROMISES: usize = 64;
/// Records or lines that are read at once.
const RECORDS: u32 = 1_024;
/// Children of one promise that are read at once.
const CHILDREN: u32 = 1_024;
/// Invocations that are listed at once.
const LISTED: u32 = 1_000;

/// Which executions are gathered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Those that are asked for.
    pub asked: Asked,
    /// Whether all that they made, and what that made, comes with them.
    pub tree: bool,
}

/// The executions that are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// These.
    Ids(Vec<PromiseId>),
    /// All of the functions of this module, by the alias under which they were called, that have not
    /// ended.
    InFlight(String),
}

/// Why a promise was gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GatheredAs {
    /// A journal refers to its value. Its own journal is left out.
    Value,
    /// It belongs to the tree of one that was asked for.
    Member,
    /// It was asked for.
    Asked,
}

/// Takes what is gathered.
pub trait GatherSink: Send {
    /// Takes a promise. The records and lines that follow are its own.
    ///
    /// # Errors
    /// It cannot be kept; gathering ends.
    fn promise(&mut self, row: PromiseRow, because: GatheredAs) -> io::Result<()>;

    /// Takes the next records of its journal.
    ///
    /// # Errors
    /// They cannot be kept; gathering ends.
    fn records(&mut self, records: Vec<Record>) -> io::Result<()>;

    /// Takes the next lines that it logged.
    ///
    /// # Errors
    /// They cannot be kept; gathering ends.
    fn lines(&mut self, lines: Vec<LogRow>) -> io::Result<()>;
}

/// Why executions were not gathered. What the sink took is not complete.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// One that was asked for is not there.
    #[error("there is no promise `{0}`")]
    NotFound(PromiseId),
    /// The sink failed.
    #[error("what was gathered cannot be kept: {0}")]
    Sink(#[from] io::Error),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A store as of one instant.
pub(crate) trait Instant: Send {
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

    fn children(
        &mut self,
        parent: Parent,
        each: u32,
    ) -> impl Future<Output = Result<Vec<Child>, StoreError>> + Send;

    fn list(
        &mut self,
        filter: &InvocationFilter,
    ) -> impl Future<Output = Result<Page<InvocationRow>, StoreError>> + Send;
}

/// Hands what `selection` names to `sink`: each promise once, those that were asked for first, and
/// parents before their children.
pub(crate) async fn gather(
    store: &mut impl Instant,
    selection: &Selection,
    sink: &mut dyn GatherSink,
) -> Result<(), GatherError> {
    let mut queue = Queue::default();
    match &selection.asked {
        Asked::Ids(ids) => ids.iter().for_each(|id| queue.add(id.clone(), GatheredAs::Asked)),
        Asked::InFlight(module) => in_flight(store, module, &mut queue).await?,
    }
    loop {
        let batch = queue.take(PROMISES);
        if batch.is_empty() {
            return Ok(());
        }
        let ids: Vec<PromiseId> = batch.iter().map(|(id, _)| id.clone()).collect();
        for ((id, because), row) in batch.into_iter().zip(store.promises(&ids).await?) {
            let Some(row) = row else {
                if because == GatheredAs::Asked {
                    return Err(GatherError::NotFound(id));
                }
                // A journal without its value: the replay says so.
                continue;
            };
            sink.promise(row, because)?;
            if because == GatheredAs::Value {
                continue;
            }
            journal(store, &id, &mut queue, sink).await?;
            lines(store, &id, sink).await?;
            if selection.tree {
                children(store, &id, &mut queue).await?;
            }
        }
    }
}

/// Promises that are still to be read. What is asked for and members come before values: one that is
/// both is read once, with its journal.
#[derive(Default)]
struct Queue {
    known: BTreeMap<PromiseId, GatheredAs>,
    whole: VecDeque<PromiseId>,
    values: VecDeque<PromiseId>,
}

impl Queue {
    fn add(&mut self, id: PromiseId, because: GatheredAs) {
        if self.known.get(&id).is_some_and(|known| *known >= because) {
            return;
        }
        match because {
            GatheredAs::Value => self.values.push_back(id.clone()),
            GatheredAs::Member | GatheredAs::Asked => self.whole.push_back(id.clone()),
        }
        self.known.insert(id, because);
    }

    fn take(&mut self, count: usize) -> Vec<(PromiseId, GatheredAs)> {
        if !self.whole.is_empty() {
            let batch = self.whole.drain(..self.whole.len().min(count));
            return batch
                .map(|id| (self.known[&id], id))
                .map(|(because, id)| (id, because))
                .collect();
        }
        let mut batch = Vec::new();
        while let Some(id) = self.values.pop_front() {
            if self.known.get(&id) == Some(&GatheredAs::Value) {
                batch.push((id, GatheredAs::Value));
            }
            if batch.len() == count {
                break;
            }
        }
        batch
    }
}

async fn in_flight(
    store: &mut impl Instant,
    module: &str,
    queue: &mut Queue,
) -> Result<(), StoreError> {
    let module = Some(module.to_owned());
    let mut filter = InvocationFilter { module, limit: LISTED, ..InvocationFilter::default() };
    loop {
        let page = store.list(&filter).await?;
        for row in page.items.into_iter().filter(|row| row.promise.is_pending()) {
            queue.add(row.promise.id().clone(), GatheredAs::Asked);
        }
        if page.next.is_none() {
            return Ok(());
        }
        filter.after = page.next;
    }
}

async fn journal(
    store: &mut impl Instant,
    id: &PromiseId,
    queue: &mut Queue,
    sink: &mut dyn GatherSink,
) -> Result<(), GatherError> {
    let mut from = 0;
    loop {
        let records = store.records(id, from, RECORDS).await?;
        let count = records.len() as u32;
        for record in &records {
            if let RecordBody::Notified { index, outcome: Outcome::Own } = &record.body {
                queue.add(id.command(*index), GatheredAs::Value);
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
    store: &mut impl Instant,
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

async fn children(
    store: &mut impl Instant,
    id: &PromiseId,
    queue: &mut Queue,
) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let found = store.children(Parent { id: id.clone(), after }, CHILDREN).await?;
        let count = found.len();
        for child in found {
            after = after.max(child.number);
            queue.add(child.row.promise.id().clone(), GatheredAs::Member);
        }
        if count < CHILDREN as usize {
            return Ok(());
        }
    }
}
