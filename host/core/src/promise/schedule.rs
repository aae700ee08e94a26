//! A schedule makes a promise at each of its occurrences. It knows when it was due last and is due
//! next; one that is late makes up for what it missed, in order.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Cron, NewPromise, Skips, Zone};
use crate::{
    id::{PromiseId, ScheduleId},
    keyed_request::RequestParts,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};

/// How many occurrences one backfill command deals with.
const PAGE: usize = 100;

/// The longest jitter: a day.
pub const LONGEST_JITTER: Millis = Millis::seconds(86_400);

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its id.
    pub id: ScheduleId,
    /// When it occurs: a cron expression.
    pub cron: Text,
    /// By whose clock.
    #[serde(default)]
    pub zone: Zone,
    /// How much later than its occurrences it makes their promises at most.
    #[serde(default)]
    pub jitter: Millis,
    /// What it makes.
    pub template: Template,
    /// What happens while what it made last is still going on.
    pub overlap: Overlap,
    /// Whether it stands still.
    pub paused: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its next occurrence, without jitter; [`Timestamp::NEVER`] if there is none.
    pub next_at: Timestamp,
    /// The last occurrence for which it made a promise.
    pub last_at: Option<Timestamp>,
    /// The promise it made last.
    pub last_id: Option<PromiseId>,
    /// Number of occurrences it left out.
    pub skipped: u64,
    /// Why it left them out; of those before this was kept, only the number is known.
    #[serde(default)]
    pub skips: Skips,
}

/// A schedule about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSchedule {
    /// Its id.
    pub id: ScheduleId,
    /// When it occurs: a cron expression.
    pub cron: Text,
    /// By whose clock.
    pub zone: Zone,
    /// How much later than its occurrences it makes their promises at most.
    pub jitter: Millis,
    /// What it makes.
    pub template: Template,
    /// What happens while what it made last is still going on.
    pub overlap: Overlap,
}

impl NewSchedule {
    /// What counts where a schedule is asked for again.
    pub fn parts(&self) -> RequestParts {
        parts(&self.cron, &self.template, self.overlap)
            .text("zone", &format!("{:?}", self.zone))
            .text("jitter", &self.jitter.0.to_string())
    }
}

impl Schedule {
    /// The same of one that is there.
    pub fn parts(&self) -> RequestParts {
        parts(&self.cron, &self.template, self.overlap)
            .text("zone", &format!("{:?}", self.zone))
            .text("jitter", &self.jitter.0.to_string())
    }
}

