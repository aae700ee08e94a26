//! A time-bounded claim on a task. A lease is no proof that nothing else runs: versions make a late
//! worker harmless.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Progress;
use crate::{
    id::Holder,
    time::{Millis, Timestamp},
};

/// Who holds a task, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The host that holds it.
    pub holder: Holder,
    /// Drawn by the holder for one attempt to acquire, so that repeating it is recognised.
    pub nonce: u64,
    /// How far a heartbeat extends it.
    pub ttl: Millis,
    /// When it runs out.
    pub until: Timestamp,
}

/// The longest lease: one that is forgotten must end.
pub const LONGEST_LEASE: Millis = Millis::seconds(24 * 60 * 60);

impl Lease {
    /// Refuses a length that no lease has.
    ///
    /// # Errors
    /// A sentence that says which lengths there are.
    pub fn check(ttl: Millis) -> Result<(), String> {
        match (Millis(1)..=LONGEST_LEASE).contains(&ttl) {
            true => Ok(()),
            false => Err(format!(
                "`ttl` must be from 1 to {} milliseconds, which is a day: a lease that nobody extends must end",
                LONGEST_LEASE.0
            )),
        }
    }

    /// A lease that begins now.
    pub fn begin(holder: Holder, nonce: u64, ttl: Millis, now: Timestamp) -> Self {
        Self { holder, nonce, ttl, until: now + ttl }
    }

    /// The deadline a heartbeat earns: a full `ttl`, but not longer than `stall_limit` after the
    /// last progress.
    pub fn extended_until(
        &self,
        progress: &Progress,
        stall_limit: Option<Millis>,
        now: Timestamp,
    ) -> Timestamp {
        let full = now + self.ttl.min(LONGEST_LEASE);
        stall_limit.map_or(full, |limit| full.min(progress.at + limit))
    }
}

/// How long leases are, from what heartbeats meet on their way. How long work takes does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasePolicy {
    /// Before anything was measured.
    pub initial: Millis,
    /// Never less.
    pub least: Millis,
    /// Never more.
    pub most: Millis,
    /// What is added to twice the delay that one heartbeat in a hundred meets.
    pub margin: Millis,
}

/// The delays of the last heartbeats: from the instant at which one was to be sent to its
/// acknowledgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatDelays {
    recent: VecDeque<Millis>,
}

impl LeasePolicy {
    /// The policy of a host whose leases are so long at first, at least and at most. A host that is
    /// as quick as its store keeps the first length; one that is not gets longer ones.
    pub fn of((initial, least, most): (Millis, Millis, Millis)) -> Self {
        Self { initial, least, most, margin: initial }
    }

    /// How long the next lease is.
    pub fn ttl(&self, delays: &HeartbeatDelays) -> Millis {
        let wanted = match delays.p99() {
            None => self.initial,
            Some(delay) => delay + delay + self.margin,
        };
        wanted.min(self.most).max(self.least)
    }
}

impl HeartbeatDelays {
    /// Delays that are remembered.
    const KEPT: usize = 128;

    /// Takes note of one more.
    pub fn observe(&mut self, delay: Millis) {
        if self.recent.len() == Self::KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(delay.max(Millis::ZERO));
    }

    /// The delay that at most one in a hundred exceeds; none before the first.
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
        // What is long ago is forgotten.
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
    use crate::id::NodeName;

    #[test]
    fn a_stall_limit_caps_an_extension() {
        let holder = Holder { node: NodeName::from("n"), incarnation: 1 };
        let lease = Lease::begin(holder, 1, Millis(10), Timestamp(100));
        assert_eq!(lease.until, Timestamp(110));
        let progress = Progress { seq: 1, at: Timestamp(100), payload: None };
        for (stall_limit, now, until) in
            [(None, 107, 117), (Some(12), 107, 112), (Some(50), 107, 117), (Some(3), 107, 103)]
        {
            let extended = lease.extended_until(&progress, stall_limit.map(Millis), Timestamp(now));
            assert_eq!(extended, Timestamp(until), "{stall_limit:?}");
        }
    }
}
