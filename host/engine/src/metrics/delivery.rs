//! What became of messages.

use prometheus_client::{
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use segno_core::promise::MessageKind;

use super::Label;
use crate::delivery::Delivered;

/// What came of posting a message to a worker's HTTP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It was taken.
    Taken,
    /// The answer was another than 2xx.
    Refused,
    /// There was no answer.
    Failed,
    /// It was not posted: the address had failed a moment ago, or too many messages were under way.
    HeldBack,
}

/// See the module.
pub struct DeliveryMetrics {
    deliveries: Family<[(&'static str, &'static str); 2], Counter>,
    acknowledged: Counter,
    pushes: Family<Label, Counter>,
}

impl Pushed {
    const ALL: [Self; 4] = [Self::Taken, Self::Refused, Self::Failed, Self::HeldBack];

    fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::HeldBack => "held-back",
        }
    }
}

impl DeliveryMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            deliveries: Family::default(),
            acknowledged: Counter::default(),
            pushes: Family::default(),
        };
        for pushed in Pushed::ALL {
            drop(metrics.pushes.get_or_create(&[("result", pushed.name())]));
        }
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
            "pushes",
            "Messages posted to workers with an HTTP address, by what came of it",
            metrics.pushes.clone(),
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

    /// A message was posted to a worker, or was to be.
    pub fn pushed(&self, pushed: Pushed) {
        self.pushes.get_or_create(&[("result", pushed.name())]).inc();
    }

    /// So many messages came to this.
    pub fn pushes(&self, pushed: Pushed) -> u64 {
        self.pushes.get_or_create(&[("result", pushed.name())]).get()
    }

    /// So many events were acknowledged.
    pub fn acknowledged(&self, events: usize) {
        self.acknowledged.inc_by(events as u64);
    }
}
