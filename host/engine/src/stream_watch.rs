//! Notices for the readers of streams on this host.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::id::StreamId;
use tokio::sync::watch;

/// The live readers of streams. A notice may be lost, so readers also read at intervals.
#[derive(Debug, Default)]
pub struct StreamWatchers {
    changes: Mutex<HashMap<StreamId, watch::Sender<u64>>>,
}

/// A live reader of a stream.
#[derive(Debug)]
pub struct StreamWatch {
    id: StreamId,
    changes: watch::Receiver<u64>,
    of: Arc<StreamWatchers>,
}

impl StreamWatchers {
    /// Subscribes to changes. Subscribe first, then read, so that no change is missed.
    pub fn watch(self: &Arc<Self>, id: &StreamId) -> StreamWatch {
        let mut changes = self.changes();
        let sender = changes.entry(id.clone()).or_default();
        StreamWatch { id: id.clone(), changes: sender.subscribe(), of: self.clone() }
    }

    /// Wakes the readers of a stream.
    pub(crate) fn changed(&self, id: &StreamId) {
        if let Some(sender) = self.changes().get(id) {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// Number of streams with live readers.
    pub fn len(&self) -> usize {
        self.changes().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn changes(&self) -> MutexGuard<'_, HashMap<StreamId, watch::Sender<u64>>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamWatch {
    /// Completes when the stream has changed since the last call.
    pub async fn changed(&mut self) {
        // The sender lives as long as this reader.
        let _ = self.changes.changed().await;
    }

    /// Forgets earlier changes: the caller is about to read.
    pub fn mark_read(&mut self) {
        self.changes.borrow_and_update();
    }
}

impl Drop for StreamWatch {
    fn drop(&mut self) {
        let mut changes = self.of.changes();
        // This reader is still counted.
        if changes.get(&self.id).is_some_and(|sender| sender.receiver_count() <= 1) {
            changes.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn readers_hear_of_their_stream_and_leave_nothing() {
        let watchers = Arc::new(StreamWatchers::default());
        let (mut one, two) = (watchers.watch(&"a".into()), watchers.watch(&"a".into()));
        watchers.changed(&"b".into());
        watchers.changed(&"a".into());
        one.changed().await;
        watchers.changed(&"a".into());
        one.mark_read();
        assert!(!one.changes.has_changed().expect("open"));
        drop(one);
        assert_eq!(watchers.len(), 1);
        drop(two);
        assert!(watchers.is_empty());
    }
}
