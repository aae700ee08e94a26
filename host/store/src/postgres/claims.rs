//! What this host remembers of the tasks that it holds, from one commit under their claims to the
//! next.
//!
//! A step adds records to its journal and nothing else. All that this decision reads was in the
//! host's hands when it last wrote there, so it need not be read again; the statement that appends
//! compares instead ([`super::append`]). What is remembered may be wrong, and then nothing is
//! appended: it is never more than a guess that is checked.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    id::{Claim, PromiseId},
    invocation::JournalHead,
    promise::{Task, TaskStatus},
    view::View,
};

use crate::sql::Cache;

/// The largest number that is remembered; beyond it, all are read anew.
const LIMIT: usize = 16_384;

/// Tasks that this host holds, by their promises.
#[derive(Debug, Default)]
pub(super) struct RememberedClaims(Mutex<Remembered>);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// What decisions read that rest on one of these claims alone.
    pub(super) view: View,
    rows: HashMap<PromiseId, Row>,
}

/// The row of a task that is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Its number.
    pub(super) number: i64,
    /// How it is known again.
    pub(super) guard: Guard,
}

/// The proof that a task was not written since. While it holds, everything about the task is as it
/// was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guard {
    /// The version of the claim.
    pub(super) version: i64,
    /// The transaction that wrote the row, its `xmin`: a row that is written again gets another
    /// one, a row that is locked or vacuumed keeps it.
    pub(super) writer: TransactionId,
}

/// The number of a transaction as system columns hold it: the low 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TransactionId(i32);

impl TransactionId {
    /// Of the whole number, or of what a system column says.
    pub(super) fn of(number: i64) -> Self {
        Self(number as i32)
    }

    /// As the statements that compare it take it.
    pub(super) fn number(self) -> i64 {
        i64::from(self.0)
    }
}

impl RememberedClaims {
    /// Whether there is something to decide on under this claim.
    pub(super) fn knows(&self, claim: &Claim) -> bool {
        let view = &self.remembered().view;
        view.task(&claim.id).is_some_and(|task| task.version == claim.version)
    }

    /// Takes note of what a commit left: of every task in the cache, whether it is held, and who
    /// wrote its row.
    pub(super) fn learn(&self, cache: &Cache, writers: &HashMap<i64, TransactionId>) {
        let mut remembered = self.remembered();
        for task in cache.view.tasks() {
            let promise = cache.view.promise(&task.id).filter(|promise| promise.is_pending());
            let held = task.status() == TaskStatus::Acquired && cache.is_whole(&task.id);
            let row = cache.number(&task.id).and_then(|number| Row::of(number, task, writers));
            match (promise, row) {
                (Some(promise), Some(row)) if held => {
                    if remembered.rows.len() >= LIMIT {
                        *remembered = Remembered::default();
                    }
                    remembered.view.put_promise(promise.bare());
                    remembered.view.put_task(task.clone());
                    remembered.view.put_head(task.id.clone(), cache.view.head(&task.id));
                    remembered.rows.insert(task.id.clone(), row);
                }
                _ => remembered.forget(&task.id),
            }
        }
    }

    /// Takes note that a journal grew.
    pub(super) fn grew(&self, id: &PromiseId, head: JournalHead) {
        let mut remembered = self.remembered();
        if remembered.rows.contains_key(id) {
            remembered.view.put_head(id.clone(), head);
        }
    }

    /// Remembers nothing of these.
    pub(super) fn forget<'a>(&self, ids: impl Iterator<Item = &'a PromiseId>) {
        let mut remembered = self.remembered();
        ids.for_each(|id| remembered.forget(id));
    }

    /// Remembers nothing.
    pub(super) fn forget_all(&self) {
        *self.remembered() = Remembered::default();
    }

    /// The remembered rows, locked against changes.
    pub(super) fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    /// The row of a task that is held.
    pub(super) fn row(&self, id: &PromiseId) -> Option<&Row> {
        self.rows.get(id)
    }

    fn forget(&mut self, id: &PromiseId) {
        if self.rows.remove(id).is_some() {
            self.view.evict(id);
        }
    }
}

impl Row {
    /// None, if its writer is unknown.
    fn of(number: i64, task: &Task, writers: &HashMap<i64, TransactionId>) -> Option<Self> {
        let (version, writer) = (task.version.0.cast_signed(), *writers.get(&number)?);
        Some(Self { number, guard: Guard { version, writer } })
    }
}
