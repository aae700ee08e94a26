//! Sagas: steps that are undone when the whole does not come about.
//!
//! What is known of a saga are facts, written by the settlement chain together with the settlement
//! they follow from, and never changed. Nothing is inferred: without the fact that a step is to be
//! undone, it is not undone; a step whose effect is unknown stops the saga for a
//! person.

use serde::{Deserialize, Serialize};

use crate::{
    id::PromiseId,
    tags,
    time::Timestamp,
    value::{Tags, Text},
};

/// A step of a saga of an invocation, and what a fact says of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FactKey {
    /// The saga's name within its invocation.
    pub saga: Text,
    /// The step's place in it.
    pub seq: u32,
    /// What is said.
    pub kind: FactKind,
}

/// What a fact says. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum FactKind {
    /// The step acted, or may have: it is to be undone if the saga is aborted.
    Registered = 1,
    /// It is undone.
    Completed = 2,
    /// Undoing it failed, for good.
    Failed = 3,
}

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The promise whose settlement it follows from: the step's, or that of its compensation.
    pub promise: PromiseId,
    /// For a registration: the address of the function that undoes the step.
    pub compensate: Option<Text>,
    /// Whether the step ended without saying if it acted.
    pub unknown: bool,
    /// When.
    pub at: Timestamp,
}

/// A step as its promise's tags declare it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTags<'a> {
    /// The saga's name.
    pub saga: &'a str,
    /// The step's place in it.
    pub seq: u32,
    /// What undoes it.
    pub compensate: &'a str,
    /// Whether the step is undone even if its effect is unknown.
    pub unknown: bool,
}

/// A step as far as its promise tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepView {
    /// Its place in the saga.
    pub seq: u32,
    /// How it ended.
    pub end: StepEnd,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// It has not; it may have acted.
    Open,
    /// With a value: it acted.
    Acted,
    /// With a failure of its own: it says that it did not act.
    Failed,
    /// By deadline or cancellation: the effect is unknown.
    Unknown,
}

/// What a saga does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SagaNext {
    /// It goes on; also while a step has no outcome, without which nothing may be undone.
    Forward,
    /// This step is undone.
    Compensate {
        /// Which.
        seq: u32,
    },
    /// Everything that acted is undone.
    Compensated,
    /// Undoing this step failed: the saga stops, and what lies before it stays.
    CompensationFailed {
        /// Which.
        seq: u32,
    },
    /// The effect of this step is unknown: a person decides.
    Unclear {
        /// Which.
        seq: u32,
    },
}

/// The next action of a saga, from recorded facts alone: after any crash it is the same. Steps are
/// undone from the last to the first.
pub fn saga_next<'a>(
    facts: impl IntoIterator<Item = &'a FactKey>,
    steps: &[StepView],
    aborted: bool,
) -> SagaNext {
    if !aborted || steps.iter().any(|step| step.end == StepEnd::Open) {
        return SagaNext::Forward;
    }
    let facts: Vec<(u32, FactKind)> = facts.into_iter().map(|fact| (fact.seq, fact.kind)).collect();
    let is = |seq, kind| facts.contains(&(seq, kind));
    let mut seqs: Vec<u32> =
        facts.iter().map(|(seq, _)| *seq).chain(steps.iter().map(|step| step.seq)).collect();
    seqs.sort_unstable();
    seqs.dedup();
    for seq in seqs.into_iter().rev() {
        if is(seq, FactKind::Failed) {
            return SagaNext::CompensationFailed { seq };
        }
        if is(seq, FactKind::Completed) {
            continue;
        }
        if is(seq, FactKind::Registered) {
            return SagaNext::Compensate { seq };
        }
        let unknown = |step: &StepView| step.seq == seq && step.end == StepEnd::Unknown;
        if steps.iter().any(unknown) {
            return SagaNext::Unclear { seq };
        }
    }
    SagaNext::Compensated
}

impl<'a> StepTags<'a> {
    /// The step that these tags declare; none if something is missing or cannot be read.
    pub fn of(tags: &'a Tags) -> Option<Self> {
        Some(Self {
            saga: tags.get(tags::SAGA)?,
            seq: tags.get(tags::SEQ)?.parse().ok()?,
            compensate: tags.get(tags::COMPENSATE)?,
            unknown: tags.get(tags::UNKNOWN).is_some_and(|what| what == "compensate"),
        })
    }
}

