//! How long this host's leases are: longer where heartbeats are slow to arrive.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicI64, Ordering},
};

use segno_core::{
    promise::{HeartbeatDelays, LeasePolicy},
    time::Millis,
};

/// The length of the next lease, from the delays of the last heartbeats.
#[derive(Debug)]
pub struct AdaptiveLeaseTtl {
    policy: LeasePolicy,
    delays: Mutex<HeartbeatDelays>,
    next: AtomicI64,
}

impl AdaptiveLeaseTtl {
    /// Nothing was measured yet.
    pub fn new(policy: LeasePolicy) -> Self {
        let next = policy.ttl(&HeartbeatDelays::default());
        Self { policy, delays: Mutex::default(), next: AtomicI64::new(next.0) }
    }

    /// How long the next lease is.
    pub fn ttl(&self) -> Millis {
        Millis(self.next.load(Ordering::Relaxed))
    }

    /// Takes note of a heartbeat's delay, from the instant at which it was to be sent to its acknowledgement.
    pub fn observe(&self, delay: Millis) {
        let mut delays = self.delays.lock().unwrap_or_else(PoisonError::into_inner);
        delays.observe(delay);
        self.next.store(self.policy.ttl(&delays).0, Ordering::Relaxed);
    }
}
