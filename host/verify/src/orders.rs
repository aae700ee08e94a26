//! Enumerates all orders of events, depth first. Two orders that differ only in events that no
//! guest can tell apart are equivalent: one of them is run (sleep sets; Godefroid 1996).

use std::collections::BTreeMap;

use crate::{
    decide::in_no_time, error::VerifyError, footprint::EventFootprint, run::Decider,
    schedule::EventChoice,
};

/// Events that were explored elsewhere, with their footprints.
type SleepSet = BTreeMap<EventChoice, EventFootprint>;

/// A point of decision.
struct DecisionPoint {
    possible: Vec<EventChoice>,
    /// Events that lead to orders explored already.
    asleep: SleepSet,
    /// The event that is tried now.
    choice: EventChoice,
}

/// A decider that tries all orders, run after run.
#[derive(Default)]
pub(crate) struct OrderDecider {
    path: Vec<DecisionPoint>,
    /// Position of this run on the current path.
    depth: usize,
    /// Sleep set of the next node.
    asleep: SleepSet,
    /// True if this run turned out to repeat an explored one.
    redundant: bool,
    begun: bool,
}

impl OrderDecider {
    /// Moves to the next order. Returns false if there is none.
    pub(crate) fn next(&mut self) -> bool {
        self.depth = 0;
        self.redundant = false;
        self.asleep = SleepSet::new();
        if !std::mem::replace(&mut self.begun, true) {
            return true;
        }
        while let Some(node) = self.path.last_mut() {
            let untried =
                node.possible.iter().find(|choice| !node.asleep.contains_key(*choice)).cloned();
            if let Some(choice) = untried {
                node.choice = choice;
                return true;
            }
            self.path.pop();
        }
        false
    }

    /// Returns true if the last run repeated an order and was given up.
    pub(crate) fn is_redundant(&self) -> bool {
        self.redundant
    }
}

impl Decider for OrderDecider {
    fn choose(&mut self, enabled: &[EventChoice]) -> Result<Option<EventChoice>, VerifyError> {
        if let Some(node) = self.path.get(self.depth) {
            if !enabled.contains(&node.choice) {
                let why = format!("`{}` was possible in an earlier run", node.choice);
                return Err(VerifyError::Host(why));
            }
            return Ok(Some(node.choice.clone()));
        }
        let possible = in_no_time(enabled).to_vec();
        let asleep = std::mem::take(&mut self.asleep);
        let Some(choice) = possible.iter().find(|choice| !asleep.contains_key(*choice)).cloned()
        else {
            self.redundant = true;
            return Ok(None);
        };
        self.path.push(DecisionPoint { possible, asleep, choice: choice.clone() });
        Ok(Some(choice))
    }

    fn happened(&mut self, footprint: EventFootprint) {
        let Some(node) = self.path.get_mut(self.depth) else { return };
        let stays =
            |(_, other): &(&EventChoice, &EventFootprint)| other.is_independent_of(&footprint);
        self.asleep = node
            .asleep
            .iter()
            .filter(|(choice, _)| **choice != node.choice)
            .filter(stays)
            .map(|(choice, footprint)| (choice.clone(), footprint.clone()))
            .collect();
        // From here on, orders that begin with this event are explored.
        node.asleep.insert(node.choice.clone(), footprint);
        self.depth += 1;
    }

    fn wants_footprints(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::schedule::RelativeId;

    /// Threads with these numbers of events; the events of one thread keep their order, and all
    /// threads of a group write to one place.
    fn explore(threads: &[(usize, &str)]) -> (usize, BTreeSet<Vec<usize>>) {
        let mut orders = OrderDecider::default();
        let (mut runs, mut seen) = (0, BTreeSet::new());
        while orders.next() {
            let mut left: Vec<usize> = threads.iter().map(|(events, _)| *events).collect();
            let mut order = Vec::new();
            loop {
                let enabled: Vec<EventChoice> = (0..threads.len())
                    .filter(|at| left[*at] > 0)
                    .map(|at| EventChoice::Go(RelativeId(format!("{at}"))))
                    .collect();
                if enabled.is_empty() {
                    runs += 1;
                    seen.insert(order);
                    break;
                }
                let Some(EventChoice::Go(RelativeId(at))) =
                    orders.choose(&enabled).expect("possible")
                else {
                    break;
                };
                let at: usize = at.parse().expect("a number");
                left[at] -= 1;
                order.push(at);
                let rows = [threads[at].1.to_owned(), format!("thread {at}")];
                orders.happened(EventFootprint::Rows(rows.into()));
            }
        }
        (runs, seen)
    }

    #[test]
    fn dependent_events_are_tried_in_every_order_once() {
        // 3! orders of three single events, and 5! / (2! 2!) of threads with two, two and one
        // events.
        assert_eq!(explore(&[(1, "root"), (1, "root"), (1, "root")]).0, 6);
        let (runs, seen) = explore(&[(2, "root"), (2, "root"), (1, "root")]);
        assert_eq!((runs, seen.len()), (30, 30));
    }

    #[test]
    fn of_orders_that_no_guest_can_tell_apart_one_is_tried() {
        assert_eq!(explore(&[(3, "a"), (3, "b"), (2, "c")]).0, 1);
        // The two events of `a` in both orders; the one of `b` anywhere.
        assert_eq!(explore(&[(1, "a"), (1, "a"), (1, "b")]).0, 2);
    }
}
