//! Room that several take from, so that none of them takes all of it.
//!
//! Whoever wants more may hold at most [`SHARE`] times as much as is free. Alone that is nearly all of
//! the room, and the rest is there for who comes next, at once: nobody has to give anything back
//! first. Of `n` who want as much as they can have, each has the same share, and one more is left free.
//!
//! The last of the room is for those who hold nothing: a place for each of them, so that there is one
//! behind several others as well, and where the room is small.

use std::{borrow::Borrow, collections::BTreeMap};

/// How many times as much as is free one may hold.
const SHARE: usize = 4;
/// Which part of the room, one place at the least, is for those who hold nothing.
const NEWCOMERS: usize = 64;

/// The room, and who holds how much of it.
#[derive(Debug, Clone)]
pub struct FairShares<K> {
    all: usize,
    taken: usize,
    held: BTreeMap<K, usize>,
}

impl<K: Ord> FairShares<K> {
    /// Room for `all`, of which nothing is taken.
    pub fn new(all: usize) -> Self {
        Self { all: all.max(1), taken: 0, held: BTreeMap::new() }
    }

    /// How much there is.
    pub fn all(&self) -> usize {
        self.all
    }

    /// How much is taken.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Whether `who` may take so much now. What is larger than anybody's share is admitted when nobody
    /// else holds anything.
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

    /// Takes so much for `who`, if that is admitted.
    pub fn take(&mut self, who: K, much: usize) -> bool {
        let admitted = self.admits(&who, much);
        if admitted {
            self.add(who, much);
        }
        admitted
    }

    /// How much those may hold who are not known yet: an eighth of the room stays free.
    pub fn most_for_any(&self) -> usize {
        self.all - self.all / 8
    }

    /// Takes so much for somebody who is not known yet.
    pub fn take_for_any(&mut self, who: K, much: usize) -> bool {
        let admitted = self.taken + much <= self.most_for_any();
        if admitted {
            self.add(who, much);
        }
        admitted
    }

    /// What `from` took is held by `to`.
    pub fn hand_over<Q: Ord + ?Sized>(&mut self, from: &Q, to: K, much: usize)
    where
        K: Borrow<Q>,
    {
        self.give_back(from, much);
        self.add(to, much);
    }

    /// Gives back what was taken.
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

    /// How much each of these has when it took all it could, one after the other.
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
        // Each gives back one after the other, and takes again what it is given.
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
