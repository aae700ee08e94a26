//! A queue with lanes: first in, first out within a lane, and round-robin between lanes.

use std::collections::{BTreeMap, VecDeque};

/// A round-robin queue of lanes with keys `K` and entries `T`.
#[derive(Debug)]
pub(crate) struct FairQueue<K, T> {
    lanes: BTreeMap<K, VecDeque<T>>,
    /// The lanes that have entries, the next one first.
    turn: VecDeque<K>,
    len: usize,
}

impl<K, T> Default for FairQueue<K, T> {
    fn default() -> Self {
        Self { lanes: BTreeMap::new(), turn: VecDeque::new(), len: 0 }
    }
}

impl<K: Ord + Clone, T> FairQueue<K, T> {
    /// Number of entries in all lanes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// True if no lane has entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of entries in this lane.
    pub(crate) fn len_of(&self, lane: &K) -> usize {
        self.lanes.get(lane).map_or(0, VecDeque::len)
    }

    /// Adds an entry at the end of its lane.
    pub(crate) fn push(&mut self, lane: K, entry: T) {
        let entries = self.lanes.entry(lane.clone()).or_default();
        if entries.is_empty() {
            self.turn.push_back(lane);
        }
        entries.push_back(entry);
        self.len += 1;
    }

    /// The first entry of the next lane.
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.pop_admitted(|_, _| Some(())).map(|((), entry)| entry)
    }

    /// Takes the first entry of the next lane whose first entry is admitted. Returns the entry and
    /// the result of `admit`. Lanes that were passed over keep their turn.
    pub(crate) fn pop_admitted<A>(
        &mut self,
        mut admit: impl FnMut(&K, &T) -> Option<A>,
    ) -> Option<(A, T)> {
        let lanes = &self.lanes;
        let found = self.turn.iter().enumerate().find_map(|(place, lane)| {
            let first = lanes.get(lane)?.front()?;
            Some((place, admit(lane, first)?))
        });
        let (place, admitted) = found?;
        let lane = self.turn.remove(place)?;
        let entries = self.lanes.get_mut(&lane)?;
        let entry = entries.pop_front()?;
        self.len -= 1;
        match entries.is_empty() {
            true => drop(self.lanes.remove(&lane)),
            false => self.turn.push_back(lane),
        }
        Some((admitted, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_take_turns_and_one_that_is_not_admitted_is_passed_over() {
        let mut queue = FairQueue::default();
        for (lane, entry) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5)] {
            queue.push(lane, entry);
        }
        assert_eq!((queue.len(), queue.len_of(&"a")), (5, 3));
        let not_b = |lane: &&str, _: &i32| (*lane != "b").then_some(());
        let mut popped = Vec::new();
        while let Some(((), entry)) = queue.pop_admitted(not_b) {
            popped.push(entry);
        }
        assert_eq!(popped, [1, 5, 2, 3]);
        queue.push("a", 6);
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(4), Some(6), None]);
        assert!(queue.is_empty());
    }
}
