//! Invariants of the facts of sagas.

use super::{Predicate, Violations};
use crate::{
    promise::{Promise, Verdict},
    saga::{FactKey, FactKind},
    snapshot::Snapshot,
};

pub(super) const PREDICATES: &[Predicate] = &[
    ("compensation_facts", compensation_facts),
    ("facts_follow_settlements", facts_follow_settlements),
];

/// A step is compensated, or fails to be, at most once, and only after it was registered.
fn compensation_facts(rows: &Snapshot) -> Violations {
    let has = |(invocation, key): &(_, FactKey), kind| {
        rows.facts.contains_key(&(
            crate::id::PromiseId::clone(invocation),
            FactKey { kind, ..key.clone() },
        ))
    };
    let ended = rows.facts.keys().filter(|(_, key)| key.kind != FactKind::Registered);
    let wrong = ended.filter(|fact| {
        !has(fact, FactKind::Registered)
            || (has(fact, FactKind::Completed) && has(fact, FactKind::Failed))
    });
    wrong.map(|(invocation, key)| (vec![invocation.clone()], format!("{key:?}"))).collect()
}

/// A fact matches the settlement of its promise.
fn facts_follow_settlements(rows: &Snapshot) -> Violations {
    let wrong = rows.facts.iter().filter_map(|((invocation, key), fact)| {
        let settlement = rows.promises.get(&fact.promise).and_then(Promise::settlement);
        let resolved = settlement.map(|settlement| settlement.verdict == Verdict::Resolved);
        let follows = match key.kind {
            FactKind::Registered => resolved == Some(!fact.unknown),
            FactKind::Completed => resolved == Some(true),
            FactKind::Failed => resolved == Some(false),
        };
        (!follows).then(|| (vec![invocation.clone()], format!("{key:?}: {fact:?}, {settlement:?}")))
    });
    wrong.collect()
}
