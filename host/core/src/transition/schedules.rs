//! Schedules: one occurrence a command, missed ones in order.

use super::{
    create::{Maker, reachable},
    draft::Draft,
};
use crate::{
    address::Address,
    id::{PromiseId, ScheduleId, fits},
    promise::{Cron, NewSchedule, Overlap, Schedule},
    reply::{Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    unreadable::Subject,
};

/// The result of an occurrence.
enum Occurred {
    Made(PromiseId),
    /// Its promise was there already.
    Existed(PromiseId),
    /// It overlaps, or its module is gone.
    Skipped,
}

pub(super) fn create(draft: &mut Draft<'_>, new: &NewSchedule) -> Result<Reply, Refusal> {
    let cron = well_formed(new)?;
    if let Some(schedule) = draft.schedule(&new.id) {
        return Ok(Reply::Schedule { schedule: Box::new(schedule.clone()), created: false });
    }
    fits("the id of the schedule", new.id.as_str())?;
    // The longest id that it will ever make.
    let longest = new.template.promise_at(&new.id, Timestamp::NEVER);
    fits("the id of the schedule's promises", longest.as_str())?;
    let target = tags::target(&new.template.tags).map(Address::parse).transpose();
    let target = target.map_err(|refused| Refusal::Unprocessable(refused.to_string()))?;
    if draft.config.resonate_strict {
        target.iter().try_for_each(reachable)?;
        if new.id.as_str().contains(['.', ':']) {
            return Err(Refusal::BadRequest(format!(
                "the id of the schedule `{}` looks like a part of a tree: it must hold neither `.` nor `:`",
                new.id
            )));
        }
    }
    let module = new.template.tags.get(tags::MODULE);
    if let Some(address) = target {
        let module = draft.module_of(&address, module, Maker::Client)?;
        if draft.turn_of(&address, module.as_ref())?.is_some_and(|turn| turn.is_run) {
            return Err(Refusal::Unprocessable(format!(
                "`{address}` runs once a key, and a schedule runs again and again: use another function"
            )));
        }
    }
    let Some(next_at) = cron.after(draft.now) else {
        return Err(Refusal::Unprocessable(format!(
            "`{}` has no occurrence from now on: there is no such date",
            new.cron
        )));
    };
    let schedule = Schedule::born(new, next_at, draft.now);
    draft.put_schedule(schedule.clone());
    Ok(Reply::Schedule { schedule: Box::new(schedule), created: true })
}

pub(super) fn delete(draft: &mut Draft<'_>, id: &ScheduleId) -> Result<Reply, Refusal> {
    if draft.view.unreadable(&Subject::Schedule(id.clone())).is_none() {
        draft.existing_schedule(id)?;
    }
    draft.delta.schedules.insert(id.clone(), None);
    Ok(Reply::Done)
}

pub(super) fn pause(
    draft: &mut Draft<'_>,
    id: &ScheduleId,
    paused: bool,
) -> Result<Reply, Refusal> {
    let before = draft.existing_schedule(id)?.clone();
    let mut schedule = Schedule { paused, ..before.clone() };
    // What it passed over while it was paused was not missed: it was not wanted.
    if before.paused && !paused && schedule.next_at <= draft.now {
        schedule.next_at = schedule.after(draft.now);
    }
    if schedule != before {
        draft.put_schedule(schedule.clone());
    }
    Ok(Reply::Schedule { schedule: Box::new(schedule), created: false })
}

pub(super) fn due(draft: &mut Draft<'_>, id: &ScheduleId) -> Result<Reply, Refusal> {
    if let Some(ahead) = draft.schedule(id).filter(|schedule| schedule.is_ahead(draft.now)) {
        let back = ahead.clone().come_back(draft.now);
        draft.put_schedule(back);
        return Ok(Reply::Done);
    }
    let due = draft
        .schedule(id)
        .filter(|schedule| schedule.due_at().is_some_and(|due_at| due_at <= draft.now));
    let Some(mut schedule) = due.cloned() else { return Ok(Reply::Done) };
    if let Some((skipped, next_at)) = schedule.too_late(draft.config.catch_up, draft.now) {
        schedule.skipped = schedule.skipped.saturating_add(skipped);
        schedule.next_at = next_at;
        draft.put_schedule(schedule);
        return Ok(Reply::Done);
    }
    let at = schedule.next_at;
    match draft.occur(&schedule, at, at) {
        Occurred::Made(promise) | Occurred::Existed(promise) => {
            schedule.last_at = Some(at);
            schedule.last_id = Some(promise);
        }
        Occurred::Skipped => schedule.skipped = schedule.skipped.saturating_add(1),
    }
    schedule.next_at = schedule.after(at);
    draft.put_schedule(schedule);
    Ok(Reply::Done)
}

/// The next and the last occurrence stay as they are. A deadline counts from now: what is asked for
/// now is meant to run, however long ago it was due.
pub(super) fn backfill(
    draft: &mut Draft<'_>,
    id: &ScheduleId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Reply, Refusal> {
    let before = draft.existing_schedule(id)?.clone();
    if from >= to {
        return Err(Refusal::BadRequest(format!(
            "there is nothing between {} and {}: the first must be the earlier one",
            from.in_utc(),
            to.in_utc()
        )));
    }
    let mut schedule = before.clone();
    let (mut made, mut existing, mut skipped) = (0, 0, 0);
    let (page, more) = schedule.backfill_page(from, to);
    let now = draft.now;
    for at in page.into_iter().filter(|at| *at <= now) {
        match draft.occur(&schedule, at, now) {
            Occurred::Made(promise) => {
                made += 1;
                schedule.last_id = Some(promise);
            }
            Occurred::Existed(_) => existing += 1,
            Occurred::Skipped => skipped += 1,
        }
    }
    if schedule != before {
        draft.put_schedule(schedule);
    }
    let next = more.filter(|at| *at <= now);
    Ok(Reply::Backfilled { made, existing, skipped, next })
}

/// What is wrong with a schedule whatever else there is.
fn well_formed(new: &NewSchedule) -> Result<Cron, Refusal> {
    let refuse = |what: &str| Err(Refusal::BadRequest(format!("the schedule `{}` {what}", new.id)));
    if new.id.as_str().is_empty() {
        return Err(Refusal::BadRequest("the id of a schedule must not be empty".to_owned()));
    }
    if new.template.id.is_empty() {
        return refuse(
            "needs a template for the ids of its promises, such as {{.id}}@{{.timestamp}}",
        );
    }
    if new.template.timeout < Millis::ZERO {
        return refuse("gives its promises a negative time");
    }
    if tags::target(&new.template.tags).is_none() {
        return refuse(
            "needs a target for its promises, which is the tag `target` (`resonate:target` over the Resonate protocol): what should run?",
        );
    }
    if tags::is_timer(&new.template.tags) {
        return refuse("makes timers, which run nothing; leave the tag `timer` out");
    }
    Cron::parse(&new.cron).map_err(|refused| Refusal::BadRequest(refused.to_string()))
}

impl Draft<'_> {
    fn schedule(&self, id: &ScheduleId) -> Option<&Schedule> {
        self.view.schedule(id)
    }

    fn existing_schedule(&self, id: &ScheduleId) -> Result<&Schedule, Refusal> {
        self.schedule(id).ok_or_else(|| Refusal::NoSchedule(id.clone()))
    }

    fn put_schedule(&mut self, schedule: Schedule) {
        if let Some(due_at) = schedule.due_at() {
            self.due(due_at);
        }
        self.delta.schedules.insert(schedule.id.clone(), Some(schedule));
    }

    /// Makes the promise of the occurrence at `at`, if there is none and the overlap rule lets it; it
    /// counts as made at `since`, from where its deadline counts.
    fn occur(&mut self, schedule: &Schedule, at: Timestamp, since: Timestamp) -> Occurred {
        let new = schedule.promise(at, since);
        self.touch(&new.id);
        if self.promise(&new.id).is_some() {
            return Occurred::Existed(new.id);
        }
        schedule.last_id.iter().for_each(|last| self.touch(last));
        let going_on = schedule.last_id.as_ref().filter(|last| self.is_pending(last));
        let after = match (schedule.overlap, going_on) {
            (Overlap::Skip, Some(_)) => return Occurred::Skipped,
            (Overlap::Queue, Some(last)) => Some(last),
            (Overlap::Allow, _) | (Overlap::Skip | Overlap::Queue, None) => None,
        };
        match self.make(&new, Maker::Schedule { at: since, after }, None) {
            Ok(()) => Occurred::Made(new.id),
            // The module was there when the schedule was made, and is not any more.
            Err(_) => Occurred::Skipped,
        }
    }
}
