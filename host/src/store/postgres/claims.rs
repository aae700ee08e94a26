//! What this host remembers of the tasks that it holds, from one commit under their claims to the next.
//!
//! A step adds records to its journal and nothing else. All that this decision reads was in the host's hands when it last
//! wrote there, so it need not be read again; the statement that appends compares instead ([`super::append`]). What is
//! remembered may be wrong, and then nothing is appended: it is never more than a guess that is checked.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    id::{Claim, PromiseId},
    invocation::JournalHead,
    promise::{Task, TaskStatus},
    state::State,
};

use crate::store::sql::{self, Cache, Cell};

/// So many are remembered; when there are more, all are read anew.
const LIMIT: usize = 16_384;

/// Tasks that this host holds, by their promises.
#[derive(Debug, Default)]
pub(super) struct Claims(Mutex<Remembered>);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// What decisions read that rest on one of these claims alone.
    pub(super) view: State,
    rows: HashMap<PromiseId, Row>,
}

/// The row of a task that is held.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Its number.
    pub(super) number: i64,
    /// How it looked.
    pub(super) guard: Arc<Guard>,
}

/// The columns of a task that change while a claim lasts, or with it. While they are what they were, so is everything
/// about the task.
#[derive(Debug)]
pub(super) struct Guard {
    /// `version, wake_at, nonce, attempt, cancel, signals`.
    pub(super) numbers: [Option<i64>; 6],
    pub(super) details: Vec<u8>,
}

impl Claims {
    /// Whether there is something to decide on under this claim.
    pub(super) fn knows(&self, claim: &Claim) -> bool {
        let view = &self.remembered().view;
        view.task(&claim.id).is_some_and(|task| task.version == claim.version)
    }

    /// Takes note of what a commit left: of every task in the cache, whether it is held, and how it looks then.
    pub(super) fn learn(&self, cache: &Cache) {
        let mut remembered = self.remembered();
        for task in cache.state.tasks() {
            let promise = cache.state.promise(&task.id).filter(|promise| promise.is_pending());
            let held = task.status() == TaskStatus::Acquired && cache.is_whole(&task.id);
            match (promise, cache.number(&task.id)) {
                (Some(promise), Some(number)) if held => {
                    if remembered.rows.len() >= LIMIT {
                        *remembered = Remembered::default();
                    }
                    remembered.view.put_promise(promise.bare());
                    remembered.view.put_task(task.clone());
                    remembered.view.put_head(task.id.clone(), cache.state.head(&task.id));
                    let row = Row { number, guard: Arc::new(Guard::of(number, task)) };
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

    /// What is remembered, while nobody changes it.
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

impl Guard {
    fn of(number: i64, task: &Task) -> Self {
        let [
            _,
            _,
            version,
            wake_at,
            _,
            _,
            _,
            _,
            _,
            nonce,
            _,
            _,
            _,
            attempt,
            _,
            _,
            cancel,
            signals,
            details,
        ] = sql::task_cells(number, Cell::Null, None, task);
        let numbers = [version, wake_at, nonce, attempt, cancel, signals].map(|cell| cell.int());
        let details = match details {
            Cell::Blob(details) => details,
            Cell::Null | Cell::Int(_) | Cell::Text(_) => Vec::new(),
        };
        Self { numbers, details }
    }
}
