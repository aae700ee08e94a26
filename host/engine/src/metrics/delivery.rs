//! Metrics of message delivery.

use prometheus_client::{
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use segno_core::promise::OutboxMessageKind;

use super::Label;
use crate::delivery::DeliveryResult;

/// The result of posting a message to a worker's HTTP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushResult {
    /// The answer was 2xx.
    Taken,
    /// The answer was not 2xx.
    Refused,
    /// There was no answer.
    Failed,
    /// The message was not posted: the address had just failed, or too many posts were running.
    HeldBack,
}

/// Deliveries by kind and result, posts to workers, acknowledged events.
pub struct DeliveryMetrics {
    deliveries: Family<[(&'static str, &'static str); 2], Counter>,
    acknowledged: Counter,
    pushes: Family<Label, Counter>,
}

impl PushResult {
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
        for pushed in PushResult::ALL {
            drop(metrics.pushes.get_or_create(&[("result", pushed.name())]));
        }
        for kind in
            [OutboxMessageKind::Execute, OutboxMessageKind::Unblock, OutboxMessageKind::Event]
        {
            for result in ["delivered", "failed", "unclaimed"] {
                drop(
                    metrics.deliveries.get_or_create(&[("kind", kind.name()), ("result", result)]),
                );
            }
        }
        registry.register(
            "deliveries",
            "Deliveries of messages, by kind and by result",
            metrics.deliveries.clone(),
        );
        registry.register(
            "pushes",
            "Messages posted to workers with an HTTP address, by result",
            metrics.pushes.clone(),
        );
        registry.register(
            "events_acknowledged",
            "Events acknowledged over the API",
            metrics.acknowledged.clone(),
        );
        metrics
    }

    /// Counts a delivery of a message of this kind.
    pub fn count(&self, kind: OutboxMessageKind, delivered: DeliveryResult) {
        let result = match delivered {
            DeliveryResult::Done => "delivered",
            DeliveryResult::Again { .. } | DeliveryResult::Elsewhere => "failed",
            DeliveryResult::NotMine => "unclaimed",
        };
        self.deliveries.get_or_create(&[("kind", kind.name()), ("result", result)]).inc();
    }

    /// Counts a post to a worker, or a post that was held back.
    pub fn pushed(&self, pushed: PushResult) {
        self.pushes.get_or_create(&[("result", pushed.name())]).inc();
    }

    /// The number of posts to workers with this result.
    pub fn pushes(&self, pushed: PushResult) -> u64 {
        self.pushes.get_or_create(&[("result", pushed.name())]).get()
    }

    /// Counts events that were acknowledged.
    pub fn acknowledged(&self, events: usize) {
        self.acknowledged.inc_by(events as u64);
    }
}
