//! Schedules: one occurrence per command, missed ones in order.

use super::{
    create::{PromiseCreator, reachable},
    draft::DecisionDraft,
};
use crate::{
    address::Address,
    effect::Effect,
    id::{PromiseId, ScheduleId, check_name, fits},
    promise::{
        Cron, LONGEST_JITTER, MissedOccurrences, NewSchedule, Overlap, Schedule, SkipReason,
        TaskState,
    },
    reply::{Conflict, Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    unreadable::Subject,
    value::Text,
};

enum OccurrenceResult {
    Made(PromiseId),
    /// The promise already existed.
    Existed(PromiseId),
    /// The previous promise is still pending.
    Overlaps {
        last: PromiseId,
        is_halted: bool,
    },
    /// The promise cannot be created: for example, its module was removed.
    Refused(Refusal),
}

pub(super) fn create(draft: &mut DecisionDraft<'_>, new: &NewSchedule) -> Result<Reply, Refusal> {
    let cron = well_formed(new)?;
    if let Some(schedule) = draft.schedule(&new.id) {
        return Ok(Reply::Schedule { schedule: Box::new(schedule.clone()), created: false });
    }
    check_name("the id of the schedule", new.id.as_str())?;
    fits("the id of the schedule", new.id.as_str())?;
    // The longest id that the schedule will ever create.
    let longest = new.template.promise_at(&new.id, Timestamp::NEVER);
    check_name("the id of the schedule's promises", longest.as_str())?;
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
        let module = draft.module_of(&address, module, PromiseCreator::Client)?;
        if draft.turn_of(&address, module.as_ref())?.is_some_and(|turn| turn.is_run) {
            return Err(Refusal::Unprocessable(format!(
                "`{address}` runs once a key, and a schedule runs again and again: use another function"
            )));
        }
    }
    let Some(next_at) = cron.after(draft.now) else {
        let why = match cron.before(draft.now) {
            Some(last) => format!("the last one was {}", new.zone.local(last)),
            None => "there is no such date".to_owned(),
        };
        return Err(Refusal::Unprocessable(format!(
            "`{}` has no occurrence from now on: {why}",
            new.cron
        )));
    };
    let schedule = Schedule::born(new, next_at, draft.now);
    draft.put_schedule(schedule.clone());
    Ok(Reply::Schedule { schedule: Box::new(schedule), created: true })
}

pub(super) fn delete(draft: &mut DecisionDraft<'_>, id: &ScheduleId) -> Result<Reply, Refusal> {
    if draft.view.unreadable(&Subject::Schedule(id.clone())).is_none() {
        draft.existing_schedule(id)?;
    }
    draft.delta.schedules.insert(id.clone(), None);
    Ok(Reply::Done)
}

pub(super) fn pause(
    draft: &mut DecisionDraft<'_>,
    id: &ScheduleId,
    paused: bool,
) -> Result<Reply, Refusal> {
    let before = draft.existing_schedule(id)?.clone();
    let mut schedule = Schedule { paused, ..before.clone() };
    // Occurrences while it was paused do not count as missed.
    if before.paused && !paused && schedule.next_at <= draft.now {
        schedule.next_at = schedule.after(draft.now);
    }
    if schedule != before {
        draft.put_schedule(schedule.clone());
    }
    Ok(Reply::Schedule { schedule: Box::new(schedule), created: false })
}

pub(super) fn due(draft: &mut DecisionDraft<'_>, id: &ScheduleId) -> Result<Reply, Refusal> {
    if let Some(ahead) = draft.schedule(id).filter(|schedule| schedule.is_ahead(draft.now)) {
        let back = ahead.clone().come_back(draft.now);
        draft.put_schedule(back);
        return Ok(Reply::Done);
    }
    let due = draft
        .schedule(id)
        .filter(|schedule| schedule.due_at().is_some_and(|due_at| due_at <= draft.now));
    let Some(mut schedule) = due.cloned() else { return Ok(Reply::Done) };
    if let Some(MissedOccurrences { skipped, last, next }) =
        schedule.too_late(draft.config.catch_up, draft.now)
    {
        let detail = format!(
            "no host was there for it in time, and {} missed occurrences are made up for at most",
            draft.config.catch_up
        );
        draft.skip(&mut schedule, SkipReason::Missed, skipped, last, &detail);
        schedule.next_at = next;
        draft.put_schedule(schedule);
        return Ok(Reply::Done);
    }
    let at = schedule.next_at;
    let since = schedule.fires_at(at);
    match draft.occur(&schedule, at, since) {
        OccurrenceResult::Made(promise) | OccurrenceResult::Existed(promise) => {
            schedule.last_at = Some(at);
            schedule.last_id = Some(promise);
        }
        left_out => {
            if let Some((reason, detail)) = left_out.reason() {
                draft.skip(&mut schedule, reason, 1, at, &detail);
            }
        }
    }
    schedule.next_at = schedule.after(at);
    draft.put_schedule(schedule);
    Ok(Reply::Done)
}

