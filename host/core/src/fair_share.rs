//! Capacity that is shared fairly: no single holder can take all of it.
//!
//! A holder may take at most [`SHARE`] times the free capacity. A single holder gets nearly
//! everything; the remainder is immediately available to the next one, so no capacity has to be
//! returned first. If `n` holders take all they can, each ends up with an equal share, and one more
//! share is left free.
//!
//! The last part of the capacity is reserved for newcomers, who hold nothing: one unit for each. A
//! newcomer gets in even behind several holders, and even if the capacity is small.

use std::{borrow::Borrow, collections::BTreeMap};

/// Maximum held amount per holder, as a multiple of the free capacity.
const SHARE: usize = 4;
/// Divisor for the reserve: 1/64 of the capacity, but at least one unit, is kept for newcomers.
const NEWCOMERS: usize = 64;

/// The total capacity and its holders.
#[derive(Debug, Clone)]
pub struct FairShares<K> {
    all: usize,
    taken: usize,
    held: BTreeMap<K, usize>,
}

impl<K: Ord> FairShares<K> {
    /// Capacity of `all` units (at least one), with none taken.
    pub fn new(all: usize) -> Self {
        Self { all: all.max(1), taken: 0, held: BTreeMap::new() }
    }

    /// Total capacity.
    pub fn all(&self) -> usize {
        self.all
    }

    /// Units taken.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// True if `who` may take `much` now. An amount larger than any share is admitted when nothing
    /// is taken.
    pub fn admits<Q: Ord + ?Sized>(&self, who: &Q, much: usize) -> bool
    where
        K: Borrow<Q>,
    {
        let free = self.all.saturating_sub(self.taken);
        let held = self.held.get(who).copied().unwrap_or_default();
        let left = if held == 0 { 0 } else { (self.all / NEWCOMERS).max(1) };
        let has_room = much + left <= free && held + much <= free.saturating_mul(SHARE);
        has_room || self.taken == 0
    }

    /// Takes `much` for `who` if that is admitted. Returns false otherwise.
    pub fn take(&mut self, who: K, much: usize) -> bool {
        let admitted = self.admits(&who, much);
        if admitted {
            self.add(who, much);
        }
        admitted
    }

    /// Maximum in use by [`Self::take_for_any`]: an eighth of the capacity stays free.
    pub fn most_for_any(&self) -> usize {
        self.all - self.all / 8
    }

    /// Takes `much` for a holder that is not identified yet. Returns false if that exceeds
    /// [`Self::most_for_any`].
    pub fn take_for_any(&mut self, who: K, much: usize) -> bool {
        let admitted = self.taken + much <= self.most_for_any();
        if admitted {
            self.add(who, much);
        }
        admitted
    }

    /// Moves `much` from `from` to `to`.
    pub fn hand_over<Q: Ord + ?Sized>(&mut self, from: &Q, to: K, much: usize)
    where
        K: Borrow<Q>,
    {
        self.give_back(from, much);
        self.add(to, much);
    }

    /// Returns `much` to the free capacity.
    pub fn give_back<Q: Ord + ?Sized>(&mut self, who: &Q, much: usize)
    where
        K: Borrow<Q>,
    {
        self.taken -= much;
        if let Some(held) = self.held.get_mut(who) {
            *held -= much;
            if *held == 0 {
                self.held.remove(who);
            }
        }
    }

    fn add(&mut self, who: K, much: usize) {
        self.taken += much;
        *self.held.entry(who).or_default() += much;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Amount that each holder gets if they take all they can, one after the other.
    fn shares(all: usize, who: &[&'static str]) -> Vec<usize> {
        let mut room = FairShares::new(all);
        let take =
            |who: &&'static str| std::iter::from_fn(|| room.take(*who, 1).then_some(())).count();
        who.iter().map(take).collect()
    }

    #[test]
    fn one_that_takes_all_it_can_leaves_room_for_who_comes_next() {
        assert_eq!(shares(1_000, &["a", "b", "c", "d"]), [800, 160, 25, 1]);
        assert_eq!(shares(16, &["a", "b", "c", "d"]), [13, 2, 1, 0]);
        assert_eq!(shares(4, &["a", "b", "c"]), [3, 1, 0]);
        assert_eq!(shares(1, &["a", "b"]), [1, 0]);
    }

    #[test]
    fn who_comes_behind_several_that_take_all_they_can_has_room_at_once() {
        let names: Vec<String> = (0..18).map(|n| n.to_string()).collect();
        let mut room = FairShares::new(1_000);
        for who in &names[..17] {
            while room.take(who.as_str(), 1) {}
        }
        assert!(room.take(names[17].as_str(), 1), "{} are taken", room.taken());
    }

    #[test]
    fn those_who_go_on_taking_have_the_same_in_the_end() {
        let mut room = FairShares::new(900);
        while room.take("a", 1) {}
        // The holders return one unit each in turn, and then take as much as they can.
        for _ in 0..2_000 {
            let holders = ["a", "b"].map(|who| (who, room.held.contains_key(who)));
            for (who, _) in holders.into_iter().filter(|(_, holds)| *holds) {
                room.give_back(who, 1);
            }
            for who in ["b", "a"] {
                while room.take(who, 1) {}
            }
        }
        let [a, b] = ["a", "b"].map(|who| room.held[who]);
        assert!(a.abs_diff(b) < 100 && a + b <= 800 + 20, "{a}, {b}");
    }

    #[test]
    fn what_is_given_back_is_free_and_what_was_handed_over_is_the_others() {
        let mut room = FairShares::new(10);
        assert!(room.take("a", 3) && room.take_for_any("", 5));
        assert!(!room.take_for_any("", 2), "an eighth stays free");
        room.hand_over("", "b", 5);
        room.give_back("a", 3);
        assert_eq!((room.taken(), room.held.len()), (5, 1));
        room.give_back("b", 5);
        assert!(room.take("large", 100), "it would never run");
        assert!(!room.take("a", 1));
    }
}
