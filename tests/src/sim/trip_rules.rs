//! Checks of the sagas of trips, at each step and at the end.

use segno_core::{
    id::PromiseId,
    promise::Verdict,
    saga::{FactKey, FactKind},
    snapshot::Snapshot,
    value::Text,
};

use super::metrics::Step;

/// Address of the worker.
pub(super) const TARGET: &str = "poll://workers/trip";
/// Name of its saga.
pub(super) const SAGA: &str = "trip";
/// Number of steps. The last one fails.
pub(super) const STEPS: u32 = 4;

/// The facts of the saga of a trip.
pub(super) fn facts<'a>(
    rows: &'a Snapshot,
    id: &'a PromiseId,
) -> impl Iterator<Item = &'a FactKey> {
    rows.facts.keys().filter(move |(invocation, _)| invocation == id).map(|(_, key)| key)
}

/// Violations in a step: no step of the saga may be undone before a later one, none may be taken
/// after one was undone, and none may fail to be undone.
pub(super) fn step(step: &Step<'_>) -> Vec<String> {
    let new = step.after.facts.keys().filter(|fact| !step.before.facts.contains_key(*fact));
    let wrong = new.filter_map(|(invocation, key)| {
        let is = |seq, kind| {
            let fact = FactKey { saga: Text::from(SAGA), seq, kind };
            step.before.facts.contains_key(&(invocation.clone(), fact))
        };
        let undone = |seq| is(seq, FactKind::Completed);
        let out_of_order = match key.kind {
            FactKind::Registered => (0..STEPS).any(undone),
            FactKind::Completed => {
                (key.seq + 1..STEPS).any(|seq| is(seq, FactKind::Registered) && !undone(seq))
            }
            FactKind::Failed => true,
        };
        out_of_order.then(|| format!("saga: `{invocation}`: {key:?} comes out of order"))
    });
    wrong.collect()
}

/// Violations at the end: every trip must be rejected, and its facts must show that all steps
/// before the last one were taken and undone.
pub(super) fn end(rows: &Snapshot) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, promise) in
        rows.promises.iter().filter(|(_, promise)| promise.target() == Some(TARGET))
    {
        let of_kind = |kind| facts(rows, id).filter(move |key| key.kind == kind).count() as u32;
        let told = [FactKind::Registered, FactKind::Completed, FactKind::Failed].map(of_kind);
        let verdict = promise.settlement().map(|settlement| settlement.verdict);
        if told != [STEPS - 1, STEPS - 1, 0] || verdict != Some(Verdict::Rejected) {
            wrong.push(format!("saga: `{id}` came to {verdict:?}, its facts are {told:?}"));
        }
    }
    wrong
}