fn parts(cron: &str, template: &Template, overlap: Overlap) -> RequestParts {
    RequestParts::new()
        .text("cron expression", cron)
        .text("target", tags::target(&template.tags).unwrap_or_default())
        .data("input", &template.param.data)
        .text("id of its promises", &template.id)
        .text("rule for overlaps", &format!("{overlap:?}"))
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

/// Occurrences that were missed too long ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate {
    /// How many.
    pub skipped: u64,
    /// The last of them.
    pub last: Timestamp,
    /// The first that remains.
    pub next: Timestamp,
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

impl NewSchedule {
    /// One in UTC, without jitter.
    pub fn plain(id: ScheduleId, cron: Text, template: Template, overlap: Overlap) -> Self {
        Self { id, cron, zone: Zone::UTC, jitter: Millis::ZERO, template, overlap }
    }
}

impl Schedule {
    /// A schedule as it is born.
    pub fn born(new: &NewSchedule, next_at: Timestamp, now: Timestamp) -> Self {
        Self {
            id: new.id.clone(),
            cron: new.cron.clone(),
            zone: new.zone,
            jitter: new.jitter,
            template: new.template.clone(),
            overlap: new.overlap,
            paused: false,
            created_at: now,
            next_at,
            last_at: None,
            last_id: None,
            skipped: 0,
            skips: Skips::default(),
        }
    }

    /// The instant at which its timer fires; none while it is paused.
    pub fn due_at(&self) -> Option<Timestamp> {
        (!self.paused).then_some(self.fires_at(self.next_at))
    }

    /// The instant at which the promise of an occurrence is made: by chance up to its jitter later, and
    /// always the same.
    pub fn fires_at(&self, at: Timestamp) -> Timestamp {
        if self.jitter <= Millis::ZERO || at >= Timestamp::NEVER {
            return at;
        }
        let drawn = Sha256::new().chain_update(self.id.as_str()).chain_update(at.0.to_be_bytes());
        let [a, b, c, d, e, f, g, ..] = drawn.finalize()[..] else { return at };
        let drawn = i64::from_be_bytes([0, a, b, c, d, e, f, g]);
        at + Millis(drawn % self.jitter.0.saturating_add(1))
    }

    /// Its first occurrence strictly after an instant; [`Timestamp::NEVER`] if there is none.
    pub fn after(&self, instant: Timestamp) -> Timestamp {
        let next = self.parsed().and_then(|cron| cron.after(instant));
        next.unwrap_or(Timestamp::NEVER)
    }

    /// Its occurrences from the next one on, as many as that; of a paused schedule, those that would follow if
    /// it were resumed now.
    pub fn upcoming(&self, now: Timestamp, most: usize) -> Vec<Timestamp> {
        if self.next_at >= Timestamp::NEVER {
            return Vec::new();
        }
        let is_passed_over = self.paused && self.next_at <= now;
        let after = if is_passed_over { now } else { self.next_at };
        let later = self.parsed().map(|cron| cron.all_after(after).take(most).collect());
        let later: Vec<Timestamp> = later.unwrap_or_default();
        let first = (!is_passed_over).then_some(self.next_at);
        first.into_iter().chain(later).take(most).collect()
    }

    fn parsed(&self) -> Option<Cron> {
        Cron::parse(&self.cron, self.zone).ok()
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
    pub fn too_late(&self, limit: u32, now: Timestamp) -> Option<TooLate> {
        const AT_ONCE: usize = 10_000;
        let limit = limit as usize;
        // Occurrences are at least a second apart, so mostly nothing needs to be counted.
        if now.since(self.next_at).0 / 1_000 < limit as i64 {
            return None;
        }
        let cron = self.parsed()?;
        let due: Vec<Timestamp> = std::iter::once(self.next_at)
            .chain(cron.all_after(self.next_at))
            .take_while(|at| self.fires_at(*at) <= now)
            .take(limit + AT_ONCE)
            .collect();
        let skipped = due.len().checked_sub(limit).filter(|skipped| *skipped > 0)?;
        let last = due[skipped - 1];
        let next = due.get(skipped).copied().unwrap_or_else(|| self.after(last));
        Some(TooLate { skipped: skipped as u64, last, next })
    }

    /// The occurrences from `from` up to but not including `to`, as many as one command deals with;
    /// and from where to go on, if there are more.
    pub fn backfill_page(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> (Vec<Timestamp>, Option<Timestamp>) {
        let Some(cron) = self.parsed() else { return (Vec::new(), None) };
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
        let id = ScheduleId::from("nightly");
        let new = NewSchedule::plain(id, Text::from(cron), template, Overlap::Allow);
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
        let late = |skipped: u64, next| {
            let last = at(skipped.cast_signed());
            Some(TooLate { skipped, last, next })
        };
        assert_eq!(minutely.too_late(3, at(3)), None);
        assert_eq!(minutely.too_late(3, at(4)), late(1, at(2)));
        assert_eq!(minutely.too_late(3, at(100)), late(97, at(98)));
        assert_eq!(minutely.too_late(0, at(1)), late(1, at(2)));
        let bounded = minutely.too_late(1_000, at(1_000_000));
        assert_eq!(bounded, late(10_000, at(10_001)), "a bounded piece of it");
    }

    #[test]
    fn jitter_is_the_same_for_an_occurrence_and_spreads_them() {
        let exact = schedule("* * * * *", 60_000);
        let jitter = Millis::seconds(30);
        let spread = Schedule { jitter, ..exact.clone() };
        let delays = |schedule: &Schedule| -> Vec<i64> {
            let occurrences = (1..=200).map(|minute| Timestamp(minute * 60_000));
            occurrences.map(|at| schedule.fires_at(at).0 - at.0).collect()
        };
        assert!(delays(&exact).iter().all(|delay| *delay == 0));
        let drawn = delays(&spread);
        assert_eq!(drawn, delays(&spread.clone()));
        assert!(drawn.iter().all(|delay| (0..=jitter.0).contains(delay)), "{drawn:?}");
        assert!(drawn.iter().any(|delay| *delay < jitter.0 / 4), "{drawn:?}");
        assert!(drawn.iter().any(|delay| *delay > jitter.0 / 4 * 3), "{drawn:?}");
        let other = Schedule { id: ScheduleId::from("weekly"), ..spread.clone() };
        assert_ne!(drawn, delays(&other));
        assert_eq!(spread.fires_at(Timestamp::NEVER), Timestamp::NEVER);
        assert_eq!(spread.due_at(), Some(spread.fires_at(spread.next_at)));
    }

    #[test]
    fn the_occurrences_to_come_begin_with_the_next_one() {
        let daily = schedule("0 0 * * *", 86_400_000);
        let day = |n: i64| Timestamp(n * 86_400_000);
        assert_eq!(daily.upcoming(day(9), 3), [day(1), day(2), day(3)]);
        let paused = Schedule { paused: true, ..daily.clone() };
        assert_eq!(paused.upcoming(Timestamp(0), 2), [day(1), day(2)]);
        assert_eq!(paused.upcoming(day(4), 2), [day(5), day(6)], "what passed is not to come");
        let over = Schedule { next_at: Timestamp::NEVER, ..daily };
        assert!(over.upcoming(day(9), 3).is_empty());
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
