//! The promises whose settlement an execution wants to hear of. A hint only: what it says is read from the store.

use std::{collections::BTreeSet, sync::Arc};

use segno_core::id::PromiseId;
use tokio::sync::mpsc;

use crate::notifier::CommitNotifier;

/// Registered with the notifier until it is dropped.
pub struct SettlementWatch {
    notifier: Arc<CommitNotifier>,
    ids: BTreeSet<PromiseId>,
    sender: mpsc::UnboundedSender<PromiseId>,
    settled: mpsc::UnboundedReceiver<PromiseId>,
}

impl SettlementWatch {
    /// Watches nothing yet.
    pub fn new(notifier: Arc<CommitNotifier>) -> Self {
        let (sender, settled) = mpsc::unbounded_channel();
        Self { notifier, ids: BTreeSet::new(), sender, settled }
    }

    /// Watches `id` from now on. Read the promise after this, and nothing is missed.
    pub fn add(&mut self, id: &PromiseId) {
        if self.ids.insert(id.clone()) {
            self.notifier.watch(id.clone(), self.sender.clone());
        }
    }

    /// The next that settled.
    pub async fn next(&mut self) -> PromiseId {
        let id = self.settled.recv().await.expect("the sender lives beside the receiver");
        self.ids.remove(&id);
        id
    }

    /// The next that settled, if one has.
    pub fn try_next(&mut self) -> Option<PromiseId> {
        let id = self.settled.try_recv().ok()?;
        self.ids.remove(&id);
        Some(id)
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
