//! The duration of this host's leases, which grows when heartbeats are acknowledged late.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicI64, Ordering},
};

use segno_core::{
    promise::{HeartbeatDelays, LeasePolicy},
    time::Millis,
};

/// The duration of the next lease, computed from the delays of the last heartbeats.
#[derive(Debug)]
pub struct AdaptiveLeaseTtl {
    policy: LeasePolicy,
    delays: Mutex<HeartbeatDelays>,
    next: AtomicI64,
}

impl AdaptiveLeaseTtl {
    /// The duration before any heartbeat was measured.
    pub fn new(policy: LeasePolicy) -> Self {
        let next = policy.ttl(&HeartbeatDelays::default());
        Self { policy, delays: Mutex::default(), next: AtomicI64::new(next.0) }
    }

    /// The duration of the next lease.
    pub fn ttl(&self) -> Millis {
        Millis(self.next.load(Ordering::Relaxed))
    }

    /// Records the delay of a heartbeat, from its planned sending to its acknowledgement.
    pub fn observe(&self, delay: Millis) {
        let mut delays = self.delays.lock().unwrap_or_else(PoisonError::into_inner);
        delays.observe(delay);
        self.next.store(self.policy.ttl(&delays).0, Ordering::Relaxed);
    }
}
