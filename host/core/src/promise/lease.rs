//! Leases: time-bounded claims on tasks. A lease does not prove that no other worker runs; versions
//! make a late worker harmless.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::ClaimProgress;
use crate::{
    id::Holder,
    time::{Millis, Timestamp},
};

/// Lease on a task: its holder and its expiry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The host or external worker that holds it.
    pub holder: Holder,
    /// Random number drawn by the holder per attempt to acquire, so that a repeated attempt is
    /// recognised.
    pub nonce: u64,
    /// Duration of an extension by a heartbeat.
    pub ttl: Millis,
    /// Expiry.
    pub until: Timestamp,
}

/// Maximum length of a lease, 24 hours. It guarantees that a forgotten lease expires.
pub const LONGEST_LEASE: Millis = Millis::seconds(24 * 60 * 60);

impl Lease {
    /// Validates the length of a lease.
    ///
    /// # Errors
    /// A sentence with the allowed range.
    pub fn check(ttl: Millis) -> Result<(), String> {
        match (Millis(1)..=LONGEST_LEASE).contains(&ttl) {
            true => Ok(()),
            false => Err(format!(
                "`ttl` must be from 1 to {} milliseconds (a day), so that a lease ends unless it is extended",
                LONGEST_LEASE.0
            )),
        }
    }

    pub fn begin(holder: Holder, nonce: u64, ttl: Millis, now: Timestamp) -> Self {
        Self { holder, nonce, ttl, until: now + ttl }
    }

    /// New expiry after a heartbeat: `ttl` from now, but at most `stall_limit` after the last
    /// progress.
    pub fn extended_until(
        &self,
        progress: &ClaimProgress,
        stall_limit: Option<Millis>,
        now: Timestamp,
    ) -> Timestamp {
        let full = now + self.ttl.min(LONGEST_LEASE);
        stall_limit.map_or(full, |limit| full.min(progress.at + limit))
    }
}

/// Policy for the length of leases, based on the measured delay of heartbeats. The duration of the
/// work does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasePolicy {
    /// Length before any measurement.
    pub initial: Millis,
    /// Minimum length.
    pub least: Millis,
    /// Maximum length.
    pub most: Millis,
    /// Added to twice the 99th percentile of the delays.
    pub margin: Millis,
}

/// Delays of the latest heartbeats, each from the instant when it was due to its acknowledgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatDelays {
    recent: VecDeque<Millis>,
}

impl LeasePolicy {
    /// The policy of a host with these initial, minimum and maximum lengths. A host that keeps up
    /// with its store keeps the initial length; a slower one gets longer leases.
    pub fn of((initial, least, most): (Millis, Millis, Millis)) -> Self {
        Self { initial, least, most, margin: initial }
    }

    /// Length of the next lease.
    pub fn ttl(&self, delays: &HeartbeatDelays) -> Millis {
        let wanted = match delays.p99() {
            None => self.initial,
            Some(delay) => delay + delay + self.margin,
        };
        wanted.min(self.most).max(self.least)
    }
}

impl HeartbeatDelays {
    /// Maximum number of delays kept.
    const KEPT: usize = 128;

    /// Records a delay.
    pub fn observe(&mut self, delay: Millis) {
        if self.recent.len() == Self::KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(delay.max(Millis::ZERO));
    }

    /// 99th percentile of the delays. `None` without measurements.
    pub fn p99(&self) -> Option<Millis> {
        let mut sorted: Vec<Millis> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        let place = (sorted.len() * 99).div_ceil(100).checked_sub(1)?;
        sorted.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_follow_the_delay_of_heartbeats_within_their_bounds() {
        let policy = LeasePolicy {
            initial: Millis(15_000),
            least: Millis(3_000),
            most: Millis(120_000),
            margin: Millis(1_000),
        };
        let after = |delays: &[i64]| {
            let mut observed = HeartbeatDelays::default();
            delays.iter().for_each(|delay| observed.observe(Millis(*delay)));
            policy.ttl(&observed).0
        };
        assert_eq!(after(&[]), 15_000);
        assert_eq!(after(&[5]), 3_000, "never less");
        assert_eq!(after(&[5, 4_000]), 9_000);
        assert_eq!(after(&[500_000]), 120_000, "never more");
        let mut one_in_a_hundred = vec![10; 99];
        one_in_a_hundred.push(60_000);
        assert_eq!(after(&one_in_a_hundred), 3_000);
        // Old delays are dropped.
        let mut better = vec![60_000; 200];
        better.extend([2_000; 128]);
        assert_eq!(after(&better), 5_000);
    }

    #[test]
    fn a_host_without_trouble_keeps_the_length_it_was_given() {
        let policy = LeasePolicy::of((Millis(15_000), Millis(3_000), Millis(120_000)));
        let mut delays = HeartbeatDelays::default();
        assert_eq!(policy.ttl(&delays), Millis(15_000));
        delays.observe(Millis(4));
        assert_eq!(policy.ttl(&delays), Millis(15_008));
        let fixed = LeasePolicy::of((Millis(3_000), Millis(3_000), Millis(3_000)));
        delays.observe(Millis(9_000));
        assert_eq!(fixed.ttl(&delays), Millis(3_000));
    }
    use crate::id::HostName;

    #[test]
    fn a_stall_limit_caps_an_extension() {
        let holder = Holder { node: HostName::from("n"), incarnation: 1 };
        let lease = Lease::begin(holder, 1, Millis(10), Timestamp(100));
        assert_eq!(lease.until, Timestamp(110));
        let progress = ClaimProgress { seq: 1, at: Timestamp(100), payload: None };
        for (stall_limit, now, until) in
            [(None, 107, 117), (Some(12), 107, 112), (Some(50), 107, 117), (Some(3), 107, 103)]
        {
            let extended = lease.extended_until(&progress, stall_limit.map(Millis), Timestamp(now));
            assert_eq!(extended, Timestamp(until), "{stall_limit:?}");
        }
    }
}
