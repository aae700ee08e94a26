//! What this host remembers of the tasks that it holds, from one commit under their claims to the next.
//!
//! A step adds records to its journal and nothing else. All that this decision reads was in the host's hands when it last
//! wrote there, so it need not be read again; the statement that appends compares instead ([`super::append`]). What is
//! remembered may be wrong, and then nothing is appended: it is never more than a guess that is checked.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    id::{Claim, PromiseId},
    invocation::JournalHead,
    promise::{Promise, Task, TaskStatus},
    state::State,
};

use crate::store::sql::{self, Cache, Cell};

/// So many are remembered; when there are more, all are read anew.
const LIMIT: usize = 16_384;

/// The columns of a task that change while a claim lasts, or with it: `version, wake_at, nonce, attempt, cancel, signals,
/// details`. While they are what they were, so is everything about the task.
pub(super) type Guard = [Cell; 7];

/// Tasks that this host holds, by their promises.
#[derive(Debug, Default)]
pub(super) struct Claims(Mutex<HashMap<PromiseId, Remembered>>);

/// What a decision reads that rests on a claim alone.
#[derive(Debug, Clone)]
struct Remembered {
    number: i64,
    promise: Promise,
    task: Task,
    head: JournalHead,
    guard: Guard,
}

impl Claims {
    /// Whether there is something to decide on under this claim.
    pub(super) fn knows(&self, claim: &Claim) -> bool {
        self.all().get(&claim.id).is_some_and(|known| known.task.version == claim.version)
    }

    /// Puts what is remembered of these into `view`. Answers their numbers, and how their tasks looked.
    pub(super) fn recall<'a>(
        &self,
        ids: impl Iterator<Item = &'a PromiseId>,
        view: &mut State,
    ) -> HashMap<PromiseId, (i64, Guard)> {
        let all = self.all();
        let mut recalled = HashMap::new();
        for id in ids {
            let Some(known) = all.get(id) else { continue };
            view.put_promise(known.promise.clone());
            view.put_task(known.task.clone());
            view.put_head(id.clone(), known.head);
            recalled.insert(id.clone(), (known.number, known.guard.clone()));
        }
        recalled
    }

    /// Takes note of what a commit left: of every task in the cache, whether it is held, and how it looks then.
    pub(super) fn learn(&self, cache: &Cache) {
        let mut all = self.all();
        for task in cache.state.tasks() {
            let promise = cache.state.promise(&task.id).filter(|promise| promise.is_pending());
            let held = task.status() == TaskStatus::Acquired && cache.is_whole(&task.id);
            match (promise, cache.number(&task.id)) {
                (Some(promise), Some(number)) if held => {
                    if all.len() >= LIMIT {
                        all.clear();
                    }
                    let remembered = Remembered {
                        number,
                        promise: promise.bare(),
                        task: task.clone(),
                        head: cache.state.head(&task.id),
                        guard: guard(number, task),
                    };
                    all.insert(task.id.clone(), remembered);
                }
                _ => drop(all.remove(&task.id)),
            }
        }
    }

    /// Takes note that a journal grew.
    pub(super) fn grew(&self, id: &PromiseId, head: JournalHead) {
        if let Some(known) = self.all().get_mut(id) {
            known.head = head;
        }
    }

    /// Remembers nothing of these.
    pub(super) fn forget<'a>(&self, ids: impl Iterator<Item = &'a PromiseId>) {
        let mut all = self.all();
        ids.for_each(|id| drop(all.remove(id)));
    }

    fn all(&self) -> MutexGuard<'_, HashMap<PromiseId, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn guard(number: i64, task: &Task) -> Guard {
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
    [version, wake_at, nonce, attempt, cancel, signals, details]
}
