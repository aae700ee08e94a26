//! Invariants of workflows that continue as new.

use super::{Predicate, Violations, each, unless};
use crate::{promise::Promise, snapshot::Snapshot};

pub(super) const PREDICATES: &[Predicate] =
    &[("invocation_ends_with_its_newest_generation", invocation_ends_with_its_newest_generation)];

/// An invocation whose newest generation has ended is not pending, since nothing would ever settle
/// it.
fn invocation_ends_with_its_newest_generation(rows: &Snapshot) -> Violations {
    let is_pending = |promise: &Promise| promise.is_pending();
    each(&rows.tasks, |id, task| {
        let newest = task.newest()?;
        let has_ended = rows.promises.get(&newest).is_some_and(|promise| !is_pending(promise));
        let lasts = rows.promises.get(id).is_some_and(is_pending);
        unless(!(lasts && has_ended), || format!("`{newest}` has ended"))
    })
}
