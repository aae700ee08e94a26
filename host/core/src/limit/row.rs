//! The row of a limit: its rule, and what is counted of all its keys.

use serde::{Deserialize, Serialize};

use super::{Bounds, Bucket, PartitionId, Room, Rule};
use crate::time::Timestamp;

/// A limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// What the module says that was deployed last.
    pub declared: Option<Rule>,
    /// What an operator said; it goes before what the module says.
    pub set: Option<Rule>,
    /// How many were admitted and are counted.
    pub running: u64,
    /// How many wait, those included that left the line and are counted still.
    pub waiting: u64,
    /// The tokens of all keys together.
    pub bucket: Bucket,
    /// The turn of the partition that was served last: no other begins before it.
    pub turn: u64,
    /// How many ever came.
    pub joined: u64,
    /// Where partitions are looked at again, because the rule changed.
    pub sweep: Option<Sweep>,
    /// When it is to be looked at next, without a reason from outside.
    pub due_at: Option<Timestamp>,
}

/// Where a sweep of the partitions of a limit has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// Those up to this one were looked at; none: no one was.
    pub after: Option<PartitionId>,
}

impl Limit {
    /// The rule that holds, if there is one.
    pub fn rule(&self) -> Option<&Rule> {
        self.set.as_ref().or(self.declared.as_ref())
    }

    /// Whether one more may be admitted, whatever its key.
    pub fn room(&self, total: &Bounds, now: Timestamp) -> Room {
        total.room(self.running, self.bucket, now)
    }

    /// One is admitted, and counted.
    pub fn admit(&mut self, total: &Bounds, now: Timestamp) {
        self.running += 1;
        if let Some(rate) = total.rate {
            self.bucket = self.bucket.take(rate, now);
        }
    }

    /// Looks at it at this instant, or before.
    pub fn look_at(&mut self, at: Timestamp) {
        self.due_at = Some(self.due_at.map_or(at, |due| due.min(at)));
    }

    /// Looks at all partitions again: the rule is another.
    pub fn rule_changed(&mut self, now: Timestamp) {
        self.sweep = Some(Sweep::default());
        self.look_at(now);
    }

    /// Whether nothing of it is worth keeping: what the module declares is known without it.
    pub fn is_idle(&self, now: Timestamp) -> bool {
        self.set.is_none()
            && self.running == 0
            && self.waiting == 0
            && self.bucket.full_at() <= now
            && self.sweep.is_none()
    }
}
