//! The type of predicates over a store, and helpers to write them.

use crate::{id::PromiseId, snapshot::Snapshot};

/// A predicate over the rows of a store: its name, and a function that finds violations.
pub type Predicate = (&'static str, fn(&Snapshot) -> Violations);

/// Violations of a predicate: ids and a description.
pub type Violations = Vec<(Vec<PromiseId>, String)>;

/// Violations for the promises or tasks for which `wrong` returns a description.
pub(super) fn each<'a, T: 'a>(
    rows: impl IntoIterator<Item = (&'a PromiseId, &'a T)>,
    wrong: impl Fn(&PromiseId, &T) -> Option<String>,
) -> Violations {
    rows.into_iter().filter_map(|(id, row)| Some((vec![id.clone()], wrong(id, row)?))).collect()
}

/// Returns `detail()` if the condition does not hold.
pub(super) fn unless(holds: bool, detail: impl FnOnce() -> String) -> Option<String> {
    (!holds).then(detail)
}