impl FactKind {
    /// The stored number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The kind with this stored number.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Registered, Self::Completed, Self::Failed]
            .into_iter()
            .find(|kind| kind.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use FactKind::{Completed, Failed, Registered};

    use super::*;

    fn next(facts: &[(u32, FactKind)], steps: &[(u32, StepEnd)], aborted: bool) -> SagaNext {
        let key = |(seq, kind): &(u32, FactKind)| FactKey {
            saga: Text::from("order"),
            seq: *seq,
            kind: *kind,
        };
        let facts: Vec<FactKey> = facts.iter().map(key).collect();
        let view = |(seq, end): &(u32, StepEnd)| StepView { seq: *seq, end: *end };
        let steps: Vec<StepView> = steps.iter().map(view).collect();
        saga_next(&facts, &steps, aborted)
    }

    #[test]
    fn a_saga_is_undone_from_the_last_step_to_the_first() {
        let acted = [(0, StepEnd::Acted), (1, StepEnd::Acted), (2, StepEnd::Failed)];
        let registered = [(0, Registered), (1, Registered)];
        let with = |more: &[(u32, FactKind)]| [&registered[..], more].concat();
        for (facts, aborted, expected) in [
            (with(&[]), false, SagaNext::Forward),
            (with(&[]), true, SagaNext::Compensate { seq: 1 }),
            (with(&[(1, Completed)]), true, SagaNext::Compensate { seq: 0 }),
            (with(&[(1, Failed)]), true, SagaNext::CompensationFailed { seq: 1 }),
            (with(&[(1, Completed), (0, Completed)]), true, SagaNext::Compensated),
            (with(&[(1, Completed), (0, Failed)]), true, SagaNext::CompensationFailed { seq: 0 }),
            (vec![], true, SagaNext::Compensated),
        ] {
            assert_eq!(next(&facts, &acted, aborted), expected, "{facts:?}");
        }
    }

    #[test]
    fn nothing_is_undone_before_every_step_has_an_outcome() {
        let steps = [(0, StepEnd::Acted), (1, StepEnd::Open)];
        assert_eq!(next(&[(0, Registered)], &steps, true), SagaNext::Forward);
    }

    #[test]
    fn a_step_of_which_nobody_knows_stops_the_saga_unless_it_was_declared() {
        let steps = [(0, StepEnd::Acted), (1, StepEnd::Unknown)];
        let facts = [(0, Registered)];
        assert_eq!(next(&facts, &steps, true), SagaNext::Unclear { seq: 1 });
        let facts = [(0, Registered), (1, Registered)];
        assert_eq!(next(&facts, &steps, true), SagaNext::Compensate { seq: 1 });
        // What lies behind it is undone first.
        let steps = [(0, StepEnd::Unknown), (1, StepEnd::Acted)];
        assert_eq!(next(&[(1, Registered)], &steps, true), SagaNext::Compensate { seq: 1 });
        let facts = [(1, Registered), (1, Completed)];
        assert_eq!(next(&facts, &steps, true), SagaNext::Unclear { seq: 0 });
    }

    #[test]
    fn a_completed_compensation_is_never_repeated_whatever_the_facts_and_their_order() {
        let kinds = [Registered, Completed, Failed];
        for mask in 0..64_u32 {
            let facts: Vec<_> = (0..6)
                .filter(|bit| mask >> bit & 1 == 1)
                .map(|bit| (bit / 3, kinds[bit as usize % 3]))
                .collect();
            let reversed: Vec<_> = facts.iter().rev().copied().collect();
            let steps = [(0, StepEnd::Acted), (1, StepEnd::Acted)];
            let decided = next(&facts, &steps, true);
            assert_eq!(decided, next(&reversed, &steps, true));
            if let SagaNext::Compensate { seq } = decided {
                assert!(!facts.contains(&(seq, Completed)), "{facts:?}");
            }
        }
    }

    #[test]
    fn tags_that_lack_something_declare_no_step() {
        let all = [("saga", "order"), ("seq", "2"), ("compensate", "wasm://shop/undo")];
        let tags = |pairs: &[(&str, &str)]| -> Tags {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let full = tags(&all);
        let step = StepTags::of(&full).expect("a step");
        assert_eq!((step.saga, step.seq, step.unknown), ("order", 2, false));
        for missing in 0..3 {
            let mut fewer = all.to_vec();
            fewer.remove(missing);
            assert_eq!(StepTags::of(&tags(&fewer)), None);
        }
        assert_eq!(StepTags::of(&tags(&[("saga", "s"), ("seq", "-1"), ("compensate", "x")])), None);
    }

    #[test]
    fn stored_numbers_come_back() {
        for number in 0..=u8::MAX {
            assert_eq!(FactKind::from_number(number).is_some(), (1..=3).contains(&number));
        }
    }
}
