//! The row of a key of a limit: who runs, who waits, and when it has its turn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Bucket, HIGHEST_PRIORITY, Limit, Order, Room, Rule};
use crate::{id::PromiseId, time::Timestamp};

/// The length of a turn of weight 1.
const TURN: u64 = 1_000_000;

/// A key of a limit. One without a row has nobody who runs or waits, and all of its tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// How many were admitted and are counted.
    pub running: u64,
    /// Its tokens.
    pub bucket: Bucket,
    /// Those who wait, by priority.
    pub lanes: BTreeMap<u8, Lane>,
    /// Who came last, where one of the key gives way to another.
    pub latest: Option<PromiseId>,
    /// Nobody is admitted before: it is debounced.
    pub not_before: Timestamp,
    /// Since when, as long as nobody was admitted.
    pub debounced_since: Option<Timestamp>,
    /// When it has its turn, as far as that was clear when it was looked at last.
    pub standing: Standing,
}

/// Those of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// How many wait, those included that left the line and are counted still.
    pub waiting: u64,
    /// When it is their turn: the least turn is the next.
    pub turn: u64,
}

/// When a partition has its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// Not before one comes, or one of those that were admitted settles.
    #[default]
    Rest,
    /// Now: the lowest class first, and in it the lowest turn.
    Ready {
        /// 0 is served first.
        class: u8,
        /// Its turn within the class.
        turn: u64,
    },
    /// It is to be looked at again at this instant.
    At(Timestamp),
}

impl Partition {
    /// How many wait.
    pub fn waiting(&self) -> u64 {
        self.lanes.values().map(|lane| lane.waiting).sum()
    }

    /// Whether one more of this key may be admitted.
    pub fn room(&self, rule: &Rule, now: Timestamp) -> Room {
        let room = rule.of_key().room(self.running, self.bucket, now);
        match room {
            Room::Now | Room::At(_) if self.not_before > now => room.max(Room::At(self.not_before)),
            _ => room,
        }
    }

    /// One more waits.
    pub fn join(&mut self, priority: u8, limit: &Limit) {
        let lane = self.lanes.entry(priority).or_default();
        if lane.waiting == 0 {
            lane.turn = lane.turn.max(limit.turn);
        }
        lane.waiting += 1;
    }

    /// The lane whose turn it is.
    pub fn next(&self, rule: &Rule) -> Option<u8> {
        let waiting = self.lanes.iter().filter(|(_, lane)| lane.waiting > 0);
        match rule.order() {
            Some(Order::Weighted) => {
                let place = |(priority, lane): &(&u8, &Lane)| {
                    (lane.turn, HIGHEST_PRIORITY.saturating_sub(**priority))
                };
                waiting.min_by_key(place).map(|(priority, _)| *priority)
            }
            Some(Order::Strict) | None => waiting.map(|(priority, _)| *priority).max(),
        }
    }

    /// One who waited is not there any more.
    pub fn leave(&mut self, priority: u8) {
        if let Some(lane) = self.lanes.get_mut(&priority) {
            lane.waiting = lane.waiting.saturating_sub(1);
        }
    }

    /// One is admitted, and counted.
    pub fn admit(&mut self, rule: &Rule, now: Timestamp) {
        self.running += 1;
        if let Some(rate) = rule.of_key().rate {
            self.bucket = self.bucket.take(rate, now);
        }
        self.not_before = Timestamp::default();
        self.debounced_since = None;
    }

    /// One who waited in this lane had its turn, and the next one is later. Answers the turn.
    pub fn serve(&mut self, priority: u8, weight: u64) -> u64 {
        self.leave(priority);
        let Some(lane) = self.lanes.get_mut(&priority) else { return 0 };
        let turn = lane.turn;
        lane.turn = turn.saturating_add((TURN / weight.max(1)).max(1));
        turn
    }

    /// Looks at it: when it has its turn.
    pub fn stand(&mut self, rule: &Rule, limit: &Limit, now: Timestamp) {
        self.lanes.retain(|_, lane| lane.waiting > 0 || lane.turn > limit.turn);
        self.standing = match self.next(rule) {
            // Its tokens are kept until there is nothing to say of them.
            None if self.bucket.full_at() > now => Standing::At(self.bucket.full_at()),
            None => Standing::Rest,
            Some(priority) => match self.room(rule, now) {
                Room::Now => self.ready(rule, priority),
                Room::At(at) => Standing::At(at),
                Room::Full => Standing::Rest,
            },
        };
    }

    /// Whether it is as if there were no row.
    pub fn is_idle(&self, now: Timestamp) -> bool {
        self.running == 0 && self.waiting() == 0 && self.bucket.full_at() <= now
    }

    fn ready(&self, rule: &Rule, priority: u8) -> Standing {
        let turn = self.lanes.get(&priority).map_or(0, |lane| lane.turn);
        let class = match rule.order() {
            Some(Order::Strict) => HIGHEST_PRIORITY.saturating_sub(priority),
            Some(Order::Weighted) | None => 0,
        };
        Standing::Ready { class, turn }
    }
}
