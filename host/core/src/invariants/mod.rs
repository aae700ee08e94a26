//! Invariants, as named predicates: over the rows of a store, and over one step from rows to rows.
//! Tests check them after every command; a failure names the rule and the ids.
//!
//! Facts that the types guarantee need no predicate. A task has a lease exactly while it is
//! acquired. A deadline, the next offer of a task, the end of its lease and the next occurrence of
//! a schedule are fields of their rows, so no timer can be missing, left over, or due at another
//! instant than its row says. Other tests compare between all stores, command by command, that they
//! find due rows by these fields.

mod budgets;
mod generations;
mod graphs;
mod journals;
mod limits;
mod messages;
mod objects;
mod predicate;
mod promises;
mod sagas;
mod schedules;
mod step;
mod streams;
mod tasks;
mod waits;

#[cfg(test)]
pub(crate) mod fixture;

use crate::{command::Command, config::Config, id::PromiseId, snapshot::Snapshot, time::Timestamp};

pub use limits::COUNTED;
pub use predicate::{Predicate, Violations};
use predicate::{each, unless};
pub use step::STEP_PREDICATES;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {detail} ({ids:?})")]
pub struct InvariantViolation {
    pub name: &'static str,
    /// The ids that break it.
    pub ids: Vec<PromiseId>,
    /// Description of the defect.
    pub detail: String,
}

pub const PREDICATES: &[&[Predicate]] = &[
    promises::PREDICATES,
    tasks::PREDICATES,
    waits::PREDICATES,
    messages::PREDICATES,
    journals::PREDICATES,
    generations::PREDICATES,
    schedules::PREDICATES,
    sagas::PREDICATES,
    graphs::PREDICATES,
    objects::PREDICATES,
    limits::PREDICATES,
    streams::PREDICATES,
    budgets::PREDICATES,
];

/// Checks all predicates over the rows of a store.
pub fn check(snapshot: &Snapshot) -> Vec<InvariantViolation> {
    let predicates = PREDICATES.iter().copied().flatten();
    predicates.flat_map(|(name, predicate)| named(name, predicate(snapshot))).collect()
}

/// Checks all predicates over one step: the rows before and after a command was executed at `now`.
pub fn check_step(
    before: &Snapshot,
    command: &Command,
    after: &Snapshot,
    now: Timestamp,
    config: &Config,
) -> Vec<InvariantViolation> {
    let step = step::CheckedStep { before, command, after, now, config };
    STEP_PREDICATES.iter().flat_map(|(name, predicate)| named(name, predicate(&step))).collect()
}

fn named(name: &'static str, found: Violations) -> impl Iterator<Item = InvariantViolation> {
    found.into_iter().map(move |(ids, detail)| InvariantViolation { name, ids, detail })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{
        fixture::{legal, step_violators, violators},
        *,
    };

    #[test]
    fn the_legal_snapshot_breaks_nothing() {
        assert_eq!(check(&legal()), Vec::new());
    }

    #[test]
    fn every_predicate_rejects_a_violator_made_for_it() {
        let mut rejected = BTreeSet::new();
        for (name, violate) in violators() {
            let mut snapshot = legal();
            violate(&mut snapshot);
            let found = check(&snapshot);
            assert!(found.iter().any(|violation| violation.name == name), "{name}: {found:?}");
            rejected.insert(name);
        }
        let all: BTreeSet<&str> =
            PREDICATES.iter().copied().flatten().map(|(name, _)| *name).collect();
        assert_eq!(rejected, all);
    }

    #[test]
    fn every_step_predicate_rejects_a_violator_made_for_it() {
        let (config, mut rejected) = (Config::default(), BTreeSet::new());
        // At this instant every deadline has passed.
        let now = Timestamp::NEVER;
        let nothing = Command::PromiseGet { id: PromiseId::from("elsewhere") };
        assert_eq!(check_step(&legal(), &nothing, &legal(), now, &config), Vec::new());
        for (name, command, violate) in step_violators() {
            let (before, mut after) = (legal(), legal());
            violate(&mut after);
            let found = check_step(&before, &command, &after, now, &config);
            assert!(found.iter().any(|violation| violation.name == name), "{name}: {found:?}");
            rejected.insert(name);
        }
        let all: BTreeSet<&str> = STEP_PREDICATES.iter().map(|(name, _)| *name).collect();
        assert_eq!(rejected, all);
    }
}
