//! Row of a partition (one key of a limit): its running and waiting executions, and its next turn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AdmissionCapacity, AdmissionRule, HIGHEST_PRIORITY, Limit, PriorityOrder, TokenBucket,
};
use crate::{id::PromiseId, time::Timestamp};

/// Virtual time of a turn of weight 1.
const TURN: u64 = 1_000_000;

/// A partition: one key of a limit. One without a row has no running or waiting executions, and a
/// full bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Number of executions that were admitted and still count.
    pub running: u64,
    pub bucket: TokenBucket,
    /// Waiting executions, by priority.
    pub lanes: BTreeMap<u8, Lane>,
    /// The latest execution, if executions of this key displace each other.
    pub latest: Option<PromiseId>,
    /// Earliest admission, while the partition is debounced.
    pub not_before: Timestamp,
    /// Start of the debounce; `None` after an admission.
    pub debounced_since: Option<Timestamp>,
    /// Time of its next turn, as of its last evaluation.
    pub standing: PartitionReadiness,
}

/// Waiting executions of one priority in a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// Number of waiting executions, including those that have left the queue but still count.
    pub waiting: u64,
    /// Virtual time of the lane's next turn; the lowest is served first.
    pub turn: u64,
}

/// Time of a partition's next turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartitionReadiness {
    /// No time is set: not before an execution arrives, or an admitted one settles.
    #[default]
    Rest,
    /// Now. The lowest class is served first, and within it the lowest turn.
    Ready {
        /// Class; 0 is served first.
        class: u8,
        /// Virtual time of the turn within the class.
        turn: u64,
    },
    /// Must be evaluated again at this instant.
    At(Timestamp),
}

impl Partition {
    /// Number of waiting executions.
    pub fn waiting(&self) -> u64 {
        self.lanes.values().map(|lane| lane.waiting).sum()
    }

    /// Determines if another execution of this key may be admitted.
    pub fn room(&self, rule: &AdmissionRule, now: Timestamp) -> AdmissionCapacity {
        let room = rule.of_key().room(self.running, self.bucket, now);
        match room {
            AdmissionCapacity::Now | AdmissionCapacity::At(_) if self.not_before > now => {
                room.max(AdmissionCapacity::At(self.not_before))
            }
            _ => room,
        }
    }

    /// Adds a waiting execution.
    pub fn join(&mut self, priority: u8, limit: &Limit) {
        let lane = self.lanes.entry(priority).or_default();
        if lane.waiting == 0 {
            lane.turn = lane.turn.max(limit.turn);
        }
        lane.waiting += 1;
    }

    /// The lane with the next turn. `None` if no execution waits.
    pub fn next(&self, rule: &AdmissionRule) -> Option<u8> {
        let waiting = self.lanes.iter().filter(|(_, lane)| lane.waiting > 0);
        match rule.order() {
            Some(PriorityOrder::Weighted) => {
                let place = |(priority, lane): &(&u8, &Lane)| {
                    (lane.turn, HIGHEST_PRIORITY.saturating_sub(**priority))
                };
                waiting.min_by_key(place).map(|(priority, _)| *priority)
            }
            Some(PriorityOrder::Strict) | None => waiting.map(|(priority, _)| *priority).max(),
        }
    }

    /// Removes a waiting execution.
    pub fn leave(&mut self, priority: u8) {
        if let Some(lane) = self.lanes.get_mut(&priority) {
            lane.waiting = lane.waiting.saturating_sub(1);
        }
    }

    /// Counts an admitted execution, and takes a token.
    pub fn admit(&mut self, rule: &AdmissionRule, now: Timestamp) {
        self.running += 1;
        if let Some(rate) = rule.of_key().rate {
            self.bucket = self.bucket.take(rate, now);
        }
        self.not_before = Timestamp::default();
        self.debounced_since = None;
    }

    /// Takes the turn of this lane and schedules its next turn. Returns the turn taken.
    pub fn serve(&mut self, priority: u8, weight: u64) -> u64 {
        self.leave(priority);
        let Some(lane) = self.lanes.get_mut(&priority) else { return 0 };
        let turn = lane.turn;
        lane.turn = turn.saturating_add((TURN / weight.max(1)).max(1));
        turn
    }

    /// Evaluates the partition: determines its next turn.
    pub fn stand(&mut self, rule: &AdmissionRule, limit: &Limit, now: Timestamp) {
        self.lanes.retain(|_, lane| lane.waiting > 0 || lane.turn > limit.turn);
        self.standing = match self.next(rule) {
            // The row stays until its bucket is full.
            None if self.bucket.full_at() > now => PartitionReadiness::At(self.bucket.full_at()),
            None => PartitionReadiness::Rest,
            Some(priority) => match self.room(rule, now) {
                AdmissionCapacity::Now => self.ready(rule, priority),
                AdmissionCapacity::At(at) => PartitionReadiness::At(at),
                AdmissionCapacity::Full => PartitionReadiness::Rest,
            },
        };
    }

    /// True if the row equals a missing one.
    pub fn is_idle(&self, now: Timestamp) -> bool {
        self.running == 0 && self.waiting() == 0 && self.bucket.full_at() <= now
    }

    fn ready(&self, rule: &AdmissionRule, priority: u8) -> PartitionReadiness {
        let turn = self.lanes.get(&priority).map_or(0, |lane| lane.turn);
        let class = match rule.order() {
            Some(PriorityOrder::Strict) => HIGHEST_PRIORITY.saturating_sub(priority),
            Some(PriorityOrder::Weighted) | None => 0,
        };
        PartitionReadiness::Ready { class, turn }
    }
}
