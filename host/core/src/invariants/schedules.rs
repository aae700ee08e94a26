//! Invariants of schedules.

use super::{Predicate, Violations, unless};
use crate::{id::PromiseId, promise::Schedule, snapshot::Snapshot};

pub(super) const PREDICATES: &[Predicate] = &[
    ("schedule_last_before_next", schedule_last_before_next),
    ("schedule_skips_are_counted", schedule_skips_are_counted),
];

/// The last occurrence precedes the next one.
fn schedule_last_before_next(rows: &Snapshot) -> Violations {
    schedules(rows, |_, schedule| {
        let last = schedule.last_at?;
        unless(last < schedule.next_at, || format!("last at {last}, next at {}", schedule.next_at))
    })
}

/// The occurrences skipped for a reason are included in the total of skipped ones.
fn schedule_skips_are_counted(rows: &Snapshot) -> Violations {
    schedules(rows, |_, schedule| {
        let (reasons, all) = (schedule.skips.count(), schedule.skipped);
        unless(reasons <= all, || format!("{all} left out, {reasons} of them for a reason"))
    })
}

fn schedules(
    rows: &Snapshot,
    wrong: impl Fn(&PromiseId, &Schedule) -> Option<String>,
) -> Violations {
    let found = rows.schedules.values().filter_map(|schedule| {
        let id = PromiseId::new(schedule.id.as_str());
        let detail = wrong(&id, schedule)?;
        Some((vec![id], detail))
    });
    found.collect()
}
