//! A time-bounded claim on a task. It is not proof that nobody else runs: versions make a late worker harmless.

use serde::{Deserialize, Serialize};

use crate::id::Holder;
use crate::time::{Millis, Timestamp};

use super::Progress;

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

impl Lease {
    /// A lease that begins now.
    pub fn begin(holder: Holder, nonce: u64, ttl: Millis, now: Timestamp) -> Self {
        Self { holder, nonce, ttl, until: now + ttl }
    }

    /// The deadline a heartbeat earns: a full `ttl`, but not longer than `stall_limit` after the last progress.
    pub fn extended_until(
        &self,
        progress: &Progress,
        stall_limit: Option<Millis>,
        now: Timestamp,
    ) -> Timestamp {
        let full = now + self.ttl;
        stall_limit.map_or(full, |limit| full.min(progress.at + limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
