//! Schedules. A schedule creates a promise at each of its occurrences. Its row has the last and the
//! next occurrence; a late schedule catches up on missed ones in order.

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

/// Number of occurrences per backfill command.
const PAGE: usize = 100;

/// Maximum jitter: 24 hours.
pub const LONGEST_JITTER: Millis = Millis::seconds(86_400);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    pub id: ScheduleId,
    /// Cron expression of the occurrences.
    pub cron: Text,
    /// Time zone of the expression.
    #[serde(default)]
    pub zone: Zone,
    /// Maximum delay between an occurrence and the creation of its promise.
    #[serde(default)]
    pub jitter: Millis,
    /// Template of the promises.
    pub template: PromiseTemplate,
    /// Policy if the previous promise is still pending.
    pub overlap: Overlap,
    pub paused: bool,
    pub created_at: Timestamp,
    /// Next occurrence, without jitter; [`Timestamp::NEVER`] if there is none.
    pub next_at: Timestamp,
    /// Last occurrence for which a promise was created.
    pub last_at: Option<Timestamp>,
    /// Promise that was created last.
    pub last_id: Option<PromiseId>,
    /// Number of skipped occurrences.
    pub skipped: u64,
    /// Skipped occurrences by reason. For older ones, only the total is known.
    #[serde(default)]
    pub skips: Skips,
}

/// A schedule to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSchedule {
    pub id: ScheduleId,
    /// Cron expression of the occurrences.
    pub cron: Text,
    /// Time zone of the expression.
    pub zone: Zone,
    /// Maximum delay between an occurrence and the creation of its promise.
    pub jitter: Millis,
    /// Template of the promises.
    pub template: PromiseTemplate,
    /// Policy if the previous promise is still pending.
    pub overlap: Overlap,
}

impl NewSchedule {
    /// The parts compared when a schedule is requested again.
    pub fn parts(&self) -> RequestParts {
        parts(&self.cron, &self.template, self.overlap)
            .text("zone", &format!("{:?}", self.zone))
            .text("jitter", &self.jitter.0.to_string())
    }
}

impl Schedule {
    /// The parts of an existing schedule, for comparison with a request.
    pub fn parts(&self) -> RequestParts {
        parts(&self.cron, &self.template, self.overlap)
            .text("zone", &format!("{:?}", self.zone))
            .text("jitter", &self.jitter.0.to_string())
    }
}

fn parts(cron: &str, template: &PromiseTemplate, overlap: Overlap) -> RequestParts {
    RequestParts::new()
        .text("cron expression", cron)
        .text("target", tags::target(&template.tags).unwrap_or_default())
        .data("input", &template.param.data)
        .text("id of its promises", &template.id)
        .text("rule for overlaps", &format!("{overlap:?}"))
}

/// Template of a schedule's promises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseTemplate {
    /// Pattern of the ids: `{{.id}}` stands for the schedule's id and `{{.timestamp}}` for the
    /// occurrence in milliseconds.
    pub id: Text,
    pub param: Value,
    /// Tags, including a target.
    pub tags: Tags,
    /// Time from the occurrence to the deadline.
    pub timeout: Millis,
}

/// Occurrences that were missed too long ago to be caught up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedOccurrences {
    /// Number of skipped occurrences.
    pub skipped: u64,
    /// The last skipped occurrence.
    pub last: Timestamp,
    /// The first occurrence that is kept.
    pub next: Timestamp,
}

/// Policy for an occurrence while the previous promise is pending. The numbers are stored.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[repr(u8)]
pub enum Overlap {
    /// Create another promise; both run concurrently.
    #[default]
    Allow = 0,
    /// Create none.
    Skip = 1,
    /// Create another promise, which begins when the previous one has settled.
    Queue = 2,
}

impl NewSchedule {
    /// A schedule in UTC, without jitter.
    pub fn plain(id: ScheduleId, cron: Text, template: PromiseTemplate, overlap: Overlap) -> Self {
        Self { id, cron, zone: Zone::UTC, jitter: Millis::ZERO, template, overlap }
    }
}

impl Schedule {
    /// The row of a new schedule.
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

    /// Instant at which its timer fires. `None` while it is paused.
    pub fn due_at(&self) -> Option<Timestamp> {
        (!self.paused).then_some(self.fires_at(self.next_at))
    }

    /// Instant at which the promise of an occurrence is created: delayed by up to the jitter,
    /// pseudo-random but always the same for an occurrence.
    pub fn fires_at(&self, at: Timestamp) -> Timestamp {
        if self.jitter <= Millis::ZERO || at >= Timestamp::NEVER {
            return at;
        }
        let drawn = Sha256::new().chain_update(self.id.as_str()).chain_update(at.0.to_be_bytes());
        let [a, b, c, d, e, f, g, ..] = drawn.finalize()[..] else { return at };
        let drawn = i64::from_be_bytes([0, a, b, c, d, e, f, g]);
        at + Millis(drawn % self.jitter.0.saturating_add(1))
    }

    /// First occurrence strictly after an instant; [`Timestamp::NEVER`] if there is none.
    pub fn after(&self, instant: Timestamp) -> Timestamp {
        let next = self.parsed().and_then(|cron| cron.after(instant));
        next.unwrap_or(Timestamp::NEVER)
    }

    /// Up to `most` occurrences, from the next one on. For a paused schedule, those that would
    /// follow if it were resumed now.
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

    /// True if `next_at` is later than another occurrence that is still to come. This happens when
    /// a clock was ahead and was set back: without correction, no promise would be created until
    /// the clock reaches that time again. Small differences between the clocks of hosts do not
    /// count.
    pub fn is_ahead(&self, now: Timestamp) -> bool {
        const MARGIN: Millis = Millis::seconds(60);
        self.next_at > self.after(now + MARGIN)
    }

    /// A copy with `next_at` set to the first occurrence after now.
    pub fn come_back(self, now: Timestamp) -> Self {
        let next_at = self.after(now);
        Self { next_at, last_at: self.last_at.filter(|at| *at < next_at), ..self }
    }

    /// Due occurrences in excess of `limit`, at most 10,000 of them, and the first occurrence that
    /// remains. `None` if there are none.
    pub fn too_late(&self, limit: u32, now: Timestamp) -> Option<MissedOccurrences> {
        const AT_ONCE: usize = 10_000;
        let limit = limit as usize;
        // Occurrences are at least a second apart, so usually counting is unnecessary.
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
        Some(MissedOccurrences { skipped: skipped as u64, last, next })
    }

    /// A page of occurrences from `from` (inclusive) to `to` (exclusive), with the start of the
    /// next page if there are more.
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

    /// Id of the promise of an occurrence.
    pub fn promise_at(&self, at: Timestamp) -> PromiseId {
        self.template.promise_at(&self.id, at)
    }

    /// The promise of an occurrence: the root of a new tree, with a deadline counted from `since`.
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

impl PromiseTemplate {
    /// Id of the promise of an occurrence of this schedule.
    pub fn promise_at(&self, schedule: &ScheduleId, at: Timestamp) -> PromiseId {
        let id = self.id.replace("{{.id}}", schedule.as_str());
        PromiseId::new(id.replace("{{.timestamp}}", &at.0.to_string()))
    }
}

impl Overlap {
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The policy with this stored number. `None` if there is none.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Allow, Self::Skip, Self::Queue].into_iter().find(|rule| rule.number() == number)
    }

    /// Name of the policy.
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
        let template = PromiseTemplate {
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
            Some(MissedOccurrences { skipped, last, next })
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
