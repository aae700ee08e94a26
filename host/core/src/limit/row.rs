//! Row of a limit: its rule, and the counts over all its keys.

use serde::{Deserialize, Serialize};

use super::{AdmissionBounds, AdmissionCapacity, AdmissionRule, PartitionId, TokenBucket};
use crate::time::Timestamp;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Rule declared by the module that was deployed last.
    pub declared: Option<AdmissionRule>,
    /// Rule set by an operator. Takes precedence over `declared`.
    pub set: Option<AdmissionRule>,
    /// Number of executions that were admitted and still count.
    pub running: u64,
    /// Number of waiting executions, including those that have left the queue but still count.
    pub waiting: u64,
    /// Token bucket shared by all keys.
    pub bucket: TokenBucket,
    /// Virtual time: the turn served last. A new turn never starts before it.
    pub turn: u64,
    /// Number of executions that ever arrived.
    pub joined: u64,
    /// Progress of the re-evaluation of all partitions after a rule change.
    pub sweep: Option<Sweep>,
    /// Next evaluation without an external trigger.
    pub due_at: Option<Timestamp>,
}

/// Progress of a sweep over the partitions of a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// Cursor: the last partition that was evaluated. `None` at the start.
    pub after: Option<PartitionId>,
}

impl Limit {
    /// The effective rule, if there is one.
    pub fn rule(&self) -> Option<&AdmissionRule> {
        self.set.as_ref().or(self.declared.as_ref())
    }

    /// Determines if another execution may be admitted, regardless of its key.
    pub fn room(&self, total: &AdmissionBounds, now: Timestamp) -> AdmissionCapacity {
        total.room(self.running, self.bucket, now)
    }

    /// Counts an admitted execution, and takes a token.
    pub fn admit(&mut self, total: &AdmissionBounds, now: Timestamp) {
        self.running += 1;
        if let Some(rate) = total.rate {
            self.bucket = self.bucket.take(rate, now);
        }
    }

    /// Schedules an evaluation at this instant, unless an earlier one is scheduled.
    pub fn look_at(&mut self, at: Timestamp) {
        self.due_at = Some(self.due_at.map_or(at, |due| due.min(at)));
    }

    /// Starts a sweep of all partitions after a rule change.
    pub fn rule_changed(&mut self, now: Timestamp) {
        self.sweep = Some(Sweep::default());
        self.look_at(now);
    }

    /// True if the row can be deleted. The module's declaration is known without it.
    pub fn is_idle(&self, now: Timestamp) -> bool {
        self.set.is_none()
            && self.running == 0
            && self.waiting == 0
            && self.bucket.full_at() <= now
            && self.sweep.is_none()
    }
}
