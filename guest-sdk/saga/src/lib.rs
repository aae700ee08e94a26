//! The rule for the next action of a saga. The host evaluates it over the rows of its store, and
//! the SDK over the journal of an invocation.
//!
//! A saga is a sequence of steps that are undone if the whole does not succeed. Nothing is
//! inferred: a step is undone only if a fact says that it must be, and a step with an unknown
//! effect stops the saga until a person decides.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

use serde::{Deserialize, Serialize};

/// The kind of a fact. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum FactKind {
    /// The step acted, or may have: it must be undone if the saga is aborted.
    Registered = 1,
    /// The step was undone.
    Completed = 2,
    /// Undoing the step failed, finally.
    Failed = 3,
}

/// A step, with the outcome of its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepOutcome {
    /// Number of the step in the saga.
    pub seq: u32,
    /// The outcome of the step.
    pub end: StepEnd,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// Not settled: the step may have acted.
    Open,
    /// Settled with a value: the step acted.
    Acted,
    /// Settled with its own failure, or, for an HTTP step, with a status that [`declines`]: the
    /// step reports that it did not act.
    Failed,
    /// Settled by deadline or cancellation: the effect is unknown.
    Unknown,
}

impl StepEnd {
    /// The outcome after a person was asked: the person's answer replaces an unknown effect.
    #[must_use]
    pub fn after(self, said: Self) -> Self {
        match (self, said) {
            (Self::Unknown, Self::Acted | Self::Failed) => said,
            _ => self,
        }
    }
}

/// Returns true if an HTTP step with this response status did not act: 4xx, which counts as a
/// failure of the step. A step that is registered for undoing in doubt is undone even then.
pub fn declines(status: u16) -> bool {
    (400..500).contains(&status)
}

/// The next action of a saga.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SagaNext {
    /// Continue; also while a step has no outcome, since nothing may be undone until then.
    Forward,
    /// Undo this step.
    Compensate {
        /// Number of the step.
        seq: u32,
    },
    /// All steps that acted are undone.
    Compensated,
    /// Undoing this step failed: the saga stops, and earlier steps are not undone.
    CompensationFailed {
        /// Number of the step.
        seq: u32,
    },
    /// The effect of this step is unknown: a person decides.
    Unclear {
        /// Number of the step.
        seq: u32,
    },
}

/// Returns the next action of a saga, from recorded facts alone (each with the number of its step):
/// it is the same after any crash. Steps are undone from the last to the first.
pub fn saga_next(
    facts: impl IntoIterator<Item = (u32, FactKind)>,
    steps: &[StepOutcome],
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
        let unknown = |step: &StepOutcome| step.seq == seq && step.end == StepEnd::Unknown;
        if steps.iter().any(unknown) {
            return SagaNext::Unclear { seq };
        }
    }
    SagaNext::Compensated
}

impl FactKind {
    /// The number under which the kind is stored.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The kind with this stored number. `None` if there is none.
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
        let view = |(seq, end): &(u32, StepEnd)| StepOutcome { seq: *seq, end: *end };
        let steps: Vec<StepOutcome> = steps.iter().map(view).collect();
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
        // The step after it is undone first.
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
