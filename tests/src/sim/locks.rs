//! Row locks of transactions of the simulated database.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use segno_core::id::{ObjectId, PromiseId};

/// What can be locked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// A schedule, by id.
    Schedule(String),
    /// A resource with its lease, by name.
    Resource(String),
    /// The line of an object.
    Line(ObjectId),
    /// A promise.
    Promise(PromiseId),
    /// The task of a promise.
    Task(PromiseId),
    /// The id of a promise that is not there yet.
    Key(PromiseId),
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
