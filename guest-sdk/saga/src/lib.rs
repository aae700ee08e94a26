//! What a saga does next: the one rule, which the host evaluates over the rows of its store and the
//! SDK over the journal of an invocation.
//!
//! A saga is a row of steps that are undone when the whole does not come about. Nothing is inferred:
//! without the fact that a step is to be undone, it is not undone; a step whose effect is unknown
//! stops the saga for a person.

#![warn(missing_docs)]

use serde::{Deserialize, Serialize};

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
    /// With a failure of its own, or an HTTP step with an answer that [`declines`]: it says that it did not act.
    Failed,
    /// By deadline or cancellation: the effect is unknown.
    Unknown,
}

impl StepEnd {
    /// How the step ended after a person was asked: what the person said, if the effect is unknown.
    #[must_use]
    pub fn after(self, said: Self) -> Self {
        match (self, said) {
            (Self::Unknown, Self::Acted | Self::Failed) => said,
            _ => self,
        }
    }
}

/// Whether a server that answers an HTTP step with this status says that it did not act: 4xx, which stands for a failure of the
/// step. One that is to be undone in doubt is undone after such an answer as well.
pub fn declines(status: u16) -> bool {
    (400..500).contains(&status)
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

/// The next action of a saga, from recorded facts alone (each with the place of its step): after any
/// crash it is the same. Steps are undone from the last to the first.
pub fn saga_next(
    facts: impl IntoIterator<Item = (u32, FactKind)>,
    steps: &[StepView],
    aborted: bool,
) -> SagaNext {
    if !aborted || steps.iter().any(|step| step.end == StepEnd::Open) {
        return SagaNext::Forward;
    }
    let facts: Vec<(u32, FactKind)> = facts.into_iter().collect();
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
        let view = |(seq, end): &(u32, StepEnd)| StepView { seq: *seq, end: *end };
        let steps: Vec<StepView> = steps.iter().map(view).collect();
        saga_next(facts.iter().copied(), &steps, aborted)
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
    fn a_person_decides_about_an_unknown_effect_and_nothing_else() {
        use StepEnd::{Acted, Failed, Open, Unknown};
        for (end, said, expected) in [
            (Unknown, Acted, Acted),
            (Unknown, Failed, Failed),
            (Unknown, Open, Unknown),
            (Unknown, Unknown, Unknown),
            (Acted, Failed, Acted),
            (Failed, Acted, Failed),
            (Open, Acted, Open),
        ] {
            assert_eq!(end.after(said), expected, "{end:?}, {said:?}");
        }
    }

    #[test]
    fn stored_numbers_come_back() {
        for number in 0..=u8::MAX {
            assert_eq!(FactKind::from_number(number).is_some(), (1..=3).contains(&number));
        }
    }
}
