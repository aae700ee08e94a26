//! A predicate, and what most of them have in common.

use crate::{id::PromiseId, snapshot::Snapshot};

/// A predicate over the rows of a store: its name, and the ids that break it with what is wrong.
pub type Predicate = (&'static str, fn(&Snapshot) -> Found);

/// The ids that break a predicate, with what is wrong.
pub type Found = Vec<(Vec<PromiseId>, String)>;

/// The promises and tasks, by id, for which `wrong` says what is wrong.
pub(super) fn each<'a, T: 'a>(
    rows: impl IntoIterator<Item = (&'a PromiseId, &'a T)>,
    wrong: impl Fn(&PromiseId, &T) -> Option<String>,
) -> Found {
    rows.into_iter().filter_map(|(id, row)| Some((vec![id.clone()], wrong(id, row)?))).collect()
}

/// The detail, if the rule is broken.
pub(super) fn unless(holds: bool, detail: impl FnOnce() -> String) -> Option<String> {
    (!holds).then(detail)
}
