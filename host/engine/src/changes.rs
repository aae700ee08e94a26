//! The promises that commits change, for clients that watch the host. Each watcher has a bounded
//! set of ids that it has not received yet. Without watchers, a commit costs one atomic load.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use segno_core::id::PromiseId;
use tokio::sync::Notify;

/// Maximum number of ids kept for one watcher. Beyond it, the watcher is notified that it missed
/// some.
const KEPT: usize = 1_000;
/// Maximum number of watchers.
const WATCHERS: usize = 128;

/// The watchers of a host.
#[derive(Debug, Default)]
pub struct ChangeWatchers {
    watchers: Mutex<Vec<Arc<WatchState>>>,
    open: AtomicUsize,
}

/// One watcher. Dropping it ends the watch.
#[derive(Debug)]
pub struct ChangeWatcher {
    watched: Arc<WatchState>,
    changes: Arc<ChangeWatchers>,
}

/// The changes since the last report to a watcher.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchedChanges {
    /// The promises whose rows were written or removed.
    pub ids: BTreeSet<PromiseId>,
    /// True if there were more changes than are kept. Then any promise may have changed.
    pub missed: bool,
}

#[derive(Debug)]
struct WatchState {
    /// Limits the watch to this promise and to those below it by id.
    within: Option<PromiseId>,
    pending: Mutex<WatchedChanges>,
    wake: Notify,
}

impl ChangeWatchers {
    /// Adds a watcher of all promises, or of one promise and those below it. `None` if there are
    /// too many watchers.
    pub fn watch(self: &Arc<Self>, within: Option<PromiseId>) -> Option<ChangeWatcher> {
        let watched =
            Arc::new(WatchState { within, pending: Mutex::default(), wake: Notify::new() });
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        if watchers.len() >= WATCHERS {
            return None;
        }
        watchers.push(watched.clone());
        self.open.store(watchers.len(), Ordering::SeqCst);
        Some(ChangeWatcher { watched, changes: self.clone() })
    }

    /// True if there is a watcher.
    pub fn are_watched(&self) -> bool {
        self.open.load(Ordering::SeqCst) > 0
    }

    /// Notifies the watchers of changed promises.
    pub fn tell(&self, ids: &BTreeSet<PromiseId>) {
        let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        for watched in &*watchers {
            watched.add(ids);
        }
    }
}

impl WatchState {
    fn add(&self, ids: &BTreeSet<PromiseId>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let known = pending.ids.len();
        for id in ids.iter().filter(|id| self.concerns(id)) {
            if pending.missed {
                break;
            }
            pending.ids.insert(id.clone());
            if pending.ids.len() > KEPT {
                *pending = WatchedChanges { ids: BTreeSet::new(), missed: true };
            }
        }
        if pending.missed || pending.ids.len() > known {
            self.wake.notify_one();
        }
    }

    fn concerns(&self, id: &PromiseId) -> bool {
        let Some(within) = &self.within else { return true };
        let rest = id.as_str().strip_prefix(within.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl ChangeWatcher {
    /// Waits for the first change since the last report. Returns all changes up to now.
    pub async fn next(&self) -> WatchedChanges {
        loop {
            {
                let mut pending =
                    self.watched.pending.lock().unwrap_or_else(PoisonError::into_inner);
                if pending.missed || !pending.ids.is_empty() {
                    return std::mem::take(&mut pending);
                }
            }
            self.watched.wake.notified().await;
        }
    }
}

impl Drop for ChangeWatcher {
    fn drop(&mut self) {
        let mut watchers = self.changes.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|other| !Arc::ptr_eq(other, &self.watched));
        self.changes.open.store(watchers.len(), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn ids(ids: &[&str]) -> BTreeSet<PromiseId> {
        ids.iter().map(|id| PromiseId::from(*id)).collect()
    }

    #[test]
    fn a_watcher_is_told_once_of_what_concerns_it() {
        let changes = Arc::new(ChangeWatchers::default());
        assert!(!changes.are_watched());
        let all = changes.watch(None).expect("there is room");
        let one = changes.watch(Some("a".into())).expect("there is room");
        changes.tell(&ids(&["a", "a/0", "ab", "b"]));
        let told = |watcher: &ChangeWatcher| watcher.next().now_or_never();
        let changed = |names| Some(WatchedChanges { ids: ids(names), missed: false });
        assert_eq!(told(&all), changed(&["a", "a/0", "ab", "b"]));
        assert_eq!(told(&one), changed(&["a", "a/0"]));
        changes.tell(&ids(&["b"]));
        assert_eq!((told(&all), told(&one)), (changed(&["b"]), None));
        drop((all, one));
        assert!(!changes.are_watched());
    }

    #[test]
    fn a_slow_watcher_keeps_a_bounded_set_and_learns_that_it_missed_some() {
        let changes = Arc::new(ChangeWatchers::default());
        let watcher = changes.watch(None).expect("there is room");
        for number in 0..2 * KEPT {
            changes.tell(&ids(&[format!("x{number}").as_str()]));
        }
        let told = watcher.next().now_or_never();
        assert_eq!(told, Some(WatchedChanges { ids: BTreeSet::new(), missed: true }));
        changes.tell(&ids(&["y"]));
        assert_eq!(watcher.next().now_or_never().map(|changed| changed.ids), Some(ids(&["y"])));
        let more: Vec<_> = (1..=WATCHERS).map_while(|_| changes.watch(None)).collect();
        assert_eq!(more.len(), WATCHERS - 1);
    }
}
