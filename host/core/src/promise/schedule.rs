//! A schedule makes a promise at each of its occurrences. It knows when it was due last and is due
//! next; one that is late makes up for what it missed, in order.

use serde::{Deserialize, Serialize};

use super::{Cron, NewPromise};
use crate::{
    id::{PromiseId, ScheduleId},
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};

/// How many occurrences one backfill command deals with.
const PAGE: usize = 100;

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its id.
    pub id: ScheduleId,
    /// When it occurs: a cron expression in UTC.
    pub cron: Text,
    /// What it makes.
    pub template: Template,
    /// What happens while what it made last is still going on.
    pub overlap: Overlap,
    /// Whether it stands still.
    pub paused: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its next occurrence; [`Timestamp::NEVER`] if there is none.
    pub next_at: Timestamp,
    /// The last occurrence for which it made a promise.
    pub last_at: Option<Timestamp>,
    /// The promise it made last.
    pub last_id: Option<PromiseId>,
    /// Occurrences it left out: missed too long ago, or overlapping.
    pub skipped: u64,
}

/// A schedule about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSchedule {
    /// Its id.
    pub id: ScheduleId,
    /// When it occurs: a cron expression in UTC.
    pub cron: Text,
    /// What it makes.
    pub template: Template,
    /// What happens while what it made last is still going on.
    pub overlap: Overlap,
}

/// The promises of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// Their ids, with `{{.id}}` for the schedule's and `{{.timestamp}}` for the occurrence in
    /// milliseconds.
    pub id: Text,
    /// Their parameter.
    pub param: Value,
    /// Their tags; a target is among them.
    pub tags: Tags,
    /// From occurrence to deadline.
    pub timeout: Millis,
}

/// What happens at an occurrence while the promise made last is pending. The numbers are stored.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[repr(u8)]
pub enum Overlap {
    /// Another is made beside it.
    #[default]
    Allow = 0,
    /// None is made.
    Skip = 1,
    /// Another is made, and begins when it has settled.
    Queue = 2,
}

impl Schedule {
    /// A schedule as it is born.
    pub fn born(new: &NewSchedule, next_at: Timestamp, now: Timestamp) -> Self {
        Self {
            id: new.id.clone(),
            cron: new.cron.clone(),
            template: new.template.clone(),
            overlap: new.overlap,
            paused: false,
            created_at: now,
            next_at,
            last_at: None,
            last_id: None,
            skipped: 0,
        }
    }

    /// The instant at which its timer fires; none while it is paused.
    pub fn due_at(&self) -> Option<Timestamp> {
        (!self.paused).then_some(self.next_at)
    }

    /// Its first occurrence strictly after an instant; [`Timestamp::NEVER`] if there is none.
    pub fn after(&self, instant: Timestamp) -> Timestamp {
        let next = Cron::parse(&self.cron).ok().and_then(|cron| cron.after(instant));
        next.unwrap_or(Timestamp::NEVER)
    }

    /// Whether its next occurrence lies behind others that have not come yet. That is so when a
    /// clock showed a later time and was set back: nothing would be made until the clock shows that
    /// time again. Clocks of several hosts differ a little, and that is not meant.
    pub fn is_ahead(&self, now: Timestamp) -> bool {
        const MARGIN: Millis = Millis::seconds(60);
        self.next_at > self.after(now + MARGIN)
    }

    /// The same schedule with the occurrence that comes next.
    pub fn come_back(self, now: Timestamp) -> Self {
        let next_at = self.after(now);
        Self { next_at, last_at: self.last_at.filter(|at| *at < next_at), ..self }
    }

    /// How many occurrences from the next one on have come, as far as they exceed `limit`, but not
    /// more than a thousand times ten of them; and the first that remains then.
    pub fn too_late(&self, limit: u32, now: Timestamp) -> Option<(u64, Timestamp)> {
        const AT_ONCE: usize = 10_000;
        let limit = limit as usize;
        // Occurrences are at least a second apart, so mostly nothing needs to be counted.
        if now.since(self.next_at).0 / 1_000 < limit as i64 {
            return None;
        }
        let cron = Cron::parse(&self.cron).ok()?;
        let due: Vec<Timestamp> = std::iter::once(self.next_at)
            .chain(cron.all_after(self.next_at))
            .take_while(|at| *at <= now)
            .take(limit + AT_ONCE)
            .collect();
        let skipped = due.len().checked_sub(limit).filter(|skipped| *skipped > 0)?;
        let next = due.get(skipped).copied().unwrap_or_else(|| self.after(due[skipped - 1]));
        Some((skipped as u64, next))
    }

