//! Row locks of transactions in the simulated database.

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

/// A lockable row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Row {
    /// A schedule, by id.
    Schedule(String),
    /// A resource with its lease, by name.
    Resource(String),
    /// A row with its own name.
    Named(Name),
    /// A promise.
    Promise(PromiseId),
    /// The task of a promise.
    Task(PromiseId),
    /// Id of a promise that does not exist yet.
    Key(PromiseId),
}

/// A row that is found by name. Rows are locked in the order of the variants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// Queue of an object.
    Line(ObjectId),
    /// A limit.
    Limit(LimitName),
    /// A partition of a limit, that is, one key.
    Partition(PartitionId),
    /// Counter of a tree, by its root.
    TreeCount(PromiseId),
    /// Budget of an account.
    Budget(PromiseId),
}

impl Name {
    /// Rows that a footprint requests by name.
    pub(super) fn wanted(rows: &Footprint) -> impl Iterator<Item = Self> {
        let lines = rows.lines.iter().cloned().map(Self::Line);
        let limits = rows.limits.iter().cloned().map(Self::Limit);
        let partitions = rows.partitions.iter().cloned().map(Self::Partition);
        let counts = rows.tree_counts.iter().cloned().map(Self::TreeCount);
        let budgets = rows.budgets.iter().cloned().map(Self::Budget);
        lines.chain(limits).chain(partitions).chain(counts).chain(budgets)
    }

    /// Rows that a delta writes.
    pub(super) fn written(delta: &Delta) -> impl Iterator<Item = Self> {
        let lines = delta.lines.keys().cloned().map(Self::Line);
        let limits = delta.limits.keys().cloned().map(Self::Limit);
        let partitions = delta.partitions.keys().cloned().map(Self::Partition);
        let counts = delta.tree_counts.keys().cloned().map(Self::TreeCount);
        let budgets = delta.budgets.keys().cloned().map(Self::Budget);
        lines.chain(limits).chain(partitions).chain(counts).chain(budgets)
    }

    /// Adds the row to a footprint.
    pub(super) fn want(self, rows: &mut Footprint) {
        match self {
            Self::Line(object) => drop(rows.lines.insert(object)),
            Self::Limit(name) => drop(rows.limits.insert(name)),
            Self::Partition(id) => drop(rows.partitions.insert(id)),
            Self::TreeCount(root) => drop(rows.tree_counts.insert(root)),
            Self::Budget(account) => drop(rows.budgets.insert(account)),
        }
    }

    /// True if the row exists.
    pub(super) fn is_in(&self, rows: &Model) -> bool {
        match self {
            Self::Line(object) => rows.line(object).is_some(),
            Self::Limit(name) => rows.limit(name).is_some(),
            Self::Partition(id) => rows.partition(id).is_some(),
            Self::TreeCount(root) => rows.tree_count(root).is_some(),
            Self::Budget(account) => rows.budget(account).is_some(),
        }
    }
}

/// Holder of each locked row.
#[derive(Default)]
pub(super) struct Locks(Mutex<BTreeMap<Row, u64>>);

impl Locks {
    /// Locks a row for a transaction. Returns false if another transaction holds it.
    pub(super) fn take(&self, row: &Row, transaction: u64) -> bool {
        *self.held().entry(row.clone()).or_insert(transaction) == transaction
    }

    /// Releases all locks of a transaction.
    pub(super) fn release(&self, transaction: u64) {
        self.held().retain(|_, holder| *holder != transaction);
    }

    /// All locked rows, with the transactions that hold them.
    pub(super) fn all(&self) -> BTreeMap<Row, u64> {
        self.held().clone()
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Row, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
