//! The promises that an execution watches for settlement. A notification has the settled promise if
//! it was in memory; otherwise the promise is read from the store.

use std::{collections::BTreeSet, sync::Arc};

use segno_core::id::PromiseId;
use tokio::sync::mpsc;

use crate::notifier::{CommitNotifier, SettlementNotice};

/// The watched promises, registered with the notifier until dropped.
pub struct SettlementWatch {
    notifier: Arc<CommitNotifier>,
    ids: BTreeSet<PromiseId>,
    /// Those of `ids` whose settlement is known.
    ignored: BTreeSet<PromiseId>,
    sender: mpsc::UnboundedSender<SettlementNotice>,
    settled: mpsc::UnboundedReceiver<SettlementNotice>,
}

impl SettlementWatch {
    /// An empty watch.
    pub fn new(notifier: Arc<CommitNotifier>) -> Self {
        let (sender, settled) = mpsc::unbounded_channel();
        Self { notifier, ids: BTreeSet::new(), ignored: BTreeSet::new(), sender, settled }
    }

    /// Watches `id` from now on. Read the promise after this call, so that no settlement is missed.
    pub fn add(&mut self, id: &PromiseId) {
        if self.ids.insert(id.clone()) {
            self.notifier.watch(id.clone(), self.sender.clone());
        }
    }

    /// Ignores the settlement of `id` from now on.
    pub fn ignore(&mut self, id: &PromiseId) {
        if self.ids.contains(id) {
            self.ignored.insert(id.clone());
        }
    }

    /// True if the settlement of `id` is news.
    fn takes(&mut self, id: &PromiseId) -> bool {
        self.ids.remove(id) && !self.ignored.remove(id)
    }

    /// Waits for the next settled promise.
    pub async fn next(&mut self) -> SettlementNotice {
        loop {
            let settled =
                self.settled.recv().await.expect("the sender lives as long as the receiver");
            if self.takes(&settled.id) {
                return settled;
            }
        }
    }

    /// The next settled promise. `None` if there is none yet.
    pub fn try_next(&mut self) -> Option<SettlementNotice> {
        loop {
            // An error means that the channel is empty: a sender is here.
            let settled = self.settled.try_recv().ok()?;
            if self.takes(&settled.id) {
                return Some(settled);
            }
        }
    }
}

impl Drop for SettlementWatch {
    fn drop(&mut self) {
        self.settled.close();
        for id in &self.ids {
            self.notifier.unwatch(id);
        }
    }
}