    /// The occurrences from `from` up to but not including `to`, as many as one command deals with;
    /// and from where to go on, if there are more.
    pub fn backfill_page(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> (Vec<Timestamp>, Option<Timestamp>) {
        let Ok(cron) = Cron::parse(&self.cron) else { return (Vec::new(), None) };
        let occurrences = cron.all_after(from - Millis(1)).take_while(|at| *at < to);
        let mut page: Vec<Timestamp> = occurrences.take(PAGE + 1).collect();
        let next = if page.len() > PAGE { page.pop() } else { None };
        (page, next)
    }

    /// The id of the promise of an occurrence.
    pub fn promise_at(&self, at: Timestamp) -> PromiseId {
        self.template.promise_at(&self.id, at)
    }

    /// The promise of an occurrence: a root of its own, with its deadline counted from `since`.
    pub fn promise(&self, at: Timestamp, since: Timestamp) -> NewPromise {
        let id = self.promise_at(at);
        let mut tags = self.template.tags.clone();
        tags.insert(tags::SCHEDULE.to_owned(), self.id.to_string());
        for own in [tags::ORIGIN, tags::BRANCH, tags::PARENT, tags::PREFIX] {
            tags.insert(own.to_owned(), id.to_string());
        }
        let timeout_at = (since + self.template.timeout).min(Timestamp::NEVER);
        NewPromise { id, param: self.template.param.clone(), tags, timeout_at }
    }
}

impl Template {
    /// The id of the promise of an occurrence of this schedule.
    pub fn promise_at(&self, schedule: &ScheduleId, at: Timestamp) -> PromiseId {
        let id = self.id.replace("{{.id}}", schedule.as_str());
        PromiseId::new(id.replace("{{.timestamp}}", &at.0.to_string()))
    }
}

impl Overlap {
    /// The stored number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The rule with this stored number.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Allow, Self::Skip, Self::Queue].into_iter().find(|rule| rule.number() == number)
    }

    /// The rule's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Skip => "skip",
            Self::Queue => "queue",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(cron: &str, next_at: i64) -> Schedule {
        let template = Template {
            id: Text::from("{{.id}}@{{.timestamp}}"),
            param: Value::default(),
            tags: Tags::from([(tags::PARENT.to_owned(), "somebody".to_owned())]),
            timeout: Millis::seconds(1),
        };
        let new = NewSchedule {
            id: ScheduleId::from("nightly"),
            cron: Text::from(cron),
            template,
            overlap: Overlap::Allow,
        };
        Schedule::born(&new, Timestamp(next_at), Timestamp(0))
    }

    #[test]
    fn an_occurrence_makes_a_root_named_after_the_template() {
        let promise = schedule("* * * * *", 60_000).promise(Timestamp(60_000), Timestamp(60_000));
        assert_eq!(promise.id.as_str(), "nightly@60000");
        assert_eq!(promise.timeout_at, Timestamp(61_000));
        for own in [tags::ORIGIN, tags::BRANCH, tags::PARENT] {
            assert_eq!(promise.tags[own], "nightly@60000");
        }
        assert_eq!(promise.tags[tags::SCHEDULE], "nightly");
    }

    #[test]
    fn what_was_missed_too_long_ago_is_counted_exactly() {
        let minutely = schedule("* * * * *", 60_000);
        let at = |minutes: i64| Timestamp(minutes * 60_000);
        assert_eq!(minutely.too_late(3, at(3)), None);
        assert_eq!(minutely.too_late(3, at(4)), Some((1, at(2))));
        assert_eq!(minutely.too_late(3, at(100)), Some((97, at(98))));
        assert_eq!(minutely.too_late(0, at(1)), Some((1, at(2))));
        let (skipped, next) = minutely.too_late(1_000, at(1_000_000)).expect("too late");
        assert_eq!((skipped, next), (10_000, at(10_001)), "a bounded piece of it");
    }

    #[test]
    fn a_backfill_goes_page_by_page_through_a_half_open_range() {
        let minutely = schedule("* * * * *", 60_000);
        let at = |minutes: i64| Timestamp(minutes * 60_000);
        assert_eq!(minutely.backfill_page(at(1), at(3)), (vec![at(1), at(2)], None));
        assert_eq!(minutely.backfill_page(at(1) + Millis(1), at(3)), (vec![at(2)], None));
        assert_eq!(minutely.backfill_page(at(3), at(3)), (vec![], None));
        let (page, next) = minutely.backfill_page(at(1), at(250));
        assert_eq!((page.len(), next), (100, Some(at(101))));
        assert_eq!(minutely.backfill_page(at(201), at(301)).1, None);
    }

    #[test]
    fn stored_numbers_come_back() {
        for number in 0..=u8::MAX {
            assert_eq!(Overlap::from_number(number).is_some(), number <= 2);
        }
    }
}
