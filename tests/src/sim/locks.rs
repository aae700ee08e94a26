//! Row locks of transactions of the simulated database.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    delta::Delta,
    footprint::Footprint,
    id::{ObjectId, PromiseId},
    limit::{LimitName, PartitionId},
    model::Model,
};

/// What can be locked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// A schedule, by id.
    Schedule(String),
    /// A resource with its lease, by name.
    Resource(String),
    /// A row with a name of its own.
    Named(Name),
    /// A promise.
    Promise(PromiseId),
    /// The task of a promise.
    Task(PromiseId),
    /// The id of a promise that is not there yet.
    Key(PromiseId),
}

/// A row that is found by its name, in the order in which they are locked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// The line of an object.
    Line(ObjectId),
    /// A limit.
    Limit(LimitName),
    /// A key of a limit.
    Partition(PartitionId),
    /// The count of a tree, by its root.
    TreeCount(PromiseId),
}

impl Name {
    /// Those that are asked for.
    pub fn wanted(rows: &Footprint) -> impl Iterator<Item = Self> {
        let lines = rows.lines.iter().cloned().map(Self::Line);
        let limits = rows.limits.iter().cloned().map(Self::Limit);
        let partitions = rows.partitions.iter().cloned().map(Self::Partition);
        let counts = rows.tree_counts.iter().cloned().map(Self::TreeCount);
        lines.chain(limits).chain(partitions).chain(counts)
    }

    /// Those that are written.
    pub fn written(delta: &Delta) -> impl Iterator<Item = Self> {
        let lines = delta.lines.keys().cloned().map(Self::Line);
        let limits = delta.limits.keys().cloned().map(Self::Limit);
        let partitions = delta.partitions.keys().cloned().map(Self::Partition);
        let counts = delta.tree_counts.keys().cloned().map(Self::TreeCount);
        lines.chain(limits).chain(partitions).chain(counts)
    }

    /// Asks for it.
    pub fn want(self, rows: &mut Footprint) {
        match self {
            Self::Line(object) => drop(rows.lines.insert(object)),
            Self::Limit(name) => drop(rows.limits.insert(name)),
            Self::Partition(id) => drop(rows.partitions.insert(id)),
            Self::TreeCount(root) => drop(rows.tree_counts.insert(root)),
        }
    }

    /// Whether there is such a row.
    pub fn is_in(&self, rows: &Model) -> bool {
        match self {
            Self::Line(object) => rows.line(object).is_some(),
            Self::Limit(name) => rows.limit(name).is_some(),
            Self::Partition(id) => rows.partition(id).is_some(),
            Self::TreeCount(root) => rows.tree_count(root).is_some(),
        }
    }
}

/// The holder of each locked row.
#[derive(Default)]
pub struct Locks(Mutex<BTreeMap<Row, u64>>);

impl Locks {
    /// Locks a row for a transaction. Answers whether no other transaction has it.
    pub fn take(&self, row: &Row, transaction: u64) -> bool {
        *self.held().entry(row.clone()).or_insert(transaction) == transaction
    }

    /// Releases all locks of a transaction.
    pub fn release(&self, transaction: u64) {
        self.held().retain(|_, holder| *holder != transaction);
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Row, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
