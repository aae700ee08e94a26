//! What is always true of schedules.

use crate::id::PromiseId;
use crate::promise::Schedule;
use crate::snapshot::{Snapshot, TimerKind};

use super::{Found, Predicate, unless};

pub(super) const PREDICATES: &[Predicate] = &[
    ("schedule_timer_due", schedule_timer_due),
    ("schedule_last_before_next", schedule_last_before_next),
];

/// A schedule that is not paused has a timer, due at its next occurrence; nothing else has one.
fn schedule_timer_due(rows: &Snapshot) -> Found {
    let mut found = schedules(rows, |id, schedule| {
        let timer = rows.timers.get(&(TimerKind::Schedule, id.clone())).copied();
        unless(timer == schedule.due_at(), || {
            format!("its timer is due at {timer:?}, the schedule at {:?}", schedule.due_at())
        })
    });
    let stray = rows.timers.keys().filter(|(kind, id)| {
        *kind == TimerKind::Schedule
            && !rows.schedules.keys().any(|known| known.as_str() == id.as_str())
    });
    found.extend(stray.map(|(_, id)| (vec![id.clone()], "a timer without a schedule".to_owned())));
    found
}

/// The last occurrence lies before the next one.
fn schedule_last_before_next(rows: &Snapshot) -> Found {
    schedules(rows, |_, schedule| {
        let last = schedule.last_at?;
        unless(last < schedule.next_at, || format!("last at {last}, next at {}", schedule.next_at))
    })
}

fn schedules(rows: &Snapshot, wrong: impl Fn(&PromiseId, &Schedule) -> Option<String>) -> Found {
    let found = rows.schedules.values().filter_map(|schedule| {
        let id = PromiseId::new(schedule.id.as_str());
        let detail = wrong(&id, schedule)?;
        Some((vec![id], detail))
    });
    found.collect()
}
