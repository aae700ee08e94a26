//! The channels of this host, and the messages being delivered on them.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use segno_core::promise::{Delivery, OutboxKey, OutboxMessageKind};

use super::{Channel, DeliveryResult};

/// All channels of this host, and the keys of the messages being delivered.
#[derive(Default)]
pub struct Channels {
    all: RwLock<Vec<Arc<dyn Channel>>>,
    under_way: Mutex<BTreeSet<OutboxKey>>,
}

impl Channels {
    /// Adds a channel. The first channel that does not answer `NotMine` carries a message.
    pub fn add(&self, channel: Arc<dyn Channel>) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).push(channel);
    }

    /// The kinds of messages that can be delivered now: those addressed to the engine itself, and
    /// those that an open channel takes.
    pub fn kinds(&self) -> Vec<OutboxMessageKind> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let taken = |kind: &OutboxMessageKind| {
            kind.is_own() || all.iter().any(|channel| channel.takes(*kind) && channel.is_open())
        };
        OutboxMessageKind::ALL.into_iter().filter(taken).collect()
    }

    /// Delivers the message on the first channel that takes it. Returns `NotMine` if no channel
    /// does.
    pub async fn deliver(&self, kind: OutboxMessageKind, delivery: &Delivery) -> DeliveryResult {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner).clone();
        for channel in all.iter().filter(|channel| channel.takes(kind)) {
            let delivered = channel.deliver(delivery).await;
            tracing::trace!(channel = channel.name(), kind = kind.name(), ?delivered, "delivery");
            if delivered != DeliveryResult::NotMine {
                return delivered;
            }
        }
        DeliveryResult::NotMine
    }

    /// Notifies the channels that another host had a message and no receiver for it.
    pub fn wanted(&self, key: &OutboxKey) {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().filter(|channel| channel.takes(key.kind())).for_each(|it| it.wanted(key));
    }

    /// The number of messages of this kind being delivered.
    pub fn under_way(&self, kind: OutboxMessageKind) -> usize {
        self.lock().iter().filter(|key| key.kind() == kind).count()
    }

    /// True if this message is being delivered.
    pub fn carries(&self, key: &OutboxKey) -> bool {
        self.lock().contains(key)
    }

    /// Marks a message as being delivered. Returns false if it was already.
    pub fn begin(&self, key: OutboxKey) -> bool {
        self.lock().insert(key)
    }

    /// Marks a delivery as ended.
    pub fn end(&self, key: &OutboxKey) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<OutboxKey>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
