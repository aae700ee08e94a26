//! The bus carries commit hints between hosts, and messages to external workers and clients.
//! Anything may be lost, duplicated, late and out of order.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{effect::Effect, promise::Delivery, time::Millis, view::View};
use segno_engine::notifier::CommitNotifier;
use segno_env::Runtime;
use segno_sim::SimRuntime;
use segno_store::Hints;
use tokio::sync::mpsc;

use super::{dice::Dice, event_log::EventLog, fault::MessageFault};

/// Current fault levels of messages.
#[derive(Default)]
pub(super) struct NetworkFaults(Mutex<BTreeMap<MessageFault, u64>>);

impl NetworkFaults {
    /// Sets the level of a fault.
    pub(super) fn set(&self, what: MessageFault, level: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(what, level);
    }

    /// Removes all faults.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Level of a fault. 0 if it is not set.
    pub(super) fn level(&self, what: MessageFault) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&what).copied().unwrap_or(0)
    }

    /// True if no fault is set.
    pub(super) fn is_clear(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// The bus between hosts, and to external receivers.
pub(super) struct Bus {
    network_faults: Arc<NetworkFaults>,
    log: Arc<EventLog>,
    runtime: Arc<SimRuntime>,
    dice: Mutex<Dice>,
    hubs: Mutex<BTreeMap<u64, Arc<CommitNotifier>>>,
    outside: mpsc::UnboundedSender<Delivery>,
}

impl Bus {
    /// Creates a bus without hosts. Messages to external receivers go to `outside`.
    pub(super) fn new(
        seed: u64,
        network_faults: Arc<NetworkFaults>,
        log: Arc<EventLog>,
        runtime: Arc<SimRuntime>,
        outside: mpsc::UnboundedSender<Delivery>,
    ) -> Self {
        let dice = Mutex::new(Dice::new(seed, "bus"));
        Self { network_faults, log, runtime, dice, hubs: Mutex::default(), outside }
    }

    /// Adds a receiver: an incarnation of a host.
    pub(super) fn join(&self, life: u64, notifier: Arc<CommitNotifier>) {
        self.hubs().insert(life, notifier);
    }

    /// Removes a receiver.
    pub(super) fn leave(&self, life: u64) {
        self.hubs().remove(&life);
    }

    /// Delivers the hints of a commit: to the committing host immediately and with the rows, to the
    /// others by the network.
    pub(super) fn committed(&self, by: Option<u64>, effects: &[Effect], state: &View) {
        if effects.is_empty() {
            return;
        }
        let hubs: Vec<_> =
            self.hubs().iter().map(|(life, notifier)| (*life, notifier.clone())).collect();
        for (life, notifier) in hubs {
            if self.roll(MessageFault::HintLoss) {
                continue;
            }
            if Some(life) == by {
                notifier.committed(effects, state);
                continue;
            }
            self.later(notifier.clone(), effects);
            if self.roll(MessageFault::HintTwice) {
                self.later(notifier, effects);
            }
        }
    }

    fn later(&self, notifier: Arc<CommitNotifier>, effects: &[Effect]) {
        let shared: Vec<Effect> =
            effects.iter().filter(|effect| !stays_here(effect)).cloned().collect();
        let delay = self.delay();
        let runtime = self.runtime.clone();
        self.runtime.spawn(
            "hint",
            Box::pin(async move {
                runtime.sleep(delay).await;
                notifier.heard(&shared);
            }),
        );
    }

    /// Delivers a message to an external receiver.
    pub(super) fn deliver(&self, delivery: &Delivery) {
        if self.roll(MessageFault::MessageLoss) {
            return;
        }
        let copies = if self.roll(MessageFault::MessageTwice) { 2 } else { 1 };
        for _ in 0..copies {
            let (delay, runtime) = (self.delay(), self.runtime.clone());
            let (outside, delivery) = (self.outside.clone(), delivery.clone());
            self.runtime.spawn(
                "message",
                Box::pin(async move {
                    runtime.sleep(delay).await;
                    // The receiver exists until the world ends.
                    let _ = outside.send(delivery);
                }),
            );
        }
    }

    fn delay(&self) -> Millis {
        let most = self.network_faults.level(MessageFault::MessageDelay);
        if most == 0 {
            return Millis(1);
        }
        self.log.count(MessageFault::MessageDelay.kind());
        Millis(self.dice().between(1, i64::try_from(most).unwrap_or(1)))
    }

    fn roll(&self, what: MessageFault) -> bool {
        let happens = self.dice().chance(self.network_faults.level(what));
        if happens {
            self.log.count(what.kind());
        }
        happens
    }

    fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hubs(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<CommitNotifier>>> {
        self.hubs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if an effect is only counted or logged where it was decided, and not delivered.
fn stays_here(effect: &Effect) -> bool {
    matches!(effect, Effect::Count(_) | Effect::Skipped { .. } | Effect::OccurrenceFailed { .. })
}
