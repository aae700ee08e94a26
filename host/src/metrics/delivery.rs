//! What became of messages.

use prometheus_client::{
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use segno_core::promise::MessageKind;

use crate::delivery::Delivered;

/// See the module.
pub struct DeliveryMetrics {
    deliveries: Family<[(&'static str, &'static str); 2], Counter>,
    acknowledged: Counter,
}

impl DeliveryMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self { deliveries: Family::default(), acknowledged: Counter::default() };
        for kind in [MessageKind::Execute, MessageKind::Unblock, MessageKind::Event] {
            for result in ["delivered", "failed", "unclaimed"] {
                drop(
                    metrics.deliveries.get_or_create(&[("kind", kind.name()), ("result", result)]),
                );
            }
        }
        registry.register(
            "deliveries",
            "Messages handed over, by kind and by what became of them",
            metrics.deliveries.clone(),
        );
        registry.register(
            "events_acknowledged",
            "Events acknowledged over the API",
            metrics.acknowledged.clone(),
        );
        metrics
    }

    /// A message of this kind was handed over.
    pub fn count(&self, kind: MessageKind, delivered: Delivered) {
        let result = match delivered {
            Delivered::Done => "delivered",
            Delivered::Again { .. } | Delivered::Elsewhere => "failed",
            Delivered::NotMine => "unclaimed",
        };
        self.deliveries.get_or_create(&[("kind", kind.name()), ("result", result)]).inc();
    }

    /// So many events were acknowledged.
    pub fn acknowledged(&self, events: usize) {
        self.acknowledged.inc_by(events as u64);
    }
}