/// Creates a page of past occurrences. The schedule's next and last occurrence stay unchanged.
/// Deadlines count from now, since an occurrence requested now should run, regardless of when it
/// was due.
pub(super) fn backfill(
    draft: &mut DecisionDraft<'_>,
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
    let (mut made, mut existing, mut skipped, mut because) = (0, 0, 0, None);
    let (page, more) = schedule.backfill_page(from, to);
    let now = draft.now;
    for at in page.into_iter().filter(|at| *at <= now) {
        match draft.occur(&schedule, at, now) {
            OccurrenceResult::Made(promise) => {
                made += 1;
                schedule.last_id = Some(promise);
            }
            OccurrenceResult::Existed(_) => existing += 1,
            left_out => {
                skipped += 1;
                because = left_out.reason().map(|(_, detail)| Text::from(detail.as_str()));
            }
        }
    }
    if schedule != before {
        draft.put_schedule(schedule);
    }
    let next = more.filter(|at| *at <= now);
    Ok(Reply::Backfilled { made, existing, skipped, because, next })
}

/// Creates the promise of an occurrence at `at`, regardless of the expression, even while the
/// schedule is paused. The schedule's next and last occurrence stay unchanged, and the deadline
/// counts from now.
pub(super) fn trigger(
    draft: &mut DecisionDraft<'_>,
    id: &ScheduleId,
    at: Timestamp,
) -> Result<Reply, Refusal> {
    let mut schedule = draft.existing_schedule(id)?.clone();
    let now = draft.now;
    let (promise, changed) = match draft.occur(&schedule, at, now) {
        OccurrenceResult::Made(promise) => {
            schedule.last_id = Some(promise.clone());
            draft.put_schedule(schedule);
            (promise, true)
        }
        OccurrenceResult::Existed(promise) => (promise, false),
        OccurrenceResult::Overlaps { last, .. } => {
            return Err(Conflict::Overlaps { schedule: id.clone(), last }.into());
        }
        OccurrenceResult::Refused(refusal) => return Err(refusal),
    };
    Ok(Reply::Promise { promise: draft.existing(&promise)?.clone(), changed })
}

/// Validates a schedule, without considering stored rows.
fn well_formed(new: &NewSchedule) -> Result<Cron, Refusal> {
    let refuse = |what: &str| Err(Refusal::BadRequest(format!("the schedule `{}` {what}", new.id)));
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
    if !(Millis::ZERO..=LONGEST_JITTER).contains(&new.jitter) {
        return refuse("has a jitter that is negative or longer than a day");
    }
    Cron::parse(&new.cron, new.zone).map_err(|refused| Refusal::BadRequest(refused.to_string()))
}

impl DecisionDraft<'_> {
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

    /// Creates the promise of the occurrence at `at`, unless it exists or the overlap policy
    /// forbids it. `since` is its creation time, from which its deadline counts.
    fn occur(&mut self, schedule: &Schedule, at: Timestamp, since: Timestamp) -> OccurrenceResult {
        let new = schedule.promise(at, since);
        self.touch(&new.id);
        if self.promise(&new.id).is_some() {
            return OccurrenceResult::Existed(new.id);
        }
        schedule.last_id.iter().for_each(|last| self.touch(last));
        let going_on = schedule.last_id.as_ref().filter(|last| self.is_pending(last));
        let after = match (schedule.overlap, going_on) {
            (Overlap::Skip, Some(last)) => {
                let state = self.task(last).map(|task| &task.state);
                let is_halted = matches!(state, Some(TaskState::Halted { .. }));
                return OccurrenceResult::Overlaps { last: last.clone(), is_halted };
            }
            (Overlap::Queue, Some(last)) => Some(last),
            (Overlap::Allow, _) | (Overlap::Skip | Overlap::Queue, None) => None,
        };
        match self.make(&new, PromiseCreator::Schedule { at: since, after }, None) {
            Ok(()) => OccurrenceResult::Made(new.id),
            // For example, the module existed when the schedule was created and was removed since.
            Err(refusal) => OccurrenceResult::Refused(refusal),
        }
    }

    /// Counts skipped occurrences, the last of them at this instant, and reports them.
    fn skip(
        &mut self,
        schedule: &mut Schedule,
        reason: SkipReason,
        count: u64,
        at: Timestamp,
        detail: &str,
    ) {
        schedule.skipped = schedule.skipped.saturating_add(count);
        schedule.skips.add(reason, count, at, detail);
        self.effects.push(Effect::Skipped {
            schedule: schedule.id.clone(),
            reason,
            count,
            at,
            detail: Text::from(detail),
        });
    }
}

impl OccurrenceResult {
    /// Reason for skipping the occurrence. `None` if it was not skipped.
    fn reason(&self) -> Option<(SkipReason, String)> {
        match self {
            Self::Made(_) | Self::Existed(_) => None,
            Self::Overlaps { last, is_halted } => {
                Some((SkipReason::Overlap, overlaps(last, *is_halted)))
            }
            Self::Refused(refusal) => Some((SkipReason::Refused, refusal.to_string())),
        }
    }
}

/// Describes the promise that an occurrence would have overlapped.
fn overlaps(last: &PromiseId, is_halted: bool) -> String {
    match is_halted {
        true => format!("`{last}`, which it started before, is halted and waits for a person"),
        false => format!("`{last}`, which it started before, has not ended"),
    }
}
