//! Messages in the outbox.

use super::View;
use crate::{
    promise::{OutboxKey, OutboxRow},
    unreadable::Subject,
};

impl View {
    pub fn outbox_row(&self, key: &OutboxKey) -> Option<&OutboxRow> {
        self.outbox.get(key)
    }

    /// The keys of messages from this one on.
    pub fn outbox_from(&self, key: &OutboxKey) -> impl Iterator<Item = &OutboxKey> {
        self.outbox.range(key.clone()..).map(|(key, _)| key)
    }

    pub fn outbox(&self) -> impl Iterator<Item = (&OutboxKey, &OutboxRow)> {
        self.outbox.iter()
    }

    pub fn put_outbox(&mut self, key: OutboxKey, row: OutboxRow) {
        self.readable(|| Subject::Message(key.clone()));
        self.outbox.insert(key, row);
    }

    pub fn remove_outbox(&mut self, key: &OutboxKey) {
        self.readable(|| Subject::Message(key.clone()));
        self.outbox.remove(key);
    }
}
