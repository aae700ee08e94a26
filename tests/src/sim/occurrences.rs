//! Checks of schedules: every occurrence is created once, in order.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    id::{PromiseId, ScheduleId},
    snapshot::Snapshot,
    time::{Millis, Timestamp},
};

use super::metrics::Step;

/// Interval between two occurrences, in milliseconds.
const PERIOD: i64 = 2_000;

/// Promises that a schedule created.
pub(super) fn occurrences<'a>(
    rows: &'a Snapshot,
    schedule: &'a ScheduleId,
) -> impl Iterator<Item = &'a PromiseId> {
    let prefix = format!("{}@", schedule.as_str());
    rows.promises.keys().filter(move |id| id.as_str().starts_with(&prefix))
}

/// Occurrences of all schedules, tracked outside the engine.
#[derive(Default)]
pub(super) struct Timetable {
    /// Next occurrence of each schedule.
    next: BTreeMap<ScheduleId, Timestamp>,
    /// Every occurrence so far.
    past: BTreeSet<(ScheduleId, Timestamp)>,
}

impl Timetable {
    /// Violations in a step.
    pub(super) fn step(&mut self, step: &Step<'_>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (id, after) in &step.after.schedules {
            match step.before.schedules.get(id) {
                None => {
                    let first = (step.now.0.div_euclid(PERIOD) + 1) * PERIOD;
                    if after.next_at.0 != first {
                        wrong.push(format!("schedule: `{id}` begins at {}", after.next_at));
                    }
                    self.next.insert(id.clone(), after.next_at);
                }
                Some(before) if before != after => wrong.extend(self.occur(step, id)),
                Some(_) => {}
            }
        }
        wrong
    }

    /// Checks one step of a schedule. The occurrences that it passes are created, existed before,
    /// or are counted as skipped.
    fn occur(&mut self, step: &Step<'_>, id: &ScheduleId) -> Vec<String> {
        let (before, after) = (&step.before.schedules[id], &step.after.schedules[id]);
        let mut wrong = Vec::new();
        let mut says = |what: String| wrong.push(format!("schedule: `{id}` {what}"));
        if self.next.insert(id.clone(), after.next_at) != Some(before.next_at) {
            says("was changed between two occurrences".into());
        }
        let mut left = i64::try_from(after.skipped - before.skipped).unwrap_or(i64::MAX);
        let mut at = before.next_at;
        while at < after.next_at {
            if at > step.now {
                says(format!("occurs at {}, ahead of {at}", step.now));
            }
            if !self.past.insert((id.clone(), at)) {
                says(format!("occurs twice at {at}"));
            }
            let promise = PromiseId::from(format!("{id}@{}", at.0).as_str());
            if !step.after.promises.contains_key(&promise) {
                left -= 1;
            }
            at = at + Millis(PERIOD);
        }
        if at != after.next_at || left != 0 {
            says(format!("goes from {} to {}, with {left} too many left out", before.next_at, at));
        }
        let made = occurrences(step.after, id).filter(|id| !step.before.promises.contains_key(id));
        if made.count() > 1 {
            says("made several promises in one step".into());
        }
        wrong
    }
}
