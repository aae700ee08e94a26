//! The claims this host remembers: the tasks it holds, kept from one commit under a claim to the
//! next.
//!
//! A step only appends records to its journal. The host already had everything that this decision
//! reads when it last wrote there, so nothing is read again; the appending statement compares
//! instead ([`super::append`]). A remembered claim may be stale, and then nothing is appended: it
//! is only ever a guess that is verified.

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

/// Maximum number of claims remembered; when it is exceeded, all are forgotten and read again.
const LIMIT: usize = 16_384;

/// The tasks this host holds, keyed by promise.
#[derive(Debug, Default)]
pub(super) struct RememberedClaims(Mutex<ClaimMemory>);

/// The remembered claims; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct ClaimMemory {
    /// The rows read by decisions that depend on one of these claims alone.
    pub(super) view: View,
    rows: HashMap<PromiseId, ClaimRow>,
}

/// The row of a claimed task.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClaimRow {
    pub(super) number: i64,
    /// The proof that the row is unchanged.
    pub(super) guard: TaskGuard,
}

/// The proof that a task was not written since it was remembered. While it holds, everything about
/// the task is unchanged.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskGuard {
    pub(super) version: i64,
    /// The stamp of the transaction that wrote the row.
    pub(super) stamp: WriteStamp,
}

/// A random number that a transaction leaves in every task it writes (`tasks.stamp`).
///
/// A counter would repeat itself if a failover lost commits: another host could then write the
/// same number with other contents, while a pooler hides from this host that the server changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WriteStamp(pub(super) i64);

impl RememberedClaims {
    /// True if this claim is remembered.
    pub(super) fn knows(&self, claim: &Claim) -> bool {
        let view = &self.remembered().view;
        view.task(&claim.id).is_some_and(|task| task.version == claim.version)
    }

    /// Updates the remembered claims from a commit: for every task in the cache, remembers it if
    /// this host holds it, with the stamp of its row.
    pub(super) fn learn(&self, cache: &Cache, stamps: &HashMap<i64, WriteStamp>) {
        let mut remembered = self.remembered();
        for task in cache.view.tasks() {
            let promise = cache.view.promise(&task.id).filter(|promise| promise.is_pending());
            let held = task.status() == TaskStatus::Acquired && cache.is_whole(&task.id);
            let row = cache.number(&task.id).and_then(|number| ClaimRow::of(number, task, stamps));
            match (promise, row) {
                (Some(promise), Some(row)) if held => {
                    if remembered.rows.len() >= LIMIT {
                        *remembered = ClaimMemory::default();
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

    /// Records that a journal grew.
    pub(super) fn grew(&self, id: &PromiseId, head: JournalHead) {
        let mut remembered = self.remembered();
        if remembered.rows.contains_key(id) {
            remembered.view.put_head(id.clone(), head);
        }
    }

    /// Forgets these claims.
    pub(super) fn forget<'a>(&self, ids: impl Iterator<Item = &'a PromiseId>) {
        let mut remembered = self.remembered();
        ids.for_each(|id| remembered.forget(id));
    }

    /// Forgets all claims.
    pub(super) fn forget_all(&self) {
        *self.remembered() = ClaimMemory::default();
    }

    /// The remembered rows, with the lock held.
    pub(super) fn remembered(&self) -> MutexGuard<'_, ClaimMemory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClaimMemory {
    /// The remembered row of a claimed task.
    pub(super) fn row(&self, id: &PromiseId) -> Option<&ClaimRow> {
        self.rows.get(id)
    }

    fn forget(&mut self, id: &PromiseId) {
        if self.rows.remove(id).is_some() {
            self.view.evict(id);
        }
    }
}

impl ClaimRow {
    /// `None` if the stamp is unknown.
    fn of(number: i64, task: &Task, stamps: &HashMap<i64, WriteStamp>) -> Option<Self> {
        let (version, stamp) = (task.version.0.cast_signed(), *stamps.get(&number)?);
        Some(Self { number, guard: TaskGuard { version, stamp } })
    }
}
